/* SPDX-License-Identifier: MIT */
/* What adds up and what does not, the table of it, and the reasons of --strict. */
#include "unit.h"
#include "cupti_trace/gpu_work.h"
#include "profiler/report/accounts.h"

struct books {
	struct work_tally counted, told;
};

static struct capture captured;
static struct log normal_log = {.level = LOG_NORMAL};

static int begin(void **state)
{
	*state = calloc(1, sizeof(struct books));
	return *state ? 0 : -1;
}

static int end(void **state)
{
	struct books *b = *state;

	work_tally_release(&b->counted);
	work_tally_release(&b->told);
	free(b);
	return 0;
}

/* One row: of a process, a device, a stream (context 1) and a kind. */
static struct work_sum *put(struct work_tally *t, uint32_t process, uint32_t device,
			    uint32_t stream, uint32_t work, uint64_t count, uint64_t ns,
			    uint64_t bytes)
{
	struct work_key key = {process, device, 1, stream, work};
	struct work_sum *sum = work_tally_get(t, &key);

	assert_non_null(sum);
	sum->count += count;
	sum->ns += ns;
	sum->bytes += bytes;
	return sum;
}

static void put_both(struct books *b, uint32_t process, uint32_t device, uint32_t stream,
		     uint32_t work, uint64_t count, uint64_t ns, uint64_t bytes)
{
	put(&b->counted, process, device, stream, work, count, ns, bytes);
	put(&b->told, process, device, stream, work, count, ns, bytes);
}

static const char *report(const struct books *b)
{
	struct accounts a = accounts_of(&b->counted, &b->told);

	capture_begin(&captured);
	accounts_report(&normal_log, &a, &b->counted);
	return capture_end(&captured);
}

/* ---- comparing ---- */

static void nothing_is_the_same_as_nothing(void **state)
{
	struct books *b = *state;
	struct accounts a = accounts_of(&b->counted, &b->told);

	assert_int_equal(a.sums, 0);
	assert_int_equal(a.equal, 0);
	assert_string_equal(report(b), "");
}

static void equal_sums(void **state)
{
	struct books *b = *state;
	struct accounts a;

	put_both(b, 10, 0, 7, GPU_WORK_KERNEL, 5, 5000, 0);
	put_both(b, 10, 0, 8, GPU_WORK_KERNEL, 6, 6000, 0);
	put_both(b, 10, 1, 7, GPU_WORK_MEMCPY_HTOD, 1, 70, 4096);
	put_both(b, 20, 0, 7, GPU_WORK_KERNEL, 1, 1, 0);
	put_both(b, 20, 0, 7, GPU_WORK_ALLOC, 1, 0, 64);
	a = accounts_of(&b->counted, &b->told);
	assert_int_equal(a.sums, 5);
	assert_int_equal(a.equal, 5);
	assert_int_equal(a.untold, 0);
	assert_int_equal(a.matched, 13);
	assert_int_equal(a.unmatched, 0);
	assert_int_equal(a.bad_times, 0);
}

static void a_difference_in_any_number_is_seen(void **state)
{
	static const uint64_t told[][3] = {{4, 100, 64}, {3, 101, 64}, {3, 100, 65}};

	(void)state;
	for (int i = 0; i < 3; i++) {
		struct books b = {{0}, {0}};
		struct accounts a;

		put_both(&b, 10, 0, 7, GPU_WORK_KERNEL, 5, 5000, 0);
		put(&b.counted, 10, 2, 9, GPU_WORK_MEMSET, 3, 100, 64);
		put(&b.told, 10, 2, 9, GPU_WORK_MEMSET, told[i][0], told[i][1], told[i][2]);
		a = accounts_of(&b.counted, &b.told);
		assert_int_equal(a.sums, 2);
		assert_int_equal(a.equal, 1);
		assert_int_equal(a.first_difference.key.device, 2);
		assert_int_equal(a.first_difference.key.stream, 9);
		assert_int_equal(a.first_difference.count, told[i][0]);
		assert_int_equal(a.first_difference.ns, told[i][1]);
		assert_int_equal(a.first_difference.bytes, told[i][2]);
		work_tally_release(&b.counted);
		work_tally_release(&b.told);
	}
}

static void what_was_told_but_did_not_arrive(void **state)
{
	struct books *b = *state;
	struct accounts a;

	put_both(b, 10, 0, 7, GPU_WORK_KERNEL, 5, 5000, 0);
	put(&b->told, 10, 0, 8, GPU_WORK_KERNEL, 2, 20, 0);
	a = accounts_of(&b->counted, &b->told);
	assert_int_equal(a.sums, 2);
	assert_int_equal(a.equal, 1);
	assert_int_equal(a.first_difference.count, 2);
	assert_non_null(strstr(
		report(b),
		"  not the same as CUPTI's own sums in 1 of 2; the first: process 10 GPU 0 "
		"context 1 stream 8 kernels: CUPTI 2 (20 ns, 0 bytes), here 0 (0 ns, 0 bytes)\n"));
}

static void what_arrived_but_was_not_told(void **state)
{
	struct books *b = *state;
	struct accounts a;

	put_both(b, 10, 0, 7, GPU_WORK_KERNEL, 5, 5000, 0);
	put(&b->counted, 10, 0, 8, GPU_WORK_MEMSET, 2, 20, 64);
	a = accounts_of(&b->counted, &b->told);
	assert_int_equal(a.sums, 2);
	assert_int_equal(a.equal, 1);
	assert_int_equal(a.untold, 0);
	assert_non_null(strstr(
		report(b),
		"  not the same as CUPTI's own sums in 1 of 2; the first: process 10 GPU 0 "
		"context 1 stream 8 memset: CUPTI 0 (0 ns, 0 bytes), here 2 (20 ns, 64 bytes)\n"));
}

static void a_killed_process_told_nothing(void **state)
{
	struct books *b = *state;
	struct accounts a;

	put(&b->counted, 10, 0, 7, GPU_WORK_KERNEL, 5, 5000, 0);
	put(&b->counted, 10, 0, 8, GPU_WORK_KERNEL, 5, 5000, 0);
	a = accounts_of(&b->counted, &b->told);
	assert_int_equal(a.sums, 0);
	assert_int_equal(a.untold, 2);
	assert_string_equal(report(b), "GPU work:\n"
				       "  GPU 0  kernels                10        0.010 ms\n");
	put_both(b, 20, 0, 7, GPU_WORK_KERNEL, 1, 1, 0);
	a = accounts_of(&b->counted, &b->told);
	assert_int_equal(a.sums, 1);
	assert_int_equal(a.equal, 1);
	assert_int_equal(a.untold, 2);
	assert_non_null(strstr(
		report(b), "  the same as CUPTI's own sums, in all 1 of them that were told\n"));
}

static void only_launched_spans_can_be_unmatched(void **state)
{
	struct books *b = *state;
	struct accounts a;

	for (uint32_t work = 0; work < GPU_WORKS; work++) {
		struct work_sum *sum = put(&b->counted, 10, 0, 7, work, 3, 30, 0);

		sum->unmatched = 2;
		sum->unmatched_ns = 20;
		sum->bad_times = 1;
	}
	a = accounts_of(&b->counted, &b->told);
	/* of 22 kinds, 6 are unified memory's and 2 are memory calls */
	assert_int_equal(a.unmatched, 2 * (GPU_WORKS - 8));
	assert_int_equal(a.unmatched_ns, 20 * (GPU_WORKS - 8));
	assert_int_equal(a.matched, GPU_WORKS - 8);
	assert_int_equal(a.bad_times, GPU_WORKS);
}

/* ---- the table ---- */

static void a_table_by_device_and_kind(void **state)
{
	struct books *b = *state;
	struct work_sum *sum;

	put_both(b, 10, 1, 7, GPU_WORK_MEMSET, 2, 1234567, 1536);
	put_both(b, 20, 1, 7, GPU_WORK_MEMSET, 1, 1, 0); /* another process, stream: one row */
	put_both(b, 10, 1, 8, GPU_WORK_MEMSET, 1, 0, 0);
	sum = put(&b->counted, 10, 0, 7, GPU_WORK_KERNEL, 123456789, 5000000000, 0);
	sum->unmatched = 3;
	sum->unmatched_ns = 1500000;
	sum->bad_times = 4;
	put(&b->told, 10, 0, 7, GPU_WORK_KERNEL, 123456789, 5000000000, 0);
	sum = put(&b->counted, 10, 0, 7, GPU_WORK_ALLOC, 2, 0, 1023);
	sum->unmatched = 2; /* not said of what takes no time */
	put(&b->told, 10, 0, 7, GPU_WORK_ALLOC, 2, 0, 1023);
	put_both(b, 10, 0, 0, GPU_WORK_UVM_GPU_FAULTS, 2, 3000, 17);
	put_both(b, 10, 0, 0, GPU_WORK_UVM_CPU_FAULT, 9, 0, 0);
	put_both(b, 10, 0, 0, GPU_WORK_UVM_HTOD, 1, 10, UINT64_C(1) << 62);
	assert_string_equal(
		report(b),
		"GPU work:\n"
		"  GPU 0  kernels         123456789     5000.000 ms                3 unmatched "
		"(1.500 ms)  4 without times\n"
		"  GPU 0  UVM HtoD                1        0.000 ms       4.0 EiB\n"
		"  GPU 0  UVM GPU faults          2        0.003 ms     17 faults\n"
		"  GPU 0  UVM CPU faults          9\n"
		"  GPU 0  allocations             2                        1023 B\n"
		"  GPU 1  memset                  4        1.235 ms       1.5 KiB\n"
		"  the same as CUPTI's own sums, in all 8 of them\n");
}

static void times_outside_are_said_where_there_are_any(void **state)
{
	struct books *b = *state;
	struct work_sum *sum;

	sum = put(&b->counted, 10, 0, 7, GPU_WORK_KERNEL, 9, 9000000, 0);
	sum->before = 2;
	sum->before_ns = 1500000;
	put(&b->told, 10, 0, 7, GPU_WORK_KERNEL, 9, 9000000, 0);
	sum = put(&b->counted, 11, 0, 8, GPU_WORK_KERNEL, 1, 1000000, 0); /* the same row */
	sum->before = sum->after = 1;
	sum->before_ns = sum->after_ns = 1000000;
	sum = put(&b->counted, 10, 0, 7, GPU_WORK_ALLOC, 2, 0, 10);
	sum->after = 1;
	put(&b->told, 10, 0, 7, GPU_WORK_ALLOC, 2, 0, 10);
	put_both(b, 10, 1, 7, GPU_WORK_KERNEL, 1, 1, 0);
	assert_string_equal(report(b),
			    "GPU work:\n"
			    "  GPU 0  kernels                10       10.000 ms                "
			    "3 before tracing (2.500 ms)  1 after tracing (1.000 ms)\n"
			    "  GPU 0  allocations             2                          10 B  "
			    "1 after tracing\n"
			    "  GPU 1  kernels                 1        0.000 ms\n"
			    "  the same as CUPTI's own sums, in all 3 of them that were told\n");
}

static void copies_between_devices_through_the_host(void **state)
{
	struct books *b = *state;

	put_both(b, 10, 0, 7, GPU_WORK_MEMCPY_DTOH, 5, 1000000, 5000);
	put(&b->counted, 10, 0, 7, GPU_WORK_MEMCPY_DTOH, 0, 0, 0)->staged = 2;
	put_both(b, 11, 0, 8, GPU_WORK_MEMCPY_DTOH, 1, 1000000, 120);
	put(&b->counted, 11, 0, 8, GPU_WORK_MEMCPY_DTOH, 0, 0, 0)->staged = 1;
	assert_string_equal(report(b),
			    "GPU work:\n"
			    "  GPU 0  memcpy DtoH             6        2.000 ms       5.0 KiB  "
			    "3 between GPUs, through host memory\n"
			    "  the same as CUPTI's own sums, in all 2 of them\n");
}

/* All at once, with the largest numbers: whatever is shown, nothing is written past a line's end.
 */
static void the_longest_row(void **state)
{
	struct books *b = *state;
	struct work_sum *sum = put(&b->counted, 10, UINT32_MAX, 7, GPU_WORK_KERNEL, UINT64_MAX,
				   UINT64_MAX, UINT64_MAX);

	sum->unmatched = sum->unmatched_ns = sum->bad_times = sum->staged = UINT64_MAX;
	sum->before = sum->before_ns = sum->after = sum->after_ns = UINT64_MAX;
	assert_non_null(
		strstr(report(b), "18446744073709551615 unmatched (18446744073709.551 ms)"));
	assert_non_null(strstr(captured.text,
			       "18446744073709551615 after tracing (18446744073709.551 ms)\n"));
}

static void more_devices_than_the_table_holds_do_no_harm(void **state)
{
	struct books *b = *state;
	const char *text;
	size_t lines = 0;

	for (uint32_t device = 0; device < 2000; device++)
		put_both(b, 10, device, 7, GPU_WORK_KERNEL, 1, 1, 0);
	text = report(b);
	for (; *text; text++)
		lines += *text == '\n';
	assert_true(lines > 500); /* and what of it fits the test's memory */
}

/* ---- --strict ---- */

static bool exact(const struct accounts *a, const struct session_stats *s)
{
	bool result;

	capture_begin(&captured);
	result = accounts_are_exact(&normal_log, a, s);
	capture_end(&captured);
	return result;
}

static void all_is_well(void **state)
{
	struct accounts a = {.matched = 5, .sums = 3, .equal = 3};
	struct session_stats s = {.elapsed_ns = 1};

	(void)state;
	/* none of these is a loss */
	a.untold = 0;
	s.collect.truncated = 5;
	s.collect.unseen_nodes = 5; /* their time is in the profile */
	s.join.probes_unused = 5;
	s.gpu.lines = 5;
	assert_true(exact(&a, &s));
	assert_string_equal(captured.text, "");
}

static void each_reason_is_said(void **state)
{
	(void)state;
#define REASON(set, line)                                                            \
	do {                                                                         \
		struct accounts a = {.sums = 9, .equal = 9};                         \
		struct session_stats s = {.elapsed_ns = 1};                          \
                                                                                     \
		set;                                                                 \
		assert_false(exact(&a, &s));                                         \
		assert_string_equal(captured.text, "profile: --strict: " line "\n"); \
	} while (0)
	REASON(a.unmatched = 1, "1 GPU operations are not matched with a launch");
	REASON(a.bad_times = 2, "2 GPU operations have no usable timestamps");
	REASON(a.equal = 6, "3 of CUPTI's own sums are not the same here");
	REASON(s.gpu.dropped_kernels = 4, "4 GPU operations were dropped");
	REASON(s.gpu.missing_kernels = 5, "5 GPU operations were sent but did not arrive");
	REASON(s.gpu.unended_launches = 5, "5 kernel launches have no record of their kernel");
	REASON(s.gpu.dropped_launches = 6, "6 launches were dropped");
	REASON(s.bpf.dropped_launches = 7, "7 launches were dropped");
	REASON(s.bpf.dropped_samples = 8, "8 CPU samples were dropped");
	REASON(s.gpu.wrong_totals = 9, "9 processes told another sum of GPU time than arrived");
	REASON(s.gpu.without_goodbye = 10, "10 traced processes ended without a goodbye");
	REASON(s.gpu.lost_batches = 11, "11 writes of traced processes were lost");
	REASON(s.gpu.malformed = 12, "12 lines in the pipe were not ours");
	REASON(s.gpu.foreign_versions = 13, "13 processes spoke another protocol version");
	REASON(s.gpu.unknown_records = 14, "14 CUPTI records were of an unknown kind");
	REASON(s.collect.out_of_memory = 15, "15 events were lost for want of memory");
#undef REASON
}

static void several_reasons_are_all_said(void **state)
{
	struct accounts a = {.unmatched = 1, .bad_times = 1};
	struct session_stats s = {.gpu = {.malformed = 1}};
	struct log quiet = {.level = LOG_ERRORS};

	(void)state;
	assert_false(exact(&a, &s));
	assert_string_equal(captured.text,
			    "profile: --strict: 1 GPU operations are not matched with a launch\n"
			    "profile: --strict: 1 GPU operations have no usable timestamps\n"
			    "profile: --strict: 1 lines in the pipe were not ours\n");
	capture_begin(&captured);
	assert_false(accounts_are_exact(&quiet, &a, &s));
	assert_string_equal(capture_end(&captured), "");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(nothing_is_the_same_as_nothing),
		TEST(equal_sums),
		cmocka_unit_test(a_difference_in_any_number_is_seen),
		TEST(what_was_told_but_did_not_arrive),
		TEST(what_arrived_but_was_not_told),
		TEST(a_killed_process_told_nothing),
		TEST(only_launched_spans_can_be_unmatched),
		TEST(a_table_by_device_and_kind),
		TEST(times_outside_are_said_where_there_are_any),
		TEST(copies_between_devices_through_the_host),
		TEST(the_longest_row),
		TEST(more_devices_than_the_table_holds_do_no_harm),
		cmocka_unit_test(all_is_well),
		cmocka_unit_test(each_reason_is_said),
		cmocka_unit_test(several_reasons_are_all_said),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
