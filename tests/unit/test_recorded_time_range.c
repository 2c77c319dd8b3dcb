/* SPDX-License-Identifier: MIT */
/* The recorded part of a run of a command: its times, its stages, and who may still change it. */
#include "unit.h"
#include "profiler/run/run_parts.h"
#include "symbolize/util/monotonic.h"

#define SECOND UINT64_C(1000000000)

struct bench {
	struct log log;
	struct session_options options;
	struct run_parts run;
	char variable[TARGET_VARIABLE_BYTES];
};

static int begin(void **state)
{
	struct bench *b = calloc(1, sizeof(*b));
	char error[512];

	if (!b)
		return -1;
	*state = b;
	run_parts_init(&b->run, &b->options, NULL, &b->log);
	b->run.collect = collect_new(&(struct collect_options){.sample_ns = 1, .is_over = true});
	b->run.phase = RUN_GOING;
	run_parts_begin(&b->run);
	return kernel_events_open(&(struct kernel_events_options){0}, &b->run.kernel, error,
				  sizeof(error));
}

static int end(void **state)
{
	struct bench *b = *state;

	kernel_events_close(b->run.kernel);
	collect_free(b->run.collect);
	free(b);
	return 0;
}

/* Sets the run's start to `ago_ns` ago, with --delay and -d. */
static void set(struct bench *b, uint64_t ago_ns, uint64_t delay_ns, uint64_t duration_ns)
{
	b->options.measure.delay_ns = delay_ns;
	b->options.measure.duration_ns = duration_ns;
	b->run.start_ns = monotonic_ns() - ago_ns;
	recorded_time_range_set(&b->run, b->variable);
}

static void all_of_a_run_is_recorded_from_its_start(void **state)
{
	struct bench *b = *state;

	set(b, 0, 0, 0);
	assert_string_equal(b->variable, "");
	assert_int_equal(b->run.recorded.stage, TIME_RANGE_AHEAD);
	recorded_time_range_begin_when_due(&b->run);
	assert_int_equal(b->run.recorded.stage, TIME_RANGE_OPEN);
	assert_false(recorded_time_range_is_over(&b->run));
	assert_int_equal(recorded_time_range_tick(&b->run, 50), 50);
}

static void a_part_is_counted_from_the_start(void **state)
{
	struct bench *b = *state;

	set(b, 0, 3600 * SECOND, 5 * SECOND);
	assert_int_equal(b->run.recorded.time_range.from_ns, b->run.start_ns + 3600 * SECOND);
	assert_int_equal(b->run.recorded.time_range.to_ns, b->run.start_ns + 3605 * SECOND);
	assert_memory_equal(collect_time_range(b->run.collect), &b->run.recorded.time_range,
			    sizeof(struct time_range));
	recorded_time_range_begin_when_due(&b->run);
	assert_int_equal(b->run.recorded.stage, TIME_RANGE_AHEAD);
	assert_false(recorded_time_range_is_over(&b->run));
}

static void it_opens_and_ends_when_its_time_has_come(void **state)
{
	struct bench *b = *state;

	set(b, 10 * SECOND, 9 * SECOND, 3600 * SECOND);
	recorded_time_range_begin_when_due(&b->run);
	assert_int_equal(b->run.recorded.stage, TIME_RANGE_OPEN);
	assert_false(recorded_time_range_is_over(&b->run));
	recorded_time_range_end(&b->run, monotonic_ns());
	assert_true(recorded_time_range_is_over(&b->run));
	assert_int_equal(b->run.recorded.stage, TIME_RANGE_OVER);
	recorded_time_range_begin_when_due(&b->run);
	assert_int_equal(b->run.recorded.stage, TIME_RANGE_OVER);
	assert_true(recorded_time_range_is_over(&b->run));
}

/* A round that took longer than all of it. */
static void one_that_was_missed_never_opens(void **state)
{
	struct bench *b = *state;

	set(b, 10 * SECOND, 2 * SECOND, 1 * SECOND);
	recorded_time_range_begin_when_due(&b->run);
	assert_int_equal(b->run.recorded.stage, TIME_RANGE_AHEAD);
	assert_true(recorded_time_range_is_over(&b->run));
	assert_int_equal(b->run.recorded.stage, TIME_RANGE_OVER);
}

static void waits_end_with_its_beginning_and_its_end(void **state)
{
	struct bench *b = *state;

	set(b, 0, 3600 * SECOND, 5 * SECOND);
	assert_int_equal(recorded_time_range_tick(&b->run, 50), 50);
	assert_true(recorded_time_range_tick(&b->run, 7200 * 1000) <= 3600 * 1000 + 1);
	set(b, 3601 * SECOND, 3600 * SECOND, 1000 * SECOND);
	assert_true(recorded_time_range_tick(&b->run, 7200 * 1000) <= 999 * 1000 + 1);
	set(b, 10 * SECOND, 1 * SECOND, 1 * SECOND);
	assert_int_equal(recorded_time_range_tick(&b->run, 50), 50);
}

static void start_begins_it_once(void **state)
{
	struct bench *b = *state;
	uint64_t before_ns = monotonic_ns();

	set(b, 0, MEASURE_UNTIL_TOLD, 5 * SECOND);
	assert_true(b->run.recorded.time_range.from_ns == TIME_RANGE_NOT_YET);
	assert_int_equal(recorded_time_range_begin_soon(&b->run), 0);
	assert_true(b->run.recorded.time_range.from_ns >= before_ns + TIME_RANGE_NOTICE_NS);
	assert_int_equal(b->run.recorded.time_range.to_ns,
			 b->run.recorded.time_range.from_ns + 5 * SECOND);
	assert_int_equal(recorded_time_range_begin_soon(&b->run), -EALREADY);
	recorded_time_range_end(&b->run, monotonic_ns());
	assert_int_equal(recorded_time_range_begin_soon(&b->run), -ESHUTDOWN);
}

static void what_start_began_is_noted_as_a_part(void **state)
{
	struct bench *b = *state;
	struct measure m;

	set(b, 0, MEASURE_UNTIL_TOLD, 5 * SECOND);
	assert_int_equal(recorded_time_range_begin_soon(&b->run), 0);
	b->run.ended_ns = b->run.recorded.time_range.from_ns + 2 * SECOND;
	m = b->options.measure;
	recorded_time_range_note(&b->run, &m);
	assert_int_equal(m.delay_ns, b->run.recorded.time_range.from_ns - b->run.start_ns);
	assert_int_equal(m.duration_ns, 2 * SECOND);
}

static void what_was_asked_for_is_noted_as_such(void **state)
{
	struct bench *b = *state;
	struct measure m;

	set(b, 0, 1 * SECOND, 5 * SECOND);
	b->run.ended_ns = b->run.start_ns + 2 * SECOND;
	m = b->options.measure;
	recorded_time_range_note(&b->run, &m);
	assert_int_equal(m.delay_ns, 1 * SECOND);
	assert_int_equal(m.duration_ns, 5 * SECOND);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(all_of_a_run_is_recorded_from_its_start),
		TEST(a_part_is_counted_from_the_start),
		TEST(it_opens_and_ends_when_its_time_has_come),
		TEST(one_that_was_missed_never_opens),
		TEST(waits_end_with_its_beginning_and_its_end),
		TEST(start_begins_it_once),
		TEST(what_start_began_is_noted_as_a_part),
		TEST(what_was_asked_for_is_noted_as_such),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
