/* SPDX-License-Identifier: MIT */
/* The table of GPU work, and its report on CUPTI's own sums. */
#include "unit.h"
#include "cupti_trace/wire/gpu_work.h"
#include "profiler/report/gpu_table.h"

static struct capture captured;

/* The ledger, and the tallies of the next process. */
struct books {
	struct ledger ledger;
	struct work_tally counted, reported;
	struct devices devices; /* devices of one process */
};

static int begin(void **state)
{
	*state = calloc(1, sizeof(struct books));
	return *state ? 0 : -1;
}

/* Closes the books of a process. */
static void settle(struct books *b, uint32_t pid)
{
	ledger_settle(&b->ledger, pid, &b->counted, &b->reported);
	work_tally_release(&b->counted);
	work_tally_release(&b->reported);
}

static int end(void **state)
{
	struct books *b = *state;

	settle(b, 0);
	ledger_release(&b->ledger);
	devices_release(&b->devices);
	free(b);
	return 0;
}

/* Adds a sum of a device, a stream (context 1) and a kind. */
static void add_sum(struct work_tally *t, uint32_t device, uint32_t stream, uint32_t work,
		    uint64_t count, uint64_t ns, uint64_t bytes)
{
	const struct work_sum sum = {{device, 1, stream, work}, count, ns, bytes};
	struct work_sum *total = work_tally_get(t, &sum.key);

	assert_non_null(total);
	work_sum_add(total, &sum);
}

/* Adds work to the profile's row, and to the process's tally. */
static void put_row(struct books *b, uint32_t stream, const struct gpu_row *row)
{
	struct gpu_row keyed = *row;

	keyed.device = devices_key(&b->devices, 1, row->device);
	ledger_add_work(&b->ledger, &keyed);
	add_sum(&b->counted, row->device, stream, row->work, row->count, row->ns, row->bytes);
}

/* Adds work that CUPTI reports as it is. */
static void put_same(struct books *b, uint32_t stream, const struct gpu_row *row)
{
	put_row(b, stream, row);
	add_sum(&b->reported, row->device, stream, row->work, row->count, row->ns, row->bytes);
}

static void put_both(struct books *b, uint32_t device, uint32_t stream, uint32_t work,
		     uint64_t count, uint64_t ns, uint64_t bytes)
{
	put_same(b, stream,
		 &(struct gpu_row){
			 .device = device, .work = work, .count = count, .ns = ns, .bytes = bytes});
}

static void put_here(struct books *b, uint32_t device, uint32_t stream, uint32_t work,
		     uint64_t count, uint64_t ns, uint64_t bytes)
{
	put_row(b, stream,
		&(struct gpu_row){
			.device = device, .work = work, .count = count, .ns = ns, .bytes = bytes});
}

static const char *report(const struct books *b)
{
	struct log log = {.level = LOG_NORMAL};

	capture_begin(&captured);
	gpu_table_report(&log, &b->ledger, &b->devices);
	return capture_end(&captured);
}

static void without_work_there_is_no_table(void **state)
{
	assert_string_equal(report(*state), "");
}

static void a_table_by_device_and_kind(void **state)
{
	struct books *b = *state;

	put_both(b, 1, 7, GPU_WORK_MEMSET, 1, 1, 0);
	settle(b, 20); /* another process, stream: one row */
	put_both(b, 1, 7, GPU_WORK_MEMSET, 2, 1234567, 1536);
	put_both(b, 1, 8, GPU_WORK_MEMSET, 1, 0, 0);
	put_same(b, 7,
		 &(struct gpu_row){.work = GPU_WORK_KERNEL,
				   .count = 123456789,
				   .ns = 5000000000,
				   .unmatched = 3,
				   .unmatched_ns = 1500000,
				   .bad_times = 4});
	put_same(b, 7,
		 &(struct gpu_row){.work = GPU_WORK_ALLOC,
				   .count = 2,
				   .bytes = 1023,
				   .unmatched = 2}); /* work without time is not reported */
	put_both(b, 0, 0, GPU_WORK_UVM_GPU_FAULTS, 2, 3000, 17);
	put_both(b, 0, 0, GPU_WORK_UVM_CPU_FAULT, 9, 0, 0);
	put_both(b, 0, 0, GPU_WORK_UVM_HTOD, 1, 10, UINT64_C(1) << 62);
	settle(b, 10);
	assert_string_equal(
		report(b),
		"GPU work:\n"
		"  GPU 0  kernels         123456789     5000.000 ms                3 unmatched "
		"(1.500 ms)  4 without times\n"
		"  GPU 0  UVM HtoD                1        0.000 ms       4.0 EiB\n"
		"  GPU 0  UVM GPU faults          2        0.003 ms     17 faults  "
		"2 stalls, already in the time of kernels\n"
		"  GPU 0  UVM CPU faults          9\n"
		"  GPU 0  allocations             2                        1023 B\n"
		"  GPU 1  memset                  4        1.235 ms       1.5 KiB\n"
		"  CUPTI's own sums: 8 of 8 match\n");
}

/* Unified memory's work has no launch that it could be matched with. */
static void work_without_a_launch_is_not_unmatched(void **state)
{
	struct books *b = *state;

	put_row(b, 7,
		&(struct gpu_row){.work = GPU_WORK_UVM_DTOH,
				  .count = 2,
				  .ns = 1000000,
				  .bytes = 4096,
				  .unmatched = 2,
				  .unmatched_ns = 1000000});
	settle(b, 10);
	assert_string_equal(report(b),
			    "GPU work:\n"
			    "  GPU 0  UVM DtoH                2        1.000 ms       4.0 KiB\n");
}

static void times_outside_are_shown_if_any(void **state)
{
	struct books *b = *state;

	put_row(b, 8,
		&(struct gpu_row){.work = GPU_WORK_KERNEL,
				  .count = 1,
				  .ns = 1000000,
				  .before = 1,
				  .before_ns = 1000000,
				  .after = 1,
				  .after_ns = 1000000});
	settle(b, 11);
	/* again for that row */
	put_same(b, 7,
		 &(struct gpu_row){.work = GPU_WORK_KERNEL,
				   .count = 9,
				   .ns = 9000000,
				   .before = 2,
				   .before_ns = 1500000});
	put_same(b, 7,
		 &(struct gpu_row){.work = GPU_WORK_ALLOC, .count = 2, .bytes = 10, .after = 1});
	put_both(b, 1, 7, GPU_WORK_KERNEL, 1, 1, 0);
	settle(b, 10);
	assert_string_equal(report(b),
			    "GPU work:\n"
			    "  GPU 0  kernels                10       10.000 ms                "
			    "3 before tracing (2.500 ms)  1 after tracing (1.000 ms)\n"
			    "  GPU 0  allocations             2                          10 B  "
			    "1 after tracing\n"
			    "  GPU 1  kernels                 1        0.000 ms\n"
			    "  CUPTI's own sums: 3 of 3 match, of those reported\n");
}

static void copies_between_devices_through_the_host(void **state)
{
	struct books *b = *state;

	put_same(b, 7,
		 &(struct gpu_row){.work = GPU_WORK_MEMCPY_DTOH,
				   .count = 5,
				   .ns = 1000000,
				   .bytes = 5000,
				   .staged = 2});
	settle(b, 10);
	put_same(b, 8,
		 &(struct gpu_row){.work = GPU_WORK_MEMCPY_DTOH,
				   .count = 1,
				   .ns = 1000000,
				   .bytes = 120,
				   .staged = 1});
	settle(b, 11);
	assert_string_equal(report(b),
			    "GPU work:\n"
			    "  GPU 0  memcpy DtoH             6        2.000 ms       5.0 KiB  "
			    "3 between GPUs, through host memory\n"
			    "  CUPTI's own sums: 2 of 2 match\n");
}

static void the_first_difference_is_shown(void **state)
{
	struct books *b = *state;

	put_both(b, 0, 7, GPU_WORK_KERNEL, 5, 5000, 0);
	add_sum(&b->reported, 0, 8, GPU_WORK_KERNEL, 2, 20, 0);
	settle(b, 10);
	assert_non_null(
		strstr(report(b),
		       "  CUPTI's own sums: 1 of 2 match; the first that differs: process 10 GPU 0 "
		       "context 1 stream 8 kernels: CUPTI 2 (20 ns, 0 bytes), profile 0 (0 ns, 0 "
		       "bytes)\n"));
	assert_null(strstr(captured.text, "2 of 2 match"));
}

static void work_that_was_not_reported_is_a_difference(void **state)
{
	struct books *b = *state;

	put_both(b, 0, 7, GPU_WORK_KERNEL, 5, 5000, 0);
	put_here(b, 0, 8, GPU_WORK_MEMSET, 2, 20, 64);
	settle(b, 10);
	assert_non_null(
		strstr(report(b),
		       "  CUPTI's own sums: 1 of 2 match; the first that differs: process 10 GPU 0 "
		       "context 1 stream 8 memset: CUPTI 0 (0 ns, 0 bytes), profile 2 (20 ns, 64 "
		       "bytes)\n"));
}

/* All of it was lost on the way: the table is empty, but not silent. */
static void sums_of_work_that_never_came_are_a_difference(void **state)
{
	struct books *b = *state;

	add_sum(&b->reported, 3, 7, GPU_WORK_KERNEL, 5, 5000, 0);
	settle(b, 10);
	assert_string_equal(
		report(b),
		"GPU work:\n"
		"  CUPTI's own sums: 0 of 1 match; the first that differs: process 10 GPU 3 "
		"context 1 stream 7 kernels: CUPTI 5 (5000 ns, 0 bytes), profile 0 (0 ns, 0 "
		"bytes)\n");
}

static void a_killed_process_reported_nothing(void **state)
{
	struct books *b = *state;

	put_here(b, 0, 7, GPU_WORK_KERNEL, 5, 5000, 0);
	put_here(b, 0, 8, GPU_WORK_KERNEL, 5, 5000, 0);
	settle(b, 10);
	assert_string_equal(report(b), "GPU work:\n"
				       "  GPU 0  kernels                10        0.010 ms\n");
	put_both(b, 0, 7, GPU_WORK_KERNEL, 1, 1, 0);
	settle(b, 20);
	assert_non_null(strstr(report(b), "  CUPTI's own sums: 1 of 1 match, of those reported\n"));
}

static void uncompared_sums_are_reported(void **state)
{
	const struct work_key rest = {WORK_TALLY_REST, WORK_TALLY_REST, WORK_TALLY_REST,
				      GPU_WORK_KERNEL};
	struct books *b = *state;

	put_both(b, 0, 7, GPU_WORK_KERNEL, 5, 5000, 0);
	put_here(b, 0, 8, GPU_WORK_KERNEL, 1, 10, 0);
	put_here(b, 0, 9, GPU_WORK_KERNEL, 1, 10, 0);
	work_tally_get(&b->reported, &rest)->count = 2;
	settle(b, 10);
	assert_string_equal(report(b),
			    "GPU work:\n"
			    "  GPU 0  kernels                 7        0.005 ms\n"
			    "  CUPTI's own sums: 1 of 1 match\n"
			    "  sums not compared, as there are too many streams to keep all "
			    "apart: 3\n");
}

/* All at once, with the largest numbers: nothing is written past a line's end. */
static void the_longest_row(void **state)
{
	struct books *b = *state;
	const uint64_t most = UINT64_MAX;

	put_row(b, 7,
		&(struct gpu_row){UINT32_MAX, GPU_WORK_KERNEL, most, most, most, most, most, most,
				  most, most, most, most, most});
	settle(b, 10);
	assert_non_null(
		strstr(report(b), "18446744073709551615 unmatched (18446744073709.551 ms)"));
	assert_non_null(strstr(captured.text,
			       "18446744073709551615 after tracing (18446744073709.551 ms)\n"));
}

static void more_devices_than_the_table_is_made_for_do_no_harm(void **state)
{
	struct books *b = *state;
	const char *text;
	size_t lines = 0;

	for (uint32_t device = 0; device < 2000; device++)
		put_both(b, device, 7, GPU_WORK_KERNEL, 1, 1, 0);
	settle(b, 10);
	text = report(b);
	for (; *text; text++)
		lines += *text == '\n';
	assert_in_range(lines, GPU_DEVICE_MAX_ID, GPU_DEVICE_MAX_ID + 10);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(without_work_there_is_no_table),
		TEST(a_table_by_device_and_kind),
		TEST(work_without_a_launch_is_not_unmatched),
		TEST(times_outside_are_shown_if_any),
		TEST(copies_between_devices_through_the_host),
		TEST(the_first_difference_is_shown),
		TEST(work_that_was_not_reported_is_a_difference),
		TEST(sums_of_work_that_never_came_are_a_difference),
		TEST(a_killed_process_reported_nothing),
		TEST(uncompared_sums_are_reported),
		TEST(the_longest_row),
		TEST(more_devices_than_the_table_is_made_for_do_no_harm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
