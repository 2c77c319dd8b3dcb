/* SPDX-License-Identifier: MIT */
/* Collectives by operation and size, from stacks. */
#include "made_result.h"
#include "report_cell.h"
#include "profiler/findings/report_tables.h"
#include "profiler/tables/collective_calls.h"
#include "profiler/tables/collectives.h"

static struct made_result made;

static int begin(void **state)
{
	(void)state;
	made_begin(&made);
	return 0;
}

static int end(void **state)
{
	(void)state;
	made_end(&made);
	return 0;
}

static uint32_t push(uint32_t stack, const char *name, enum frame_class class)
{
	stack = made_push(&made, stack, name);
	made.frames[made.stacks[stack].frame].class = class;
	return stack;
}

/* Returns a stack of work in these ranges, the outermost first; `inner` may be NULL. */
static uint32_t work(const char *outer, const char *inner, const char *name, enum frame_class class)
{
	uint32_t stack = made_push(&made, RESULT_ROOT, "main");

	stack = push(stack, outer, CLASS_NVTX);
	stack = push(stack, "std::launch", CLASS_NATIVE);
	if (inner)
		stack = push(stack, inner, CLASS_NVTX);
	return push(push(stack, "cudaLaunchKernel", CLASS_API), name, class);
}

static void add(uint32_t stack, uint64_t count, uint64_t ns)
{
	made_add(&made, stack, ROW_GPU, ns);
	made.rows[made.result.row_count - 1].count = count;
}

static void add_kernel(const char *range, uint64_t count, uint64_t ns)
{
	add(work(range, NULL, "[GPU_Kernel]nccl", CLASS_GPU_KERNEL), count, ns);
}

#define AT_64_MIB "nvtx:NCCL:ncclAllReduce 64 MiB sum, 8 ranks, comm "

static const struct collective_call *entry(const struct collective_calls *all,
					   const char *operation)
{
	for (uint32_t i = 0; i < all->count; i++)
		if (strcmp(all->list[i].operation, operation) == 0)
			return &all->list[i];
	fail_msg("no entry %s", operation);
	return NULL;
}

static void sums_over_communicators_and_groups(void **state)
{
	struct collective_calls *all;

	(void)state;
	add_kernel(AT_64_MIB "00000001", 2, 2000000);
	add_kernel(AT_64_MIB "00000002", 1, 3000000);
	add_kernel("nvtx:NCCL:ncclGroupEnd: AllReduce 64 MiB sum, 8 ranks, comm 00000001", 1,
		   3000000);
	add_kernel("nvtx:NCCL:ncclAllReduce 64 MiB sum, 4 ranks, comm 00000003", 1, 1000);
	add_kernel("nvtx:NCCL:ncclAllReduce 64 MiB max, 8 ranks, comm 00000003", 1, 1001);
	add_kernel("nvtx:step", 1, 5000);
	add_kernel("nvtx:NCCL:ncclCommInitRank", 1, 5000);
	made_add(&made, work(AT_64_MIB "00000001", NULL, "[waiting]", CLASS_WAIT), ROW_WAIT, 7);
	all = collective_calls_new(&made.result);
	assert_non_null(all);
	assert_int_equal(all->count, 3);
	assert_int_equal(all->whole_ns, 8002001);
	assert_int_equal(all->list[0].executions, 4);
	assert_int_equal(all->list[0].ns, 8000000);
	assert_float_equal(all->list[0].algorithm, 4 * 67.108864 / 8, 1e-9);
	assert_float_equal(all->list[0].bus, 1.75 * 4 * 67.108864 / 8, 1e-9);
	assert_string_equal(all->list[0].frame, "nvtx:NCCL:ncclAllReduce 64 MiB sum");
	assert_string_equal(all->list[1].reduction, "max");
	collective_calls_free(all);
}

static void the_innermost_range_with_a_size_counts(void **state)
{
	struct collective_calls *all;

	(void)state;
	add(work("nvtx:NCCL:ncclSend 1 MiB to 1", "nvtx:NCCL:ncclGroupEnd", "[GPU_Kernel]nccl",
		 CLASS_GPU_KERNEL),
	    1, 10);
	add(work("nvtx:NCCL:ncclGroupEnd: Send 2 MiB + Recv 1 MiB",
		 "nvtx:NCCL:ncclRecv 1 MiB from 0", "[GPU_Kernel]nccl", CLASS_GPU_KERNEL),
	    1, 20);
	add_kernel("nvtx:NCCL:ncclNew", 1, 30);
	all = collective_calls_new(&made.result);
	assert_int_equal(all->count, 3);
	assert_int_equal(entry(all, "Send")->ns, 10);
	assert_int_equal(entry(all, "Recv")->ns, 20);
	assert_int_equal(entry(all, "New")->executions, 1);
	assert_true(entry(all, "New")->algorithm < 0);
	collective_calls_free(all);
}

static void copies_are_executions_of_one_rank_alone(void **state)
{
	const char *alone = "nvtx:NCCL:ncclAllReduce 1 KiB sum, 1 rank, comm 00000001",
		   *two = "nvtx:NCCL:ncclAllGather 1 KiB, 2 ranks, comm 00000002",
		   *both = "nvtx:NCCL:ncclBroadcast 1 KiB root 0, 2 ranks, comm 00000002";
	struct collective_calls *all;

	(void)state;
	add(work(alone, NULL, "[GPU_Memcpy]", CLASS_GPU_WORK), 3, 3000);
	add(work(two, NULL, "[GPU_Memcpy]", CLASS_GPU_WORK), 3, 3000);
	add(work(both, NULL, "[GPU_Memcpy]", CLASS_GPU_WORK), 3, 3000);
	add_kernel(both, 2, 1024);
	all = collective_calls_new(&made.result);
	assert_int_equal(entry(all, "AllReduce")->executions, 3);
	assert_float_equal(entry(all, "AllReduce")->algorithm, 1.024, 1e-9);
	assert_float_equal(entry(all, "AllReduce")->bus, 0, 1e-9);
	assert_int_equal(entry(all, "AllGather")->executions, 0);
	assert_int_equal(entry(all, "AllGather")->ns, 3000);
	assert_true(entry(all, "AllGather")->algorithm < 0);
	assert_int_equal(entry(all, "Broadcast")->executions, 2);
	assert_int_equal(entry(all, "Broadcast")->ns, 1024);
	assert_float_equal(entry(all, "Broadcast")->bus, 2, 1e-9);
	collective_calls_free(all);
}

static void groups_of_several_kernels_have_no_bandwidth(void **state)
{
	const char
		*group = "nvtx:NCCL:ncclGroupEnd: 2 x AllReduce 1 KiB sum, 2 ranks, comm 00000001",
		*call = "nvtx:NCCL:ncclAllReduce 1 KiB sum, 2 ranks, comm 00000001";
	struct collective_calls *all;

	(void)state;
	for (int i = 0; i < 2; i++) {
		const char *kernel = i ? "[GPU_Kernel]ncclRing" : "[GPU_Kernel]ncclTree";

		add(work(group, NULL, kernel, CLASS_GPU_KERNEL), 1, 1024);
		add(work(call, NULL, kernel, CLASS_GPU_KERNEL), 1, 1024);
	}
	all = collective_calls_new(&made.result);
	assert_true(entry(all, "2 x AllReduce 1 KiB sum")->algorithm < 0);
	assert_int_equal(entry(all, "2 x AllReduce 1 KiB sum")->executions, 0);
	assert_int_equal(entry(all, "2 x AllReduce 1 KiB sum")->ns, 2048);
	assert_int_equal(entry(all, "AllReduce")->executions, 2);
	assert_float_equal(entry(all, "AllReduce")->algorithm, 1, 1e-9);
	collective_calls_free(all);
}

static void waits_for_other_ranks_do_not_slow_links(void **state)
{
	uint32_t kernel = work(AT_64_MIB "00000001", NULL, "[GPU_Kernel]nccl", CLASS_GPU_KERNEL);
	struct collective_calls *all;

	(void)state;
	add(kernel, 1, 1000000);
	add(push(kernel, "[waiting for rank 3]", CLASS_WAIT), 0, 5000000);
	all = collective_calls_new(&made.result);
	assert_int_equal(all->list[0].executions, 1);
	assert_int_equal(all->list[0].ns, 6000000);
	assert_int_equal(all->list[0].waited_ns, 5000000);
	assert_float_equal(all->list[0].algorithm, 67.108864, 1e-9);
	collective_calls_free(all);
}

static void the_table_is_among_those_of_a_run_with_ranges(void **state)
{
	struct report_tables list;
	struct report_table *f;

	(void)state;
	f = collective_calls_report_table(&made.result);
	assert_non_null(f);
	assert_int_equal(f->count, 0);
	report_table_free(f);
	add_kernel("nvtx:NCCL:ncclAllGather 1 KiB, 8 ranks, comm 00000001", 1, 8192);
	made.result.totals.measure.nvtx = true;
	assert_int_equal(report_tables_of(&made.result, &list), 0);
	f = NULL; /* beside the table of classes */
	for (uint32_t i = 0; i < list.count; i++)
		if (strcmp(list.tables[i]->key, "collective_calls") == 0)
			f = list.tables[i];
	assert_non_null(f);
	assert_string_equal(report_cell(f, 0, "operation")->text, "AllGather");
	assert_int_equal(report_cell(f, 0, "bytes")->number, 1024);
	assert_float_equal(report_cell(f, 0, "algorithm_gb_per_s")->real, 1, 1e-9);
	assert_float_equal(report_cell(f, 0, "bus_gb_per_s")->real, 0.875, 1e-9);
	report_tables_release(&list);
	made.result.totals.measure.nvtx = false;
	assert_int_equal(report_tables_of(&made.result, &list), 0);
	for (uint32_t i = 0; i < list.count; i++)
		assert_string_not_equal(list.tables[i]->key, "collective_calls");
	report_tables_release(&list);
}

static void communicators_of_stacks(void **state)
{
	uint32_t known = work("nvtx:NCCL:ncclGroupEnd: Send 1 B, comm 0000000a",
			      "nvtx:NCCL:ncclRecv 1 B, several here", "[GPU_Kernel]nccl",
			      CLASS_GPU_KERNEL),
		 other = work("nvtx:step", NULL, "[GPU_Kernel]nccl", CLASS_GPU_KERNEL);

	(void)state;
	assert_int_equal(collectives_comm(&made.result, known), 0); /* without --nvtx */
	made.result.totals.measure.nvtx = true;
	assert_int_equal(collectives_comm(&made.result, known), 10);
	assert_int_equal(collectives_comm(&made.result, other), 0);
	assert_int_equal(collectives_comm(&made.result, RESULT_ROOT), 0);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(sums_over_communicators_and_groups),
		TEST(the_innermost_range_with_a_size_counts),
		TEST(copies_are_executions_of_one_rank_alone),
		TEST(groups_of_several_kernels_have_no_bandwidth),
		TEST(waits_for_other_ranks_do_not_slow_links),
		TEST(communicators_of_stacks),
		TEST(the_table_is_among_those_of_a_run_with_ranges),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
