/* SPDX-License-Identifier: MIT */
/*
 * Spreads work without a stack over the stacks of other work. Every operation, nanosecond and byte
 * moves once, in the right proportions. This holds for any samples and any limits. The estimated
 * error is the real error.
 */
#include <math.h>
#include "unit.h"
#include "failing_memory.h"
#include "profiler/join/spread.h"

enum { STACKS = 64, PLACES = 8, BASES = 4 };

static void add_work(struct spread_work *sum, const struct spread_work *work)
{
	sum->count += work->count;
	sum->ns += work->ns;
	sum->bytes += work->bytes;
}

/* Who got what. */
struct bench {
	struct spread spread;
	struct spread_work got[STACKS], of_place[PLACES], of_base[BASES];
	uint32_t moves;
};

static void take(void *context, struct stack_id base, struct place_id place, struct stack_id stack,
		 const struct spread_work *work)
{
	struct bench *b = context;

	assert_in_range(stack.number, 0, STACKS - 1);
	assert_in_range(place.number, 0, PLACES - 1);
	assert_in_range(base.number, 0, BASES - 1);
	/* no time without an operation */
	assert_true(work->count > 0);
	add_work(&b->got[stack.number], work);
	add_work(&b->of_place[place.number], work);
	add_work(&b->of_base[base.number], work);
	b->moves++;
}

static int set_up(void **state)
{
	struct bench *b = calloc(1, sizeof(*b));

	*state = b;
	failing_allocation = 0;
	if (!b)
		return -1;
	spread_init(&b->spread, &(struct spread_output){take, b});
	return 0;
}

static int tear_down(void **state)
{
	struct bench *b = *state;

	spread_release(&b->spread);
	free(b);
	return 0;
}

static void sample(struct bench *b, struct spread_key key, uint32_t stack, uint32_t stands_for,
		   uint64_t ns)
{
	spread_add_sample(&b->spread, &key, STACK_ID(stack), stands_for, ns, ns * 2);
}

static void park(struct bench *b, struct spread_key key, uint32_t place, uint32_t count,
		 uint64_t ns)
{
	for (uint32_t i = 0; i < count; i++)
		spread_park(&b->spread, &key, PLACE_ID(place), ns, ns * 2);
}

#define KEY(process, base, thread)       \
	(struct spread_key)              \
	{                                \
		process, {base}, thread, \
	}

#define expect_work(work, count_, ns_)                     \
	do {                                               \
		assert_int_equal((work).count, count_);    \
		assert_int_equal((work).ns, ns_);          \
		assert_int_equal((work).bytes, 2 * (ns_)); \
	} while (0)

static void by_what_the_samples_stand_for(void **state)
{
	struct bench *b = *state;

	sample(b, KEY(1, 1, 1), 10, 31, 100);
	sample(b, KEY(1, 1, 1), 11, 11, 100);
	sample(b, KEY(1, 1, 1), 12, 1, 100); /* a sample that stands for itself alone */
	park(b, KEY(1, 1, 1), 3, 40, 100);
	spread_finish(&b->spread);
	expect_work(b->got[10], 30, 3000);
	expect_work(b->got[11], 10, 1000);
	expect_work(b->got[12], 0, 0);
	expect_work(b->of_place[3], 40, 4000);
	expect_work(b->spread.stats.parked, 40, 4000);
	expect_work(b->spread.stats.left, 0, 0);
	expect_work(b->spread.stats.borrowed, 0, 0);
}

/* Operations by their number, time by what theirs take. */
static void long_ones_have_more_time(void **state)
{
	struct bench *b = *state;

	sample(b, KEY(1, 1, 1), 10, 11, 900);
	sample(b, KEY(1, 1, 1), 11, 11, 100);
	park(b, KEY(1, 1, 1), 0, 10, 900);
	park(b, KEY(1, 1, 1), 0, 10, 100);
	spread_finish(&b->spread);
	expect_work(b->got[10], 10, 9000);
	expect_work(b->got[11], 10, 1000);
}

/* Another kernel, process or thread decides nothing. */
static void kinds_and_threads_are_apart(void **state)
{
	struct bench *b = *state;

	sample(b, KEY(1, 1, 1), 10, 5, 10);
	sample(b, KEY(1, 1, 2), 11, 5, 10);
	sample(b, KEY(1, 2, 1), 12, 5, 10);
	sample(b, KEY(2, 1, 1), 13, 5, 10);
	park(b, KEY(1, 1, 1), 0, 4, 10);
	park(b, KEY(1, 1, 2), 0, 5, 10);
	park(b, KEY(1, 2, 1), 0, 6, 10);
	park(b, KEY(2, 1, 1), 1, 7, 10);
	spread_finish(&b->spread);
	expect_work(b->got[10], 4, 40);
	expect_work(b->got[11], 5, 50);
	expect_work(b->got[12], 6, 60);
	expect_work(b->got[13], 7, 70);
}

static void without_samples_others_decide(void **state)
{
	struct bench *b = *state;

	/* thread 3 has a sample of its first launch alone: its other launches go by chance */
	sample(b, KEY(1, 1, 1), 10, 4, 10);
	sample(b, KEY(1, 1, 2), 10, 4, 10);
	sample(b, KEY(1, 1, 2), 11, 3, 10);
	sample(b, KEY(1, 1, 3), 12, 1, 10);
	park(b, KEY(1, 1, 3), 0, 8, 10);
	/* nobody's is by chance: the thread's own first one is more than nothing */
	sample(b, KEY(1, 2, 1), 13, 1, 10);
	sample(b, KEY(1, 2, 2), 14, 1, 10);
	park(b, KEY(1, 2, 1), 1, 3, 10);
	/* a thread without samples uses those of others */
	park(b, KEY(1, 2, 3), 2, 2, 10);
	/* nothing at all */
	park(b, KEY(1, 3, 1), 3, 5, 10);
	park(b, KEY(2, 1, 1), 3, 6, 10);
	spread_finish(&b->spread);
	expect_work(b->got[10], 6, 60);
	expect_work(b->got[11], 2, 20);
	expect_work(b->got[12], 0, 0);
	expect_work(b->got[13], 4, 40);
	expect_work(b->got[14], 1, 10);
	expect_work(b->of_place[3], 0, 0);
	expect_work(b->spread.stats.borrowed, 13, 130);
	expect_work(b->spread.stats.left, 11, 110);
	expect_work(b->spread.stats.parked, 24, 240);
}

/* Each of many threads has one operation to give away: a rare stack gets its part of them. */
static void rare_stacks_get_their_part(void **state)
{
	struct bench *b = *state;

	for (uint32_t i = 0; i < 5; i++)
		sample(b, KEY(1, 1, 1), 10 + i, i == 0 ? 81 : 6, 10); /* 80 % and 5 % each */
	for (uint32_t thread = 2; thread < 1002; thread++)
		park(b, KEY(1, 1, thread), 0, 1, 10);
	spread_finish(&b->spread);
	assert_in_range(b->got[10].count, 790, 810);
	for (uint32_t i = 1; i < 5; i++)
		assert_in_range(b->got[10 + i].count, 44, 56);
}

static void work_that_takes_no_time(void **state)
{
	struct bench *b = *state;
	const struct spread_key key = KEY(1, 1, 1);

	sample(b, key, 10, 3, 0);
	sample(b, key, 11, 2, 0);
	spread_park(&b->spread, &key, PLACE_ID(0), 7, 1);
	park(b, key, 0, 2, 0);
	spread_finish(&b->spread);
	assert_int_equal(b->got[10].count + b->got[11].count, 3);
	assert_int_equal(b->got[10].count, 2);
	assert_int_equal(b->got[10].ns + b->got[11].ns, 7);
	assert_int_equal(b->got[10].bytes + b->got[11].bytes, 1);
}

/* ---- exact, whatever happens ---- */

/* Parked work: in total, by place and by base. */
struct truth {
	struct spread_work all, of_place[PLACES], of_base[BASES];
};

static struct spread_key random_key(struct prng *p)
{
	return KEY((uint32_t)prng_below(p, 3), (uint32_t)prng_below(p, BASES),
		   prng_chance(p, 5) ? UINT32_MAX : (uint32_t)prng_below(p, 6));
}

static void play(struct bench *b, struct prng *p, struct truth *truth, uint32_t events)
{
	uint32_t bits = (uint32_t)prng_below(p, 48);

	for (uint32_t i = 0; i < events; i++) {
		struct spread_key key = random_key(p);
		struct spread_work work = {1, prng_bits(p, bits), prng_bits(p, bits)};
		uint32_t place = (uint32_t)prng_below(p, PLACES);

		EXPECT(p, b->spread.samples.count <= b->spread.max &&
				  b->spread.parked.count <= b->spread.max);
		if (prng_chance(p, 30)) {
			spread_add_sample(&b->spread, &key,
					  STACK_ID((uint32_t)prng_below(p, STACKS)),
					  (uint32_t)prng_bits(p, prng_chance(p, 50) ? 32 : 3),
					  prng_bits(p, 61), prng_bits(p, 64));
			continue;
		}
		spread_park(&b->spread, &key, PLACE_ID(place), work.ns, work.bytes);
		add_work(&truth->all, &work);
		add_work(&truth->of_place[place], &work);
		add_work(&truth->of_base[key.base.number], &work);
	}
	spread_finish(&b->spread);
}

static bool is_equal(const struct spread_work *a, const struct spread_work *b)
{
	return a->count == b->count && a->ns == b->ns && a->bytes == b->bytes;
}

static void expect_exact(const struct bench *b, const struct prng *p, const struct truth *truth)
{
	struct spread_work moved = b->spread.stats.left;

	for (uint32_t i = 0; i < STACKS; i++)
		add_work(&moved, &b->got[i]);
	EXPECT(p, is_equal(&moved, &truth->all));
	EXPECT(p, is_equal(&b->spread.stats.parked, &truth->all));
	for (uint32_t i = 0; i < PLACES; i++)
		EXPECT(p, b->of_place[i].count <= truth->of_place[i].count &&
				  b->of_place[i].ns <= truth->of_place[i].ns &&
				  b->of_place[i].bytes <= truth->of_place[i].bytes);
	for (uint32_t i = 0; i < BASES; i++)
		EXPECT(p, b->of_base[i].count <= truth->of_base[i].count &&
				  b->of_base[i].ns <= truth->of_base[i].ns);
	EXPECT(p, b->spread.stats.variance >= 0);
}

/* Samples claim what they like; memory runs out, and tables are full. */
static void sums_are_exact(void **state)
{
	(void)state;
	for (uint64_t round = 0; round < unit_rounds(600); round++) {
		struct prng p = prng_round(round);
		struct truth truth = {0};
		struct bench *b;
		void *own;

		assert_int_equal(set_up(&own), 0);
		b = own;
		if (prng_chance(&p, 30))
			b->spread.max = 1 + (uint32_t)prng_below(&p, 40);
		if (prng_chance(&p, 30))
			failing_allocation = 1 + (uint32_t)prng_below(&p, 100);
		play(b, &p, &truth, (uint32_t)prng_below(&p, 2000));
		expect_exact(b, &p, &truth);
		tear_down(&own);
	}
}

/* Neither by threads that come and go, nor by a budget that is used up. */
static void memory_is_bounded(void **state)
{
	struct bench *b = *state;
	struct quota memory = {.limit = 1 << 20};

	b->spread.memory = &memory;
	for (uint32_t thread = 0; thread < 300000; thread++) {
		sample(b, KEY(1, 1, thread), 10 + thread % 2, 2, 10);
		park(b, KEY(1, 1, thread), 0, 1, 10);
	}
	assert_true(memory.used <= memory.limit);
	assert_true(b->spread.samples.capacity < 100000 && b->spread.parked.capacity < 100000);
	spread_finish(&b->spread);
	assert_int_equal(b->of_place[0].count, 300000);
	assert_int_equal(b->spread.stats.left.count, 0);
	assert_in_range(b->got[10].count, 149000, 151000);
}

/* ---- the error ---- */

/*
 * Launches of a kernel from four places, with times of their own, are sampled with a chance that
 * changes; many times. The spread's error is as large as it says, and on average 0.
 */
static void the_error_is_what_it_says(void **state)
{
	enum { RUNS = 400, LAUNCHES = 6000 };
	static const uint64_t ns[] = {100, 400, 1000, 50};
	double squares = 0, estimated = 0, sum = 0;

	(void)state;
	for (uint64_t run = 0; run < RUNS; run++) {
		struct prng p = prng_round(run);
		double truth[4] = {0}, error;
		struct bench *b;
		void *own;

		assert_int_equal(set_up(&own), 0);
		b = own;
		for (uint32_t i = 0; i < LAUNCHES; i++) {
			uint32_t place = i % 10 < 5 ? 0 : i % 10 < 8 ? 1 : i % 10 < 9 ? 2 : 3;
			uint32_t n = i < LAUNCHES / 2 ? 10 : 40;
			uint64_t took = ns[place] + prng_below(&p, ns[place]);

			if (prng_below(&p, n) == 0) {
				sample(b, KEY(1, 1, 1), place, n, took);
			} else {
				park(b, KEY(1, 1, 1), 0, 1, took);
				truth[place] += (double)took;
			}
		}
		spread_finish(&b->spread);
		/* the place with the longest ones has the greatest */
		error = (double)b->got[2].ns - truth[2];
		sum += error;
		squares += error * error;
		estimated += b->spread.stats.variance;
		tear_down(&own);
	}
	/* the mean square of 400 is known within 7 %, at one sigma */
	assert_true(squares > 0.7 * estimated && squares < 1.4 * estimated);
	assert_true(fabs(sum) < 4 * sqrt(squares));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(by_what_the_samples_stand_for, set_up, tear_down),
		cmocka_unit_test_setup_teardown(long_ones_have_more_time, set_up, tear_down),
		cmocka_unit_test_setup_teardown(kinds_and_threads_are_apart, set_up, tear_down),
		cmocka_unit_test_setup_teardown(without_samples_others_decide, set_up, tear_down),
		cmocka_unit_test_setup_teardown(rare_stacks_get_their_part, set_up, tear_down),
		cmocka_unit_test_setup_teardown(work_that_takes_no_time, set_up, tear_down),
		cmocka_unit_test_setup_teardown(memory_is_bounded, set_up, tear_down),
		cmocka_unit_test(sums_are_exact),
		cmocka_unit_test(the_error_is_what_it_says),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
