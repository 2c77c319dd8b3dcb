/* SPDX-License-Identifier: MIT */
/* Counters and stacks of kernels find each other, whichever comes first, in bounded memory. */
#include "unit.h"
#include <math.h>
#include "profiler/addons/measurements.h"

struct bench {
	struct counter_table counters;
	struct ledger ledger;
	struct profile_sink sink;
	struct quota quota;
	struct measurements m;
};

static void take_note(void *context, const struct profile_item *note)
{
	measurements_note(context, note);
}

static void begin(struct bench *b)
{
	memset(b, 0, sizeof(*b));
	b->quota.limit = 1 << 20;
	b->sink = (struct profile_sink){
		.ledger = &b->ledger, .take_note = take_note, .context = &b->m};
	b->m = (struct measurements){
		.counters = &b->counters, .sink = &b->sink, .quota = &b->quota};
}

static void end(struct bench *b)
{
	measurements_release(&b->m);
	counters_release(&b->counters);
}

static int take(struct bench *b, uint32_t process, uint32_t correlation, uint32_t state,
		const double *values, uint32_t count)
{
	return measurements_take(&b->m, process,
				 &(struct gpu_event_counters){correlation, state, count, values});
}

static void place(struct bench *b, uint32_t process, uint32_t correlation, uint32_t stack)
{
	measurements_place(&b->m, &(struct measured_kernel){.process = process,
							    .correlation_id = correlation,
							    .stack = {stack},
							    .start_ns = 1000 + correlation});
}

static const struct counter_row *row(const struct bench *b, uint32_t stack, const char *metric)
{
	for (uint32_t i = 0; i < b->counters.rows.count; i++)
		if (b->counters.rows.list[i].stack == stack &&
		    strcmp(b->counters.metrics[b->counters.rows.list[i].metric].name, metric) == 0)
			return &b->counters.rows.list[i];
	return NULL;
}

/* Two processes number their metrics and launches differently. */
static void either_may_come_first(void **state)
{
	const double one[] = {3, 10}, two[] = {20, 5, NAN};
	struct bench b;

	(void)state;
	begin(&b);
	assert_int_equal(measurements_metric(&b.m, 1, 0, "bytes", "byte"), 0);
	assert_int_equal(measurements_metric(&b.m, 1, 1, "cycles", "cycle"), 0);
	assert_int_equal(measurements_metric(&b.m, 2, 0, "cycles", "cycle"), 0);
	assert_int_equal(measurements_metric(&b.m, 2, 1, "bytes", "byte"), 0);
	assert_int_equal(measurements_metric(&b.m, 2, 2, "rate", ""), 0);
	assert_int_equal(take(&b, 1, 7, GPU_COUNTERS_BEGIN, NULL, 0), 0);
	assert_int_equal(take(&b, 2, 7, GPU_COUNTERS_BEGIN, NULL, 0), 0);
	assert_int_equal(take(&b, 1, 7, GPU_COUNTERS_READ, one, 2), 0);
	place(&b, 2, 7, 50);
	place(&b, 2, 8, 51); /* was not measured */
	place(&b, 1, 7, 50);
	place(&b, 1, 7, 52); /* once is enough */
	assert_int_equal(take(&b, 2, 7, GPU_COUNTERS_READ, two, 3), 0);
	assert_int_equal(b.ledger.counters.measured, 2);
	assert_int_equal(b.m.count, 0);
	assert_int_equal(b.counters.rows.count, 2); /* NAN gives no row */
	assert_int_equal(row(&b, 50, "bytes")->count, 2);
	assert_true(row(&b, 50, "bytes")->sum == 8 && row(&b, 50, "bytes")->least == 3 &&
		    row(&b, 50, "bytes")->most == 5);
	assert_true(row(&b, 50, "cycles")->sum == 30);
	assert_true(b.counters.value_count == 0 &&
		    b.ledger.counters.unlisted == 0); /* nobody wants them */
	end(&b);
}

static void what_has_no_other_half_is_counted(void **state)
{
	const double value = 1;
	struct bench b;

	(void)state;
	begin(&b);
	measurements_metric(&b.m, 1, 0, "bytes", "byte");
	take(&b, 1, 1, GPU_COUNTERS_BEGIN, NULL, 0); /* never launched, or lost */
	take(&b, 1, 2, GPU_COUNTERS_BEGIN, NULL, 0);
	take(&b, 1, 2, GPU_COUNTERS_READ, &value, 1); /* no record */
	take(&b, 1, 3, GPU_COUNTERS_READ, &value, 1); /* the announcement was lost */
	take(&b, 1, 4, GPU_COUNTERS_BEGIN, NULL, 0);
	place(&b, 1, 4, 9);
	take(&b, 1, 4, GPU_COUNTERS_NONE, NULL, 0);
	measurements_forget(&b.m, 1);
	measurements_forget(&b.m, 2);
	assert_int_equal(b.m.count, 0);
	assert_int_equal(b.ledger.counters.unplaced, 2);
	assert_int_equal(b.ledger.counters.measured, 0);
	assert_int_equal(b.counters.rows.count, 0);
	end(&b);
}

/* All of a launch's, or none. */
static void values_of_launches_are_kept_for_a_timeline(void **state)
{
	const double values[] = {3, NAN, 10};
	struct quota memory = {.limit = SIZE_MAX};
	struct bench b;

	(void)state;
	begin(&b);
	b.m.keeps_launches = true;
	b.counters.memory = &memory;
	measurements_metric(&b.m, 1, 0, "bytes", "byte");
	measurements_metric(&b.m, 1, 2, "cycles", "cycle");
	for (uint32_t id = 7; id <= 9; id++) {
		take(&b, 1, id, GPU_COUNTERS_BEGIN, NULL, 0);
		take(&b, 1, id, GPU_COUNTERS_READ, values, 3);
		place(&b, 1, id, 50);
		if (id == 8) /* none for one more */
			memory.limit = memory.used + 3 * sizeof(struct counter_value);
	}
	assert_int_equal(b.counters.value_count, 4);
	for (uint32_t i = 0; i < 4; i++) {
		const struct counter_value *v = &b.counters.values[i];

		assert_int_equal(v->process, 1);
		assert_int_equal(v->correlation, i < 2 ? 7 : 8);
		assert_int_equal(v->metric, i % 2);
		assert_true(v->value == (i % 2 ? 10 : 3));
	}
	assert_int_equal(b.ledger.counters.measured, 3);
	assert_int_equal(b.ledger.counters.unlisted, 1);
	assert_int_equal(row(&b, 50, "cycles")->count, 3);
	end(&b);
}

/* A launch has one value of a metric. The library sends names again, but each under one number. */
static void a_launch_has_one_value_of_a_metric(void **state)
{
	const double values[] = {3, 4, 5};
	struct bench b;

	(void)state;
	begin(&b);
	measurements_metric(&b.m, 1, 0, "bytes", "byte");
	measurements_metric(&b.m, 1, 1, "bytes", "byte");
	measurements_metric(&b.m, 1, 0, "bytes", "byte");
	measurements_metric(&b.m, 1, 2, "cycles", "cycle");
	take(&b, 1, 7, GPU_COUNTERS_BEGIN, NULL, 0);
	take(&b, 1, 7, GPU_COUNTERS_READ, values, 3);
	place(&b, 1, 7, 50);
	assert_int_equal(b.counters.rows.count, 2);
	assert_int_equal(row(&b, 50, "bytes")->count, 1);
	assert_true(row(&b, 50, "bytes")->sum == 3 && row(&b, 50, "cycles")->sum == 5);
	end(&b);
}

static void what_is_no_number_takes_no_memory(void **state)
{
	const double values[] = {NAN, 3, INFINITY}; /* nobody named the second metric */
	struct quota memory = {.limit = SIZE_MAX};
	struct bench b;

	(void)state;
	begin(&b);
	b.m.keeps_launches = true;
	b.counters.memory = &memory;
	measurements_metric(&b.m, 1, 0, "bytes", "byte");
	measurements_metric(&b.m, 1, 2, "cycles", "cycle");
	for (uint32_t id = 1; id <= 100; id++) {
		take(&b, 1, id, GPU_COUNTERS_BEGIN, NULL, 0);
		take(&b, 1, id, GPU_COUNTERS_READ, values, 3);
		place(&b, 1, id, 50);
	}
	assert_int_equal(b.ledger.counters.measured, 100);
	assert_int_equal(b.ledger.counters.unlisted, 0);
	assert_int_equal(memory.used, 0);
	end(&b);
}

/* A process that announces without end takes no more than the quota, and gives it back. */
static void memory_is_bounded(void **state)
{
	static char names[2 * COUNTERS_METRICS_MAX][16]; /* names that are borrowed */
	struct bench b;
	uint32_t refused = 0;

	(void)state;
	begin(&b);
	measurements_metric(&b.m, 1, 0, "bytes", "byte");
	for (uint32_t i = 1; i < 100000; i++)
		refused += take(&b, 1, i, GPU_COUNTERS_BEGIN, NULL, 0) == -ENOSPC;
	assert_true(refused > 0 && b.quota.used <= b.quota.limit);
	measurements_forget(&b.m, 1);
	assert_int_equal(b.quota.used, 0);
	assert_int_equal(b.m.processes.count, 0);
	for (uint32_t i = 0; i < 2 * COUNTERS_METRICS_MAX; i++) {
		snprintf(names[i], sizeof(names[i]), "metric%u", i);
		measurements_metric(&b.m, 1, i % GPU_METRICS_MAX, names[i], "");
	}
	assert_int_equal(b.counters.metric_count, COUNTERS_METRICS_MAX);
	end(&b);
}

/* A process that ends goes, and the others keep their numbers of metrics. */
static void processes_that_end_are_forgotten(void **state)
{
	const double value = 4;
	struct bench b;

	(void)state;
	begin(&b);
	for (uint32_t process = 1; process <= 20; process++)
		measurements_metric(&b.m, process, process % 3, "bytes", "byte");
	for (uint32_t process = 1; process <= 19; process++)
		measurements_forget(&b.m, process);
	measurements_forget(&b.m, 99); /* was never there */
	assert_int_equal(b.m.processes.count, 1);
	take(&b, 20, 7, GPU_COUNTERS_BEGIN, NULL, 0);
	place(&b, 20, 7, 50);
	take(&b, 20, 7, GPU_COUNTERS_READ, (const double[]){NAN, NAN, value}, 3);
	assert_true(row(&b, 50, "bytes")->sum == value);
	end(&b);
}

static void see_stack(void *context, struct stack_id *stack)
{
	*(uint32_t *)context += stack->number;
	stack->number += 100;
}

/* In a run of the last seconds, launches have values if their kernels began in that time. */
static void values_are_of_the_last_kernels(void **state)
{
	const double value = 3;
	struct time_range time_range = {.from_ns = 1003, .to_ns = 1008};
	uint32_t seen = 0;
	const struct id_visitor visitor = {see_stack, NULL, &seen};
	struct bench b;

	(void)state;
	begin(&b);
	b.m.keeps_launches = true;
	assert_true(profile_sink_keep(&b.sink));
	measurements_metric(&b.m, 1, 0, "bytes", "byte");
	for (uint32_t id = 1; id <= 10; id++) {
		take(&b, 1, id, GPU_COUNTERS_BEGIN, NULL, 0);
		take(&b, 1, id, GPU_COUNTERS_READ, &value, 1);
		place(&b, 1, id, 50);
	}
	measurements_add_unmeasured(&b.m,
				    &(struct gpu_event_unmeasured){{[GPU_UNMEASURED_BUSY] = 7}});
	b.sink.now_ns = 2000; /* the end is over: what came then was before */
	measurements_add_unmeasured(&b.m,
				    &(struct gpu_event_unmeasured){{[GPU_UNMEASURED_REPLAY] = 9}});
	take(&b, 1, 11, GPU_COUNTERS_BEGIN, NULL, 0);
	place(&b, 1, 11, 60);
	measurements_visit(&b.m, &visitor);
	assert_int_equal(seen, 60);
	assert_int_equal(b.counters.rows.count, 0);
	profile_sink_finish(&b.sink, &time_range);
	assert_int_equal(b.ledger.counters.measured, 5); /* 1003 to 1007 */
	assert_int_equal(b.ledger.counters.busy, 0);
	assert_int_equal(b.ledger.counters.replays, 9);
	assert_int_equal(b.counters.value_count, 5);
	assert_int_equal(b.counters.values[0].correlation, 3);
	assert_int_equal(b.counters.values[0].process, 1);
	assert_true(row(&b, 50, "bytes")->count == 5 && row(&b, 50, "bytes")->sum == 15);
	take(&b, 1, 11, GPU_COUNTERS_READ, &value, 1);
	assert_true(row(&b, 160, "bytes")->count == 1);
	end(&b);
}

/* Random orders give the values that a linear search finds. */
static void random_orders_lose_nothing(void **state)
{
	(void)state;
	for (uint64_t round = 0; round < unit_rounds(200); round++) {
		struct prng p = prng_round(round);
		uint32_t done = 0, complete = 0;
		uint8_t halves[64] = {0};
		struct bench b;

		begin(&b);
		measurements_metric(&b.m, 1, 0, "bytes", "byte");
		for (uint32_t i = 0; i < 64; i++)
			take(&b, 1, i + 1, GPU_COUNTERS_BEGIN, NULL, 0);
		while (done < 100) {
			uint32_t at = (uint32_t)prng_below(&p, 64);
			uint8_t half = (uint8_t)(1 + prng_below(&p, 2));
			const double value = at;

			if (halves[at] & half)
				continue;
			halves[at] |= half;
			done++;
			complete += halves[at] == 3;
			if (half == 1)
				take(&b, 1, at + 1, GPU_COUNTERS_READ, &value, 1);
			else
				place(&b, 1, at + 1, at);
		}
		assert_int_equal(b.ledger.counters.measured, complete);
		assert_int_equal(b.counters.rows.count, complete);
		for (uint32_t i = 0; i < b.counters.rows.count; i++)
			assert_true(b.counters.rows.list[i].sum == b.counters.rows.list[i].stack);
		assert_int_equal(b.m.count, 64 - complete);
		measurements_forget(&b.m, 1);
		assert_int_equal(b.m.count, 0);
		end(&b);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(either_may_come_first),
		cmocka_unit_test(what_has_no_other_half_is_counted),
		cmocka_unit_test(values_of_launches_are_kept_for_a_timeline),
		cmocka_unit_test(a_launch_has_one_value_of_a_metric),
		cmocka_unit_test(what_is_no_number_takes_no_memory),
		cmocka_unit_test(memory_is_bounded),
		cmocka_unit_test(processes_that_end_are_forgotten),
		cmocka_unit_test(values_are_of_the_last_kernels),
		cmocka_unit_test(random_orders_lose_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
