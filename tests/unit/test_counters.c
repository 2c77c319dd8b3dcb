/* SPDX-License-Identifier: MIT */
/* Values by stack and metric, and the table that is made of them: by kernel. */
#include "report_cell.h"
#include <float.h>
#include <math.h>
#include "made_result.h"
#include "profiler/model/counters.h"
#include "profiler/tables/counters_table.h"

static void values_add_up_by_stack_and_metric(void **state)
{
	struct counter_table c = {.metric_count = 0};

	(void)state;
	assert_int_equal(counters_metric(&c, "a.sum", "byte"), 0);
	assert_int_equal(counters_metric(&c, "b.pct", ""), 1);
	assert_int_equal(counters_metric(&c, "a.sum", ""), 0);
	counters_add(&c, 5, 0, 2);
	counters_add(&c, 5, 0, -4);
	counters_add(&c, 5, 1, 0.5);
	counters_add(&c, 6, 0, INFINITY);
	counters_add(&c, 6, 0, NAN);
	assert_int_equal(c.rows.count, 2);
	assert_int_equal(c.rows.list[0].count, 2);
	assert_true(c.rows.list[0].sum == -2 && c.rows.list[0].least == -4 &&
		    c.rows.list[0].most == 2);
	assert_true(c.rows.list[1].least == 0.5 && c.rows.list[1].most == 0.5);
	for (uint32_t i = 0; i < COUNTERS_ROWS_MAX + 2; i++)
		counters_add(&c, 100 + i, 0, 1);
	assert_int_equal(c.rows.count, COUNTERS_ROWS_MAX);
	assert_int_equal(c.not_kept, 4);
	counters_release(&c);
}

static void sums_stay_numbers(void **state)
{
	struct counter_table c = {.metric_count = 0};

	(void)state;
	counters_metric(&c, "a.sum", "");
	for (uint32_t i = 0; i < 3; i++) {
		counters_add(&c, 5, 0, DBL_MAX);
		counters_add(&c, 6, 0, -DBL_MAX);
	}
	assert_true(c.rows.list[0].sum == DBL_MAX && c.rows.list[1].sum == -DBL_MAX);
	assert_int_equal(c.rows.list[0].count, 1);
	assert_int_equal(c.not_kept, 4);
	counters_release(&c);
}

static void values_of_launches_are_bounded(void **state)
{
	struct quota memory = {.limit = 2 * 4 * sizeof(struct counter_value)};
	struct counter_table c = {.metric_count = 0};

	(void)state;
	assert_true(counters_make_room(&c, 3));
	counters_add_value(&c, &(struct counter_value){1, 2, 3, 0.5});
	counters_add_value(&c, &(struct counter_value){1, 2, 3, NAN});
	counters_add_value(&c, &(struct counter_value){1, 2, 3, -INFINITY});
	assert_int_equal(c.value_count, 1);
	assert_true(c.values[0].value == 0.5);
	assert_false(counters_make_room(&c, COUNTERS_VALUES_MAX));
	assert_true(counters_make_room(&c, COUNTERS_VALUES_MAX - 1));
	c.memory = &memory;
	assert_true(counters_make_room(&c, 3));
	assert_false(counters_make_room(&c, 2));
	counters_release(&c);
}

static void sums_may_be_added_up(void **state)
{
	(void)state;
	assert_true(counters_is_additive("dram__bytes.sum"));
	assert_false(counters_is_additive("dram__bytes.sum.per_second"));
	assert_false(counters_is_additive("dram__bytes.avg"));
	assert_false(counters_is_additive("lts__t_sector_hit_rate.pct"));
	assert_false(counters_is_additive("nonsense"));
}

static void those_that_may_be_added_up_are_named(void **state)
{
	struct counter_table c = {.metric_count = 0};
	char sums[COUNTERS_SUMS_BYTES], many[4000] = "";

	(void)state;
	assert_true(counters_are_asked("a.pct,b.sum,c.sum", "b.sum", sums));
	assert_string_equal(sums, "b.sum, c.sum");
	assert_false(counters_are_asked(",a.pct,", "a", sums));
	assert_string_equal(sums, "none");
	assert_true(counters_are_asked("default", "lts__t_sector_hit_rate.pct", sums));
	assert_string_equal(sums, "dram__bytes.sum");
	for (int i = 0; i < 200; i++)
		snprintf(many + strlen(many), sizeof(many) - strlen(many), "metric_%d.sum,", i);
	assert_true(counters_are_asked(many, "metric_199.sum", sums));
	assert_true(strlen(sums) < COUNTERS_SUMS_BYTES);
	assert_false(counters_were_read(&c, "a.sum", sums));
	assert_string_equal(sums, "none");
	counters_metric(&c, "a.sum", "");
	counters_metric(&c, "b.avg", "");
	assert_true(counters_were_read(&c, "b.avg", sums));
	assert_string_equal(sums, "a.sum");
}

static uint32_t find(const struct report_table *f, const char *kernel, const char *metric)
{
	for (uint32_t i = 0; i < f->count; i++)
		if (strcmp(report_cell(f, i, "kernel")->text, kernel) == 0 &&
		    strcmp(report_cell(f, i, "metric")->text, metric) == 0)
			return i;
	fail_msg("no %s of %s", metric, kernel);
	return 0;
}

/* A kernel that is launched from two places is one; the one with more time comes first. */
static void the_table_is_by_kernel(void **state)
{
	struct counter_table c = {.metric_count = 0};
	struct made_result m;
	uint32_t big_here, big_there, small;
	struct report_table *f;

	(void)state;
	made_begin(&m);
	big_here = MADE_STACK(&m, "main", "here", "big");
	big_there = MADE_STACK(&m, "main", "there", "big");
	m.stacks[big_there].frame = m.stacks[big_here].frame;
	small = MADE_STACK(&m, "main", "small");
	for (int i = 0; i < 100; i++)
		made_add(&m, small, ROW_GPU, 1);
	for (int i = 0; i < 10; i++)
		made_add(&m, big_here, ROW_GPU, 100);
	for (int i = 0; i < 5; i++)
		made_add(&m, big_there, ROW_GPU, 100);
	counters_metric(&c, "bytes.sum", "byte");
	counters_metric(&c, "rate.pct", "percent");
	counters_add(&c, small, 0, 7);
	counters_add(&c, big_here, 1, 50);
	counters_add(&c, big_here, 0, 10);
	counters_add(&c, big_here, 0, 20);
	counters_add(&c, big_there, 0, 60);
	counters_add(&c, big_here, 1, DBL_MAX - 1e300);
	counters_add(&c, big_there, 1, DBL_MAX);
	m.result.counters = &c;
	f = counters_report_table(&m.result);
	assert_non_null(f);
	assert_int_equal(f->count, 3);
	assert_string_equal(report_cell(f, 0, "kernel")->text, "big");
	assert_string_equal(report_cell(f, 0, "metric")->text, "bytes.sum");
	assert_true(report_cell(f, 0, "mean")->real == 30 &&
		    report_cell(f, 0, "least")->real == 10 &&
		    report_cell(f, 0, "most")->real == 60);
	assert_int_equal(report_cell(f, 0, "measured")->number, 3);
	assert_int_equal(report_cell(f, 0, "launches")->number, 15);
	assert_int_equal(report_cell(f, find(f, "big", "rate.pct"), "measured")->number, 3);
	assert_true(isfinite(report_cell(f, find(f, "big", "rate.pct"), "mean")->real));
	assert_true(report_cell(f, find(f, "small", "bytes.sum"), "mean")->real == 7);
	report_table_free(f);
	counters_release(&c);
	made_end(&m);
}

/* Counts of captures may be anything up to 2^63. */
static void counts_stay_numbers(void **state)
{
	struct counter_table c = {.metric_count = 0};
	struct made_result m;
	uint32_t stack;
	struct report_table *f;

	(void)state;
	made_begin(&m);
	stack = MADE_STACK(&m, "main", "kernel");
	made_add(&m, stack, ROW_GPU, 1);
	for (uint32_t i = 0; i < 2; i++) {
		uint32_t here = i ? made_push(&m, stack, "again") : stack;

		m.stacks[here].frame = m.stacks[stack].frame;
		counters_add_row(&c, &(struct counter_row){here, 0, UINT64_C(1) << 63, 1, 1, 1});
	}
	counters_metric(&c, "a.sum", "");
	m.result.counters = &c;
	f = counters_report_table(&m.result);
	assert_non_null(f);
	assert_int_equal(f->count, 1);
	assert_int_equal(report_cell(f, 0, "measured")->number, UINT64_MAX);
	assert_true(isfinite(report_cell(f, 0, "mean")->real));
	report_table_free(f);
	counters_release(&c);
	made_end(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values_add_up_by_stack_and_metric),
		cmocka_unit_test(sums_stay_numbers),
		cmocka_unit_test(values_of_launches_are_bounded),
		cmocka_unit_test(sums_may_be_added_up),
		cmocka_unit_test(those_that_may_be_added_up_are_named),
		cmocka_unit_test(the_table_is_by_kernel),
		cmocka_unit_test(counts_stay_numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
