/* SPDX-License-Identifier: MIT */
/* The reasons of --strict. */
#include "unit.h"
#include "profiler/report/strict.h"

static struct capture captured;

static bool check(enum log_level level, const struct ledger *ledger)
{
	struct log log = {.level = level};
	bool is_strict;

	capture_begin(&captured);
	is_strict = strict_check(&log, ledger);
	capture_end(&captured);
	return is_strict;
}

static void all_is_well(void **state)
{
	struct ledger l = {.cpu = {.samples = 100, .whole = 90, .in_calls = 3, .after_end = 1},
			   .launches = {.kernels = 9, .all = 10, .with_stack = 5, .by_probe = 5},
			   .gpu = {.kernels = 5, .others = 2, .matched = 7, .sums = 3, .equal = 3},
			   .pipe = {.lines = 5, .processes = 2, .graph_time_bugs = 1},
			   .processes = {.driver_mapped = true}};

	(void)state;
	/* none of these is a loss */
	l.bounds.truncated = 5;
	l.gpu.unseen_nodes = 5; /* their time is in the profile */
	assert_true(check(LOG_NORMAL, &l));
	assert_string_equal(captured.text, "");
}

static void each_reason_is_said(void **state)
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
	REASON(l.gpu.unmatched = 1, "1 GPU operations are not matched with a launch");
	REASON(l.gpu.bad_times = 2, "2 GPU operations have no usable timestamps");
	REASON(l.gpu.equal = 6, "3 of CUPTI's own sums differ from the profile's");
	REASON(l.gpu.uncompared = 4, "4 of CUPTI's own sums were not compared");
	REASON(l.gpu.dropped = 4, "4 GPU operations were dropped");
	REASON(l.gpu.missing = 5, "5 GPU operations were sent but did not arrive");
	REASON(l.launches.unended = 5, "5 kernel launches have no record of their kernel");
	REASON(l.launches.dropped = 6, "6 launches were dropped");
	REASON(l.cpu.dropped = 8, "8 CPU samples were dropped");
	REASON(l.pipe.wrong_totals = 9,
	       "9 processes reported a different sum of GPU time than arrived");
	REASON(l.pipe.without_goodbye = 10, "10 traced processes ended without a goodbye");
	REASON(l.pipe.lost_batches = 11, "11 writes of traced processes were lost");
	REASON(l.pipe.malformed = 12, "12 lines in the pipe were malformed");
	REASON(l.pipe.refused = 13,
	       "13 lines in the pipe came from processes that are not the command's");
	REASON(l.pipe.left = 14, "14 bytes in the pipe were not read");
	REASON(l.pipe.foreign_versions = 13, "13 processes sent another protocol version");
	REASON(l.gpu.unknown_kinds = 14, "14 CUPTI records were of an unknown kind");
	REASON(l.pipe.without_cupti = 2, "2 processes have no GPU time");
	REASON(l.calls.processes = 3, "3 processes have no GPU time");
	/* the same ones, counted by both */
	REASON((l.calls.processes = 3, l.pipe.without_cupti = 2), "3 processes have no GPU time");
	REASON(l.bounds.stacks = 15, "15 stacks exceeded the limit on distinct stacks");
	REASON(l.bounds.told = 15,
	       "15 names, mappings or stacks from the program exceeded the limit");
	REASON(l.bounds.out_of_memory = 15, "15 events were lost because memory was short");
#undef REASON
}

static void several_reasons_are_all_said(void **state)
{
	const struct ledger l = {.gpu = {.unmatched = 1, .bad_times = 1}, .pipe = {.malformed = 1}};

	(void)state;
	assert_false(check(LOG_NORMAL, &l));
	assert_string_equal(captured.text,
			    "profile: --strict: 1 GPU operations are not matched with a launch\n"
			    "profile: --strict: 1 GPU operations have no usable timestamps\n"
			    "profile: --strict: 1 lines in the pipe were malformed\n");
	assert_false(check(LOG_ERRORS, &l));
	assert_string_equal(captured.text, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_is_well),
		cmocka_unit_test(each_reason_is_said),
		cmocka_unit_test(several_reasons_are_all_said),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
