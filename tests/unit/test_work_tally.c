/* SPDX-License-Identifier: MIT */
/*
 * Sums by key, compared with a model, and the comparison of both sides. The tests set small limits
 * and let memory run out.
 */
#include "unit.h"
#include "failing_memory.h"
#include "cupti_trace/wire/work_tally.h"

enum { FEW = 100 };

static struct work_key key_of(uint32_t device, uint32_t context, uint32_t stream, uint32_t work)
{
	return (struct work_key){device, context, stream, work};
}

static void add(struct work_tally *t, struct work_key key, uint64_t ns)
{
	struct work_sum *sum = work_tally_get(t, &key);

	assert_non_null(sum);
	sum->count++;
	sum->ns += ns;
}

static uint64_t ns_of(const struct work_tally *t, struct work_key key)
{
	const struct work_sum *sum = work_tally_find(t, &key);

	return sum ? sum->ns : UINT64_MAX;
}

static void nothing_is_in_an_empty_one(void **state)
{
	struct work_tally t = {0};
	struct work_key key = key_of(0, 0, 0, 0);
	uint32_t at = 0;

	(void)state;
	assert_null(work_tally_find(&t, &key));
	assert_null(work_tally_next(&t, &at));
	work_tally_release(&t);
	work_tally_release(&t);
}

static void each_part_of_a_key_counts(void **state)
{
	struct work_tally t = {0};

	(void)state;
	add(&t, key_of(0, 0, 0, 0), 1);
	add(&t, key_of(1, 0, 0, 0), 2);
	add(&t, key_of(0, 1, 0, 0), 3);
	add(&t, key_of(0, 0, 1, 0), 4);
	add(&t, key_of(0, 0, 0, 1), 5);
	add(&t, key_of(0, 0, 1, 0), 100);
	assert_int_equal(t.count, 5);
	assert_int_equal(ns_of(&t, key_of(0, 0, 0, 0)), 1);
	assert_int_equal(ns_of(&t, key_of(1, 0, 0, 0)), 2);
	assert_int_equal(ns_of(&t, key_of(0, 1, 0, 0)), 3);
	assert_int_equal(ns_of(&t, key_of(0, 0, 1, 0)), 104);
	assert_int_equal(ns_of(&t, key_of(0, 0, 0, 1)), 5);
	assert_int_equal(ns_of(&t, key_of(1, 1, 0, 0)), UINT64_MAX);
	assert_false(t.overflowed);
	work_tally_release(&t);
	assert_int_equal(ns_of(&t, key_of(0, 0, 0, 0)), UINT64_MAX);
}

static void add_whole(struct work_tally *t, const struct work_sum *sum)
{
	struct work_sum *total = work_tally_get(t, &sum->key);

	assert_non_null(total);
	work_sum_add(total, sum);
}

/* Every number of a sum is added. */
static void sums_are_added_as_a_whole(void **state)
{
	const struct work_sum sum = {key_of(1, 2, 3, 4), 1, 2, 3};
	struct work_tally t = {0};
	const struct work_sum *total;

	(void)state;
	add_whole(&t, &sum);
	assert_memory_equal(work_tally_find(&t, &sum.key), &sum, sizeof(sum));
	add_whole(&t, &sum);
	add_whole(&t, &sum);
	total = work_tally_find(&t, &sum.key);
	for (size_t i = sizeof(sum.key) / sizeof(uint64_t); i < sizeof(sum) / sizeof(uint64_t); i++)
		assert_int_equal(((const uint64_t *)total)[i], 3 * ((const uint64_t *)&sum)[i]);
	failing_allocation = 1;
	add_whole(&t, &sum); /* already there */
	failing_allocation = 0;
	work_tally_release(&t);
}

static struct work_key rest_of(uint32_t work)
{
	return key_of(WORK_TALLY_REST, WORK_TALLY_REST, WORK_TALLY_REST, work);
}

static void excess_sums_go_to_the_remainder(void **state)
{
	struct work_tally t = {.max = FEW};

	(void)state;
	for (uint32_t stream = 0; stream < FEW; stream++)
		add(&t, key_of(0, 1, stream, GPU_WORK_KERNEL), stream);
	assert_false(t.overflowed);
	for (uint32_t stream = 0; stream < 1000; stream++)
		add(&t, key_of(0, 2, stream, GPU_WORK_KERNEL), 1);
	for (uint32_t stream = 0; stream < 500; stream++)
		add(&t, key_of(0, 2, stream, GPU_WORK_MEMSET), 2);
	assert_true(t.overflowed);
	assert_int_equal(ns_of(&t, rest_of(GPU_WORK_KERNEL)), 1000);
	assert_int_equal(ns_of(&t, rest_of(GPU_WORK_MEMSET)), 1000);
	assert_int_equal(t.count, FEW + 2);
	/* existing ones continue */
	add(&t, key_of(0, 1, 5, GPU_WORK_KERNEL), 10);
	assert_int_equal(ns_of(&t, key_of(0, 1, 5, GPU_WORK_KERNEL)), 15);
	work_tally_release(&t);
}

/* The pipe's lines may name any ids. */
static void ids_like_the_rests_do_not_lift_the_bound(void **state)
{
	struct work_tally t = {.max = FEW};

	(void)state;
	for (uint32_t i = 0; i < 10 * FEW; i++)
		add(&t, key_of(WORK_TALLY_REST, i, i, GPU_WORK_KERNEL), 1);
	assert_true(t.count <= FEW + GPU_WORKS);
	assert_true(t.overflowed);
	work_tally_release(&t);
}

/* ---- beside a model ---- */

enum { MOST = 400 };

struct model {
	struct work_sum sums[MOST];
	uint32_t count;
};

static struct work_sum *find_in_model(struct model *m, const struct work_key *key)
{
	for (uint32_t i = 0; i < m->count; i++)
		if (memcmp(&m->sums[i].key, key, sizeof(*key)) == 0)
			return &m->sums[i];
	return NULL;
}

static struct work_sum *get_in_model(struct model *m, struct work_key key)
{
	struct work_sum *sum = find_in_model(m, &key);

	if (!sum && m->count >= FEW) {
		key = rest_of(key.work);
		sum = find_in_model(m, &key);
	}
	if (!sum) {
		assert_true(m->count < MOST);
		sum = &m->sums[m->count++];
		*sum = (struct work_sum){.key = key};
	}
	return sum;
}

static struct work_key random_key(struct prng *p)
{
	return key_of((uint32_t)prng_below(p, 3),
		      prng_chance(p, 2) ? UINT32_MAX : (uint32_t)prng_below(p, 2),
		      (uint32_t)prng_bits(p, 4), (uint32_t)prng_below(p, GPU_WORKS));
}

static void compare(struct prng *p, const struct work_tally *t, struct model *m)
{
	const struct work_sum *sum;
	uint32_t at = 0, n = 0;

	while ((sum = work_tally_next(t, &at))) {
		struct work_sum *want = find_in_model(m, &sum->key);

		EXPECT(p, want && want->count == sum->count && want->ns == sum->ns &&
				  want->bytes == sum->bytes);
		EXPECT(p, work_tally_find(t, &sum->key) == sum);
		n++;
	}
	EXPECT(p, n == m->count && t->count == n);
}

static void random_sums(void **state)
{
	uint64_t rounds = unit_number("UNIT_ROUNDS", getenv("UNDER_VALGRIND") ? 3 : 100);

	(void)state;
	for (uint64_t round = 0; round < rounds; round++) {
		struct prng prng = prng_round(round);
		uint64_t events = prng_bits(&prng, 12);
		struct work_tally t = {.max = FEW};
		struct model m = {.count = 0};

		for (uint64_t i = 0; i < events; i++) {
			struct work_key key = random_key(&prng);
			uint64_t ns = prng_bits(&prng, 64), bytes = prng_bits(&prng, 64);
			struct work_sum *sum = work_tally_get(&t, &key);
			struct work_sum *want = get_in_model(&m, key);

			assert_non_null(sum);
			sum->count++, want->count++;
			sum->ns += ns, want->ns += ns; /* wraps in both */
			sum->bytes += bytes, want->bytes += bytes;
		}
		compare(&prng, &t, &m);
		work_tally_release(&t);
	}
}

/* ---- both sides compared ---- */

/* One process: its own tally, its report of that, and the profile's sums. */
struct sides {
	struct work_tally own, reported, counted;
};

/* Adds an operation to both sides: CUPTI's report and the profile. */
static void tally(struct work_tally *t, struct work_key key, uint32_t times)
{
	for (uint32_t i = 0; i < times; i++) {
		struct work_sum *sum = work_tally_get(t, &key);

		if (!sum)
			continue;
		sum->count++;
		sum->ns += 1000 + key.stream;
		sum->bytes += 3 * key.stream;
	}
}

/* Reports sums as activity_send_sums does, through the pipe and into the profiler's tally. */
static void report(struct sides *s)
{
	const struct work_sum *sum;
	uint32_t at = 0;

	while ((sum = work_tally_next(&s->own, &at))) {
		struct work_sum *reported = work_tally_get(&s->reported, &sum->key);

		if (!reported)
			continue;
		reported->count += sum->count;
		reported->ns += sum->ns;
		reported->bytes += sum->bytes;
	}
	for (uint32_t work = 0; s->own.overflowed && work < GPU_WORKS; work++) {
		struct work_key key = rest_of(work);

		work_tally_get(&s->reported, &key);
	}
}

static void release_sides(struct sides *s)
{
	work_tally_release(&s->own);
	work_tally_release(&s->reported);
	work_tally_release(&s->counted);
}

static struct work_comparison compare_sides(const struct sides *s)
{
	return work_tally_compare(&s->counted, &s->reported);
}

#define assert_comparison(c, equal_, different_, not_compared_)    \
	do {                                                       \
		assert_int_equal((c).equal, equal_);               \
		assert_int_equal((c).different, different_);       \
		assert_int_equal((c).not_compared, not_compared_); \
	} while (0)

static void nothing_is_the_same_as_nothing(void **state)
{
	struct sides s = {0};
	struct work_comparison c = compare_sides(&s);

	(void)state;
	assert_comparison(c, 0, 0, 0);
}

static void a_difference_in_any_number_is_seen(void **state)
{
	(void)state;
	for (int i = 0; i < 4; i++) {
		struct work_key first = key_of(0, 1, 7, GPU_WORK_KERNEL);
		struct work_key other = key_of(2, 1, 9, GPU_WORK_MEMSET);
		struct sides s = {0};
		struct work_sum *sum;
		struct work_comparison c;

		tally(&s.own, first, 5);
		tally(&s.counted, first, 5);
		tally(&s.own, other, 3);
		tally(&s.counted, other, 3);
		sum = work_tally_get(&s.own, &other);
		sum->count += i == 1;
		sum->ns += i == 2;
		sum->bytes += i == 3;
		report(&s);
		c = compare_sides(&s);
		assert_comparison(c, i ? 1 : 2, i ? 1 : 0, 0);
		if (i) {
			assert_memory_equal(&c.reported.key, &other, sizeof(other));
			assert_memory_equal(&c.counted.key, &other, sizeof(other));
			assert_int_equal(c.reported.count, sum->count);
			assert_int_equal(c.reported.ns, sum->ns);
			assert_int_equal(c.reported.bytes, sum->bytes);
			assert_int_equal(c.counted.count, 3);
			assert_int_equal(c.counted.ns, 3 * 1009);
			assert_int_equal(c.counted.bytes, 3 * 27);
		}
		release_sides(&s);
	}
}

static void many_streams_are_all_equal(void **state)
{
	enum { STREAMS = 70000 };
	struct sides s = {0};
	struct work_comparison c;

	(void)state;
	for (uint32_t i = 0; i < STREAMS; i++) {
		tally(&s.own, key_of(0, 1, i, i % GPU_WORKS), 2);
		tally(&s.counted, key_of(0, 1, STREAMS - 1 - i, (STREAMS - 1 - i) % GPU_WORKS), 2);
	}
	report(&s);
	c = compare_sides(&s);
	assert_comparison(c, STREAMS, 0, 0);
	/* nothing is hidden by that */
	tally(&s.counted, key_of(0, 1, 69999, 69999 % GPU_WORKS), 1);
	c = compare_sides(&s);
	assert_comparison(c, STREAMS - 1, 1, 0);
	assert_int_equal(c.reported.key.stream, 69999);
	assert_int_equal(c.reported.count, 2);
	assert_int_equal(c.counted.count, 3);
	release_sides(&s);
}

static void the_bound_is_a_million(void **state)
{
	(void)state;
	assert_int_equal(WORK_TALLY_MAX + GPU_WORKS, 1u << 20);
}

/* The process has 50 streams more than it keeps apart. */
static void sums_combined_by_a_process_are_not_compared(void **state)
{
	struct sides s = {.own.max = FEW}, other = {0};
	struct work_comparison c;

	(void)state;
	for (uint32_t i = 0; i < 150; i++) {
		struct work_key key = key_of(0, 1, i, GPU_WORK_KERNEL);

		tally(&s.own, key, 2);
		tally(&s.counted, key_of(0, 1, 149 - i, GPU_WORK_KERNEL), 2);
		tally(&other.own, key, 1);
		tally(&other.counted, key, 1);
	}
	report(&s);
	report(&other);
	c = compare_sides(&s);
	assert_comparison(c, 100, 0, 50 + 1);
	/* combined sums of one process say nothing about the other's */
	tally(&other.counted, key_of(0, 1, 1000, GPU_WORK_KERNEL), 1);
	c = compare_sides(&other);
	assert_comparison(c, 150, 1, 0);
	assert_int_equal(c.counted.key.stream, 1000);
	assert_int_equal(c.reported.count, 0);
	/* nor do they hide a difference in its own sum */
	tally(&s.counted, key_of(0, 1, 5, GPU_WORK_KERNEL), 1);
	c = compare_sides(&s);
	assert_comparison(c, 99, 1, 50 + 1);
	assert_int_equal(c.counted.key.stream, 5);
	release_sides(&s);
	release_sides(&other);
}

static void sums_combined_by_the_profiler_are_not_compared(void **state)
{
	struct sides s = {.counted.max = FEW};
	struct work_comparison c;

	(void)state;
	for (uint32_t i = 0; i < 150; i++) {
		tally(&s.own, key_of(0, 1, i, GPU_WORK_KERNEL), 1);
		tally(&s.counted, key_of(0, 1, 149 - i, GPU_WORK_KERNEL), 1);
	}
	report(&s);
	c = compare_sides(&s);
	assert_comparison(c, 100, 0, 50 + 1);
	/* nor if it cannot keep reported sums apart */
	work_tally_release(&s.reported);
	s.reported.max = 120;
	report(&s);
	s.counted.max = 200;
	tally(&s.counted, key_of(1, 1, 7, GPU_WORK_KERNEL), 1);
	c = compare_sides(&s);
	assert_int_equal(c.different, 0);
	release_sides(&s);
}

/* Keys that both have a sum of their own for: all that can be compared. */
static uint64_t common_keys(const struct work_tally *a, const struct work_tally *b)
{
	const struct work_sum *sum;
	uint64_t keys = 0;
	uint32_t at = 0;

	while ((sum = work_tally_next(a, &at)))
		keys += sum->key.stream != WORK_TALLY_REST && work_tally_find(b, &sum->key);
	return keys;
}

/* Operations in any order, any side with any bound or out of memory: never a difference. */
static void random_overflows(struct prng *p)
{
	uint32_t bounds[3], n = 1 + (uint32_t)prng_bits(p, 8);
	struct sides s;
	struct work_comparison c;

	for (int i = 0; i < 3; i++)
		bounds[i] = prng_chance(p, 50) ? 1 + (uint32_t)prng_bits(p, 7) : WORK_TALLY_MAX;
	s = (struct sides){
		.own.max = bounds[0], .counted.max = bounds[1], .reported.max = bounds[2]};
	failing_allocation = prng_chance(p, 50) ? 1 + (uint32_t)prng_bits(p, 9) : 0;
	for (uint32_t i = 0; i < n; i++) {
		struct work_key key =
			key_of(0, 1, (uint32_t)prng_bits(p, 8), (uint32_t)prng_below(p, 3));

		tally(&s.own, key, 1);
		tally(&s.counted, key, 1);
	}
	report(&s);
	c = compare_sides(&s);
	EXPECT(p, c.different == 0);
	EXPECT(p, c.equal == common_keys(&s.reported, &s.counted));
	EXPECT(p, s.own.overflowed || s.reported.overflowed || s.counted.overflowed ||
			  (c.equal == s.counted.count && c.not_compared == 0));
	failing_allocation = 0;
	release_sides(&s);
}

static void no_overflow_looks_like_a_difference(void **state)
{
	uint64_t rounds = unit_number("UNIT_ROUNDS", getenv("UNDER_VALGRIND") ? 20 : 2000);

	(void)state;
	for (uint64_t round = 0; round < rounds; round++) {
		struct prng prng = prng_round(round);

		random_overflows(&prng);
	}
}

static int free_memory(void **state)
{
	(void)state;
	failing_allocation = 0;
	return 0;
}

#define TEST(name) cmocka_unit_test_setup(name, free_memory)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(nothing_is_in_an_empty_one),
		TEST(each_part_of_a_key_counts),
		TEST(sums_are_added_as_a_whole),
		TEST(excess_sums_go_to_the_remainder),
		TEST(ids_like_the_rests_do_not_lift_the_bound),
		TEST(random_sums),
		TEST(nothing_is_the_same_as_nothing),
		TEST(a_difference_in_any_number_is_seen),
		TEST(many_streams_are_all_equal),
		TEST(the_bound_is_a_million),
		TEST(sums_combined_by_a_process_are_not_compared),
		TEST(sums_combined_by_the_profiler_are_not_compared),
		TEST(no_overflow_looks_like_a_difference),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
