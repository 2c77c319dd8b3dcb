/* SPDX-License-Identifier: MIT */
/* Losses: the reasons of --strict, and the report. */
#include "unit.h"
#include "profiler/report/strict.h"

static struct capture captured;

static bool check(enum log_level level, const struct ledger *ledger)
{
	const struct totals totals = {.ledger = ledger};
	struct log log = {.level = level};
	bool is_strict;

	capture_begin(&captured);
	is_strict = strict_check(&log, &totals, 0, 0, 0);
	capture_end(&captured);
	return is_strict;
}

static void an_exact_run_passes(void **state)
{
	struct ledger l = {.cpu = {.samples = 100, .whole = 90, .in_calls = 3, .after_end = 1},
			   .launches = {.kernels = 9, .with_stack = 5, .by_probe = 5},
			   .gpu = {.kernels = 5, .matched = 7, .sums = 3, .equal = 3},
			   .pipe = {.lines = 5, .processes = 2, .graph_time_bugs = 1},
			   .processes = {.untraced = 1}};

	(void)state;
	/* none of these is a loss */
	l.bounds.truncated = 5;
	l.bounds.folded_ranges = 5;
	l.gpu.unseen_nodes = 5; /* the time is in the profile */
	assert_true(check(LOG_NORMAL, &l));
	assert_string_equal(captured.text, "");
}

static void each_reason_is_reported(void **state)
{
	(void)state;
#define REASON(set, line)                                                            \
	do {                                                                         \
		struct ledger l = {.gpu = {.sums = 9, .equal = 9}};                  \
                                                                                     \
		set;                                                                 \
		assert_false(check(LOG_NORMAL, &l));                                 \
		assert_string_equal(captured.text, "profile: --strict: " line "\n"); \
	} while (0)
	REASON(l.gpu.unmatched = 1, "GPU operations not matched with a launch: 1");
	REASON(l.gpu.bad_times = 2, "GPU operations without usable timestamps: 2");
	REASON(l.gpu.equal = 6, "CUPTI's own sums that differ from the profile's: 3");
	REASON(l.gpu.uncompared = 4, "CUPTI's own sums that were not compared: 4");
	REASON(l.gpu.dropped = 4, "GPU operations dropped: 4");
	REASON(l.gpu.missing = 5, "GPU operations sent that did not arrive: 5");
	REASON(l.launches.unended = 5, "kernel launches without a record of their kernel: 5");
	REASON(l.launches.dropped = 6, "launches dropped: 6");
	REASON(l.launches.confused = 7, "launches with the correlation id of another: 7");
	REASON(l.cpu.dropped = 8, "CPU samples dropped: 8");
	REASON(l.processes.not_followed = 9, "processes not followed: 9");
	REASON(l.pipe.wrong_totals = 9,
	       "processes that reported a different sum of GPU time than arrived: 9");
	REASON(l.pipe.without_goodbye = 10, "traced processes that ended without a goodbye: 10");
	REASON(l.pipe.without_goodbye = l.pipe.killed = 10,
	       "traced processes that were killed: 10");
	REASON(l.pipe.lost_batches = 11, "writes of traced processes lost: 11");
	REASON(l.pipe.malformed = 12, "malformed lines from programs: 12");
	REASON(l.pipe.refused = 13, "lines from programs that are not in the profile: 13");
	REASON(l.pipe.left = 14, "bytes from programs that were not read: 14");
	REASON(l.pipe.foreign_versions = 13, "processes with another protocol version: 13");
	REASON(l.gpu.unknown_kinds = 14, "CUPTI records of an unknown kind: 14");
	REASON(l.pipe.without_cupti = 2, "processes without GPU time: 2");
	REASON(l.calls.processes = 3, "processes without GPU time: 3");
	/* processes that both counters count */
	REASON((l.calls.processes = 3, l.pipe.without_cupti = 2), "processes without GPU time: 3");
	REASON(l.processes.never_started = 4, "processes in which tracing never started: 4");
	REASON(l.bounds.stacks = 15, "stacks past the limit on distinct stacks: 15");
	REASON(l.bounds.refused = 15,
	       "names, mappings or stacks from the program past the limit: 15");
	REASON(l.bounds.programs = 16, "programs past the limit on programs at one time: 16");
	REASON(l.bounds.ranges = 17, "ranges past a limit, without their names: 17");
	REASON(l.bounds.out_of_memory = 15, "events lost because memory was short: 15");
#undef REASON
}

static const char *report(const struct ledger *ledger)
{
	const struct totals totals = {.ledger = ledger};
	struct log log = {.level = LOG_NORMAL};

	capture_begin(&captured);
	strict_report(&log, &totals, 0);
	return capture_end(&captured);
}

/* Incomplete data is no loss, but excludes the word "nothing". */
static void the_report_tells_losses_from_what_is_incomplete(void **state)
{
	struct ledger l = {.gpu = {.sums = 9, .equal = 9}};

	(void)state;
	assert_string_equal(report(&l), "Nothing was lost, and everything was matched.\n");
	l.bounds.truncated = 9;
	assert_string_equal(report(&l),
			    "No time was lost, and everything was matched.\n"
			    "  incomplete\n"
			    "             9   stacks cut, which begin at [truncated]\n");
	l.pipe.malformed = 3;
	assert_string_equal(report(&l),
			    "        lost   or not matched\n"
			    "             3   malformed lines from programs\n"
			    "  incomplete\n"
			    "             9   stacks cut, which begin at [truncated]\n");
}

static void several_reasons_are_all_reported(void **state)
{
	const struct ledger l = {.gpu = {.unmatched = 1, .bad_times = 1}, .pipe = {.malformed = 1}};
	const int levels[] = {LOG_NORMAL,
			      LOG_ERRORS}; /* with -q, too: an exit status needs a reason */

	(void)state;
	for (size_t i = 0; i < sizeof(levels) / sizeof(levels[0]); i++) {
		assert_false(check(levels[i], &l));
		assert_string_equal(
			captured.text,
			"profile: --strict: GPU operations not matched with a launch: 1\n"
			"profile: --strict: GPU operations without usable timestamps: 1\n"
			"profile: --strict: malformed lines from programs: 1\n");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_exact_run_passes),
		cmocka_unit_test(each_reason_is_reported),
		cmocka_unit_test(the_report_tells_losses_from_what_is_incomplete),
		cmocka_unit_test(several_reasons_are_all_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
