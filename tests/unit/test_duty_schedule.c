/* SPDX-License-Identifier: MIT */
/*
 * Windows of --budget, on a clock that the test controls. Each moment of a run is recorded with the
 * probability that its launches represent, whatever periods the program has. Costs stay within the
 * budget, also when the program changes. Processes of one job record at the same moments.
 */
#include <math.h>
#include "unit.h"
#include "cupti_trace/core/duty_schedule.h"

#define MS UINT64_C(1000000)
#define S UINT64_C(1000000000)
#define BUDGET(percent) ((uint32_t)((percent)*1000))
#define START (1000 * S)

/* A program: launches each `gap_ns`, `records` each. */
struct program {
	uint64_t gap_ns, records;
};

/* Returns what launches in the window represent; adds the window's cost. */
static uint64_t record(struct duty_schedule *s, const struct duty_window *w,
		       const struct program *p, uint64_t *cost_ns)
{
	uint64_t first = (w->from_ns + p->gap_ns - 1) / p->gap_ns;
	uint64_t launches = (w->to_ns + p->gap_ns - 1) / p->gap_ns - first;
	uint64_t window_ns = w->to_ns - w->from_ns, spent = launches * p->records * DUTY_RECORD_NS;

	duty_schedule_recorded(s, window_ns, window_ns);
	duty_schedule_count(s, launches * p->records);
	*cost_ns += spent < window_ns ? spent : window_ns;
	return launches * w->represents;
}

/* Runs for some seconds. Returns launches as estimated, relative to their number. */
static double run(const struct program *p, uint32_t budget, uint64_t seconds, uint64_t round,
		  uint64_t *cost_ns)
{
	struct prng prng = prng_round(round);
	uint64_t start = START + prng_u64(&prng) % S, end = start + seconds * S, sum = 0;
	struct duty_schedule s;

	duty_schedule_init(&s, budget, start, prng_u64(&prng) % (1000000000 * S));
	for (struct duty_window w = duty_schedule_next(&s, start); w.from_ns < end;
	     w = duty_schedule_next(&s, w.to_ns)) {
		assert_true(w.from_ns < w.to_ns && w.from_ns >= start);
		if (w.only_counts)
			continue;
		if (w.to_ns > end)
			w.to_ns = end;
		sum += record(&s, &w, p, cost_ns);
	}
	return (double)sum * (double)p->gap_ns / ((double)seconds * 1e9);
}

static void estimates_are_unbiased(void **state)
{
	/* also in step with the schedule, whose period is 500 ms */
	static const uint64_t gaps[] = {MS / 10,  MS,        7 * MS,    100 * MS,
					500 * MS, 1000 * MS, 1500 * MS, 3000 * MS};

	(void)state;
	for (size_t i = 0; i < sizeof(gaps) / sizeof(gaps[0]); i++) {
		const struct program p = {gaps[i], 1};
		double sum = 0, squares = 0, error;
		uint64_t cost = 0;
		enum { RUNS = 400 };

		for (uint64_t round = 0; round < RUNS; round++) {
			double part = run(&p, BUDGET(1), 30, round, &cost);

			sum += part;
			squares += part * part;
		}
		error = sqrt((squares / RUNS - sum / RUNS * (sum / RUNS)) / RUNS);
		assert_true(fabs(sum / RUNS - 1) < 4 * error + 0.001);
	}
}

/* Counts, for each moment of the first three periods, how much recorded launches represent. */
static void each_moment_has_its_chance(void **state)
{
	enum { PLACES = 60, RUNS = 20000 };
	static double weight[PLACES];
	uint64_t step = 3 * DUTY_PERIOD_NS / PLACES;

	(void)state;
	for (uint64_t round = 0; round < RUNS; round++) {
		struct prng prng = prng_round(round);
		struct duty_schedule s;
		struct duty_window w;

		duty_schedule_init(&s, BUDGET(1), START, prng_u64(&prng) % (1000000 * S));
		duty_schedule_count(&s, 100); /* windows of 5 ms, then longer ones */
		for (w = duty_schedule_next(&s, START); w.from_ns < START + 3 * DUTY_PERIOD_NS;
		     w = duty_schedule_next(&s, w.to_ns)) {
			for (uint64_t i = 0; i < PLACES && !w.only_counts; i++)
				if (START + i * step >= w.from_ns && START + i * step < w.to_ns)
					weight[i] += w.represents;
			if (!w.only_counts)
				duty_schedule_recorded(&s, w.to_ns - w.from_ns,
						       w.to_ns - w.from_ns);
		}
	}
	/* the standard deviation of a place with windows of 1/100 is 7 % */
	for (uint64_t i = 0; i < PLACES; i++)
		assert_true(fabs(weight[i] / RUNS - 1) < 0.35);
}

static void costs_are_within_the_budget(void **state)
{
	static const struct program programs[] = {
		{MS / 4, 500},  /* graphs of short kernels */
		{MS, 57},       /* a server */
		{MS / 40, 1},   /* a training step */
		{100 * MS, 10}, /* hardly any */
	};
	static const uint32_t budgets[] = {BUDGET(0.1), BUDGET(1), BUDGET(2), BUDGET(5)};

	(void)state;
	for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++)
		for (size_t j = 0; j < sizeof(budgets) / sizeof(budgets[0]); j++) {
			uint64_t cost = 0;

			run(&programs[i], budgets[j], 120, i, &cost);
			assert_true((double)cost / (120.0 * 1e9) < budgets[j] / 1e5 * 1.1);
		}
}

/* A program that launches little, then much, pays back what the first windows then took. */
static void a_debt_is_paid_back(void **state)
{
	const struct program quiet = {100 * MS, 1}, busy = {MS / 4, 500};
	uint64_t end = START + 100 * S, cost = 0;
	struct duty_schedule s;

	(void)state;
	duty_schedule_init(&s, BUDGET(1), START, 0);
	for (struct duty_window w = duty_schedule_next(&s, START); w.from_ns < end;
	     w = duty_schedule_next(&s, w.to_ns))
		if (!w.only_counts)
			record(&s, &w, w.from_ns < START + 50 * S ? &quiet : &busy, &cost);
	assert_true(cost < S + S / 10);
}

static void a_job_records_at_once(void **state)
{
	struct duty_schedule a, b;
	struct duty_window x, y;

	(void)state;
	/* hosts with other clocks, started one after the other */
	duty_schedule_init(&a, BUDGET(1), 100 * S, 5000 * S);
	duty_schedule_init(&b, BUDGET(1), 7 * S, 5001 * S);
	x = duty_schedule_next(&a, 101 * S);
	y = duty_schedule_next(&b, 7 * S);
	while (x.period_from_ns - 94 * S < y.period_from_ns)
		x = duty_schedule_next(&a, x.to_ns);
	for (int i = 0; i < 100; i++) {
		assert_int_equal(x.period_from_ns - 94 * S, y.period_from_ns);
		assert_int_equal(x.from_ns - 94 * S, y.from_ns);
		x = duty_schedule_next(&a, x.to_ns);
		y = duty_schedule_next(&b, y.to_ns);
	}
}

static void lost_time_is_skipped(void **state)
{
	struct duty_schedule s;
	struct duty_window w;

	(void)state;
	duty_schedule_init(&s, BUDGET(1), START, 12345 * S);
	w = duty_schedule_next(&s, START);
	assert_int_equal(w.period_from_ns, START);
	w = duty_schedule_next(&s, START + 3600 * S);
	assert_true(w.to_ns > START + 3600 * S && w.from_ns < START + 3601 * S);
	assert_in_range(w.period_from_ns, START + 3600 * S, START + 3600 * S + DUTY_PERIOD_NS);
}

/* A program that is stopped in a window has windows as before soon. */
static void a_stop_is_forgotten(void **state)
{
	const struct program server = {MS, 57};
	uint64_t cost = 0, long_ones = 0, count = 0;
	struct duty_schedule s;

	(void)state;
	duty_schedule_init(&s, BUDGET(1), START, 0);
	for (struct duty_window w = duty_schedule_next(&s, START); w.from_ns < START + 60 * S;
	     w = duty_schedule_next(&s, w.to_ns)) {
		if (w.only_counts)
			continue;
		record(&s, &w, &server, &cost);
		if (w.from_ns > START + 20 * S && w.from_ns < START + 21 * S)
			duty_schedule_recorded(&s, 0, 10 * S);
		count += w.from_ns > START + 45 * S;
		long_ones += w.from_ns > START + 45 * S && w.represents < 50;
	}
	assert_true(count > 20 && long_ones > count / 2);
}

/* A wall clock before 1970, or that is unknown, and budgets beyond all sense. */
static void odd_clocks_and_budgets(void **state)
{
	static const uint32_t budgets[] = {1, BUDGET(100), UINT32_MAX};

	(void)state;
	for (size_t i = 0; i < sizeof(budgets) / sizeof(budgets[0]); i++) {
		struct duty_schedule s;
		uint64_t now = 0;

		duty_schedule_init(&s, budgets[i], 1, i ? 0 : UINT64_MAX);
		for (int n = 0; n < 1000; n++) {
			struct duty_window w = duty_schedule_next(&s, now);

			assert_true(w.from_ns < w.to_ns && w.to_ns + s.period_ns > now);
			assert_in_range(w.represents, DUTY_LEAST_REPRESENTS, DUTY_MOST_REPRESENTS);
			duty_schedule_recorded(&s, w.to_ns - w.from_ns, n % 7 * MS);
			duty_schedule_count(&s, n % 3 ? UINT64_MAX / 2000 : 0);
			now = w.to_ns;
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(estimates_are_unbiased),
		cmocka_unit_test(each_moment_has_its_chance),
		cmocka_unit_test(costs_are_within_the_budget),
		cmocka_unit_test(a_debt_is_paid_back),
		cmocka_unit_test(a_stop_is_forgotten),
		cmocka_unit_test(a_job_records_at_once),
		cmocka_unit_test(lost_time_is_skipped),
		cmocka_unit_test(odd_clocks_and_budgets),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
