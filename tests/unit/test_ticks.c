/* SPDX-License-Identifier: MIT */
/* Ticks become CLOCK_MONOTONIC: exactly on made-up lines, and within the clock of this machine. */
#include "unit.h"
#include "cupti_trace/core/ticks.h"

#define MS UINT64_C(1000000)

static void add(struct ticks_line *line, uint64_t ticks, uint64_t ns)
{
	ticks_line_add(line, &(struct ticks_point){ticks, ns});
}

static void between_points_a_line_is_straight(void **state)
{
	struct ticks_line line = {0};

	(void)state;
	add(&line, 1000, 7 * MS); /* 3 ticks a ns */
	add(&line, 1000 + 300 * MS, 107 * MS);
	assert_int_equal(ticks_line_ns(&line, 1000), 7 * MS);
	assert_in_range(ticks_line_ns(&line, 1000 + 150 * MS), 57 * MS - 1, 57 * MS);
	assert_in_range(ticks_line_ns(&line, 1000 + 300 * MS), 107 * MS - 1, 107 * MS);
	/* published late, or while the point was read */
	assert_in_range(ticks_line_ns(&line, 1000 + 330 * MS), 117 * MS - 1, 117 * MS);
	assert_in_range(ticks_line_ns(&line, 1000 - 300), 7 * MS - 100, 7 * MS - 99);
}

static void a_change_of_rate_is_followed(void **state)
{
	struct ticks_line line = {0};

	(void)state;
	add(&line, 0, MS);
	add(&line, 50 * MS, 51 * MS);
	add(&line, 100 * MS, 151 * MS); /* now 2 ns a tick */
	assert_int_equal(ticks_line_ns(&line, 50 * MS), 51 * MS);
	assert_int_equal(ticks_line_ns(&line, 75 * MS), 101 * MS);
	assert_int_equal(ticks_line_ns(&line, 110 * MS), 171 * MS);
}

/* A point that was read 20 ns late would tilt a short line. */
static void close_points_do_not_tilt_a_line(void **state)
{
	struct ticks_line line = {0};

	(void)state;
	add(&line, 0, MS);
	add(&line, MS, 2 * MS); /* better than none */
	assert_int_equal(ticks_line_ns(&line, MS / 2), MS + MS / 2);
	add(&line, 100 * MS, 101 * MS);
	add(&line, 100 * MS + 10, 101 * MS + 30);
	add(&line, 100 * MS + 20, 101 * MS + 40);
	assert_int_equal(ticks_line_ns(&line, 101 * MS), 102 * MS);
}

static void a_line_may_be_long(void **state)
{
	const uint64_t year = UINT64_C(365) * 86400 * 1000 * MS;
	struct ticks_line line = {0};

	(void)state;
	add(&line, 0, MS);
	add(&line, 3 * year, year + MS);
	assert_in_range(ticks_line_ns(&line, 3 * year / 2), year / 2 + MS - 200 * MS,
			year / 2 + MS);
}

/* A virtual machine that is moved, a laptop that slept: what was read before is of another counter.
 */
static void a_counter_may_start_again(void **state)
{
	const uint64_t hour = UINT64_C(3600) * 1000 * MS, start = clock_now_ns() / 2;
	struct ticks_line line = {0};
	uint64_t ns, early;

	(void)state;
	add(&line, hour, start);
	add(&line, hour + 50 * MS, start + 50 * MS);
	add(&line, 10 * MS, start + 100 * MS);
	/* a time of before, by the new counter's line, would be later than now */
	ns = ticks_line_ns(&line, 2 * hour + 40 * MS);
	assert_in_range(ns, start, clock_now_ns());
	assert_int_equal(ticks_line_ns(&line, 0), start + 90 * MS);
	add(&line, 60 * MS, start + 150 * MS);
	assert_int_equal(ticks_line_ns(&line, 35 * MS), start + 125 * MS);

	/* ahead instead: too early by some, not by years */
	add(&line, 60 * MS + 1000 * hour, start + 200 * MS);
	add(&line, 110 * MS + 1000 * hour, start + 250 * MS);
	early = start + 200 * MS < TICKS_EARLY_NS ? start + 200 * MS : TICKS_EARLY_NS;
	assert_int_equal(ticks_line_ns(&line, 60 * MS), start + 200 * MS - early);
	assert_int_equal(ticks_line_ns(&line, 110 * MS + 1000 * hour), start + 250 * MS);
}

/* Whatever this machine has for a counter: a time lies between two readings of the clock. */
static void ticks_are_the_clock(void **state)
{
	struct ticks_line line = {0};
	struct ticks_point point;
	uint64_t before[64], ticks[64], after[64];

	(void)state;
	ticks_init();
	point = ticks_read_point();
	ticks_line_add(&line, &point);
	for (int i = 0; i < 64; i++) {
		before[i] = clock_now_ns();
		ticks[i] = ticks_now();
		do
			after[i] = clock_now_ns();
		while (after[i] - before[i] < TICKS_SPAN_NS / 32);
	}
	point = ticks_read_point();
	ticks_line_add(&line, &point);
	for (int i = 0; i < 64; i++) {
		uint64_t ns = ticks_line_ns(&line, ticks[i]);

		assert_in_range(ns, before[i] - MS, after[i] + MS);
	}
}

static void without_a_counter_ticks_are_ns(void **state)
{
	const struct ticks_source was = ticks_source;
	struct ticks_line line = {0};
	struct ticks_point point;
	uint64_t ticks;

	(void)state;
	ticks_source = (struct ticks_source){.is_counter = false};
	point = ticks_read_point();
	assert_int_equal(point.ticks, point.ns);
	ticks_line_add(&line, &point);
	ticks = ticks_now();
	do
		point = ticks_read_point();
	while (point.ns == line.older.ns);
	ticks_line_add(&line, &point);
	assert_int_equal(ticks_line_ns(&line, ticks), ticks);
	ticks_source = was;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(between_points_a_line_is_straight),
		cmocka_unit_test(a_change_of_rate_is_followed),
		cmocka_unit_test(close_points_do_not_tilt_a_line),
		cmocka_unit_test(a_line_may_be_long),
		cmocka_unit_test(a_counter_may_start_again),
		cmocka_unit_test(ticks_are_the_clock),
		cmocka_unit_test(without_a_counter_ticks_are_ns),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
