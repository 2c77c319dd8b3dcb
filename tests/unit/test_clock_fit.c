/* SPDX-License-Identifier: MIT */
/* Clocks of two machines are aligned by their collectives, within the error that is stated. */
#include "unit.h"
#include "profiler/model/clock_fit.h"

#define MS INT64_C(1000000)
#define US INT64_C(1000)
#define MANY 20000u

/* A job of two machines with true times, and what each of them writes down. */
struct job {
	struct clock_visit fixed[MANY], moved[MANY];
	uint32_t fixed_count, moved_count;
	int64_t offset_ns; /* offset of the second machine's clock, subtracted */
	double drift;
	int64_t period_ns, jitter_ns, late_ns, transfer_ns, skew_ns; /* between leaving */
	bool is_one_late; /* only the first machine is late */
	uint32_t lost_one_in;
};

static const struct job usual = {.offset_ns = 3 * MS,
				 .period_ns = 20 * MS,
				 .jitter_ns = 2 * MS,
				 .late_ns = 3 * MS,
				 .transfer_ns = 80 * US,
				 .skew_ns = 10 * US};

static int64_t written(const struct job *j, int64_t ns)
{
	return ns - j->offset_ns - (int64_t)(j->drift * (double)ns);
}

static void play(struct prng *p, struct job *j, uint32_t count)
{
	int64_t now = 1000 * MS;

	for (uint32_t i = 0; i < count; i++) {
		int64_t fixed_late = (int64_t)prng_below(p, (uint64_t)j->late_ns + 1),
			moved_late = (int64_t)prng_below(p, (uint64_t)j->late_ns + 1), left;

		now += j->period_ns + (int64_t)prng_below(p, (uint64_t)j->jitter_ns + 1);
		if (j->is_one_late) {
			fixed_late += 2 * j->late_ns;
			moved_late = 0;
		}
		left = now + (fixed_late > moved_late ? fixed_late : moved_late) + j->transfer_ns;
		if (!j->lost_one_in || prng_below(p, j->lost_one_in))
			j->fixed[j->fixed_count++] = (struct clock_visit){now + fixed_late, left};
		if (!j->lost_one_in || prng_below(p, j->lost_one_in))
			j->moved[j->moved_count++] = (struct clock_visit){
				written(j, now + moved_late),
				written(j,
					left + (int64_t)prng_below(p, (uint64_t)j->skew_ns + 1))};
	}
}

static bool fit(const struct job *j, int64_t guess_error_ns, struct clock_fit *found)
{
	const struct clock_pair pair = {.fixed = j->fixed,
					.fixed_count = j->fixed_count,
					.moved = j->moved,
					.moved_count = j->moved_count,
					.guess_error_ns = guess_error_ns};
	uint64_t steps = UINT64_C(1) << 28;

	return clock_fit(&pair, &steps, found);
}

/* Returns the error of the fit at a true time, in ns. */
static int64_t error_at(const struct job *j, const struct clock_fit *found, int64_t ns)
{
	return llabs(clock_fit_time(found, written(j, ns)) - ns);
}

static void check(struct prng *p, const struct job *j, const struct clock_fit *found)
{
	const struct clock_visit *last = &j->fixed[j->fixed_count - 1];

	for (int64_t i = 0; i <= 4; i++) {
		int64_t at = j->fixed[0].left_ns + i * (last->left_ns - j->fixed[0].left_ns) / 4;

		EXPECT(p, error_at(j, found, at) <= (int64_t)found->error_ns);
		EXPECT(p, found->error_ns <= found->bound_ns);
	}
}

static void an_offset_is_found_within_its_error(void **state)
{
	(void)state;
	for (uint64_t round = 0; round < unit_rounds(100); round++) {
		struct prng p = prng_round(round);
		static struct job j;
		struct clock_fit found;

		j = usual;
		j.offset_ns = (int64_t)prng_below(&p, 2000 * MS) - 1000 * MS;
		play(&p, &j, CLOCK_FIT_PAIRS_MIN + (uint32_t)prng_below(&p, 1000));
		EXPECT(&p, fit(&j, 0, &found));
		EXPECT(&p, found.pairs == j.fixed_count);
		/* both come last sometimes: no more than a collective, its skew and the slack */
		EXPECT(&p, found.bound_ns < 250 * US);
		check(&p, &j, &found);
	}
}

static void drift_is_found(void **state)
{
	(void)state;
	for (uint64_t round = 0; round < unit_rounds(30); round++) {
		struct prng p = prng_round(round);
		static struct job j;
		struct clock_fit found;

		j = usual;
		j.drift = ((double)prng_below(&p, 2001) - 1000) * 1e-7; /* 100 ppm */
		play(&p, &j, 3000);
		EXPECT(&p, fit(&j, 0, &found));
		EXPECT(&p, found.drift - j.drift < 2e-6 && j.drift - found.drift < 2e-6);
		check(&p, &j, &found);
	}
}

static void lost_ones_are_skipped(void **state)
{
	(void)state;
	for (uint64_t round = 0; round < unit_rounds(30); round++) {
		struct prng p = prng_round(round);
		static struct job j;
		struct clock_fit found;

		j = usual;
		j.lost_one_in = 10 + (uint32_t)prng_below(&p, 50);
		play(&p, &j, 1000);
		EXPECT(&p, fit(&j, 20 * MS, &found));
		EXPECT(&p, found.pairs > 700 && found.pairs < 1000);
		check(&p, &j, &found);
	}
}

/* One that is always the last leaves a wide interval, and says so. */
static void what_cannot_be_known_is_stated(void **state)
{
	struct prng p = prng_round(1);
	static struct job j;
	struct clock_fit found;

	(void)state;
	j = usual;
	j.is_one_late = true;
	play(&p, &j, 1000);
	assert_true(fit(&j, 0, &found));
	assert_true(found.bound_ns > (uint64_t)j.late_ns);
	assert_true(found.error_ns >= CLOCK_FIT_SKEW_NS && found.error_ns < 80 * US);
	check(&p, &j, &found);

	/* a skew that short collectives contradict is corrected: it is within the bound */
	j = usual;
	j.transfer_ns = 10 * US;
	play(&p, &j, 1000);
	for (uint32_t i = 0; i < j.moved_count; i++)
		j.moved[i].left_ns += 300 * US;
	assert_true(fit(&j, 0, &found));
	assert_true(found.bound_ns < 400 * US);
	assert_true(error_at(&j, &found, j.fixed[500].left_ns) <= (int64_t)found.bound_ns);
}

/* Steps that all take exactly as long are told apart by their number, or by the wall clock. */
static void equal_intervals_are_not_mistaken(void **state)
{
	struct prng p = prng_round(2);
	static struct job j;
	struct clock_fit found;

	(void)state;
	j = usual;
	j.jitter_ns = 0;
	j.late_ns = 0;
	j.skew_ns = 0;
	j.offset_ns = 50 * MS; /* 2 steps and a half */
	play(&p, &j, 1000);
	assert_true(fit(&j, 0, &found));
	assert_int_equal(error_at(&j, &found, j.fixed[500].left_ns), 0);

	j.moved_count--;
	memmove(j.moved, j.moved + 1, j.moved_count * sizeof(*j.moved));
	assert_false(fit(&j, 0, &found));
	assert_false(fit(&j, 500 * MS, &found));
	for (uint32_t i = 0; i < j.moved_count; i++) {
		j.moved[i].came_ns += 49 * MS;
		j.moved[i].left_ns += 49 * MS;
	}
	assert_true(fit(&j, 5 * MS, &found));
	assert_int_equal(found.offset_ns, 1 * MS);
}

static void what_does_not_match_is_no_fit(void **state)
{
	struct prng p = prng_round(3), other = prng_round(4);
	static struct job j, k;
	struct clock_fit found;

	(void)state;
	j = usual;
	k = usual;
	play(&p, &j, CLOCK_FIT_PAIRS_MIN - 1);
	assert_false(fit(&j, 0, &found));
	/* visits of another job */
	j.fixed_count = j.moved_count = 0;
	play(&p, &j, 500);
	play(&other, &k, 500);
	memcpy(j.moved, k.moved, sizeof(k.moved));
	assert_false(fit(&j, 0, &found));
	/* each machine left before the other came */
	for (uint32_t i = 0; i < 500; i++) {
		j.moved[i].left_ns = j.fixed[i].left_ns;
		j.moved[i].came_ns = j.fixed[i].left_ns - (i % 2 ? 10 : 900) * US;
		j.fixed[i].came_ns = j.fixed[i].left_ns - 10 * US;
		j.moved[i].left_ns -= 800 * US * (i % 3 == 0);
	}
	assert_false(fit(&j, 0, &found));
}

static void nonsense_is_harmless_and_bounded(void **state)
{
	(void)state;
	for (uint64_t round = 0; round < unit_rounds(100); round++) {
		struct prng p = prng_round(round);
		static struct job j;
		struct clock_fit found;
		uint32_t bits = 1 + (uint32_t)prng_below(&p, 61);
		uint64_t limit = prng_below(&p, UINT64_C(1) << prng_below(&p, 28)), steps = limit;
		int64_t last = 0;
		struct clock_pair pair = {.fixed = j.fixed, .moved = j.moved};

		pair.fixed_count = 1 + (uint32_t)prng_below(&p, MANY);
		pair.moved_count = 1 + (uint32_t)prng_below(&p, MANY);
		pair.guess_error_ns = (int64_t)prng_bits(&p, bits);
		for (uint32_t side = 0; side < 2; side++) {
			uint32_t count = side ? pair.moved_count : pair.fixed_count;

			last = 0;
			for (uint32_t i = 0; i < count; i++) {
				struct clock_visit *v = side ? &j.moved[i] : &j.fixed[i];
				int64_t room = CLOCK_FIT_TIME_MAX - last;

				last += (int64_t)(prng_bits(&p, bits) % ((uint64_t)room / 64 + 1));
				v->left_ns = last;
				v->came_ns = (int64_t)prng_bits(&p, bits) % (last + 1);
			}
		}
		if (clock_fit(&pair, &steps, &found)) {
			EXPECT(&p, found.pairs <= pair.fixed_count);
			EXPECT(&p, clock_fit_time(&found, last) >= 0);
		}
		EXPECT(&p, steps <= limit);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_offset_is_found_within_its_error),
		cmocka_unit_test(drift_is_found),
		cmocka_unit_test(lost_ones_are_skipped),
		cmocka_unit_test(what_cannot_be_known_is_stated),
		cmocka_unit_test(equal_intervals_are_not_mistaken),
		cmocka_unit_test(what_does_not_match_is_no_fit),
		cmocka_unit_test(nonsense_is_harmless_and_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
