/* SPDX-License-Identifier: MIT */
/* Memory that a framework's allocator holds, told from what the program allocates itself. */
#include "made_result.h"
#define HOLDERS_MAX 3u
#include "profiler/tables/caching_allocator.c"

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

static const char *allocator_of(uint32_t stack)
{
	const struct caching_allocator *a = caching_allocator_of(&made.result, stack);

	return a ? a->name : NULL;
}

static void they_are_known_by_their_functions(void **state)
{
	(void)state;
	assert_string_equal(allocator_of(MADE_STACK(&made, "main", "at::empty",
						    "c10::cuda::CUDACachingAllocator::Native::"
						    "DeviceCachingAllocator::malloc(int)",
						    "cudaMalloc")),
			    torch.name);
	assert_string_equal(allocator_of(MADE_STACK(&made, "main", "tsl::BFCAllocator::Extend(int)",
						    "cuMemAlloc_v2")),
			    bfc.name);
	assert_string_equal(
		allocator_of(MADE_STACK(&made, "main", "onnxruntime::BFCArena::Extend(int)")),
		onnx.name);
	assert_string_equal(allocator_of(MADE_STACK(
				    &made, "main",
				    "__pyx_f_4cupy_4cuda_6memory_20SingleDeviceMemoryPool_malloc")),
			    cupy.name);
	assert_null(allocator_of(MADE_STACK(&made, "main", "my_allocator", "cudaMalloc")));
	assert_null(allocator_of(RESULT_ROOT));
	/* the one that called CUDA, not the one that called that */
	assert_string_equal(
		allocator_of(MADE_STACK(&made, "cupy",
					"c10::cuda::CUDACachingAllocator::raw_alloc(unsigned long)",
					"rmm::mr::pool_memory_resource<x>::expand", "cudaMalloc")),
		rmm.name);
}

static void without_names_the_file_tells(void **state)
{
	uint32_t stack = MADE_STACK(&made, "main", "[libc10_cuda.so]", "cudaMalloc");
	struct frame_info *frame = &made.frames[made.stacks[made.stacks[stack].outer].frame];

	(void)state;
	assert_null(allocator_of(stack));
	frame->module = "/venv/torch/lib/libc10_cuda.so";
	assert_string_equal(allocator_of(stack), torch.name);
	frame->class = CLASS_PYTHON; /* a script of that name is none */
	assert_null(allocator_of(stack));
}

static void what_they_hold_is_summed_up(void **state)
{
	struct memory_total totals[4] = {
		{.kind = MEMORY_OF_DEVICE}, {.device = 1}, {.device = 2}, {.device = 3}};
	struct memory_row rows[] = {
		{MADE_STACK(&made, "a", "CUDACachingAllocator"), 0, 10, 1, 5, 2, 30, 3},
		{MADE_STACK(&made, "b", "CUDACachingAllocator"), 0, 100, 1, 0, 0, 300, 7},
		{MADE_STACK(&made, "c", "cudaMalloc"), 0, 1000, 1, 0, 0, 1000, 1},
		{MADE_STACK(&made, "d", "CUDACachingAllocator"), 1, 7, 1, 7, 1, 7, 1},
		{MADE_STACK(&made, "d", "CUDACachingAllocator"), 2, 1, 1, 1, 1, 1, 1},
		{MADE_STACK(&made, "d", "CUDACachingAllocator"), 3, 1, 1, 1, 1, 1, 1}};
	struct memory_use use = {.totals = totals, .rows = rows, .total_count = 4, .row_count = 6};
	const union figure *row;
	struct figures *f;

	(void)state;
	made.result.memory_use = &use;
	f = caching_allocators_figures(&made.result);
	assert_non_null(f);
	assert_int_equal(f->count, 3);
	assert_int_equal(f->left_out, 1);
	row = figures_row(f, 0);
	assert_int_equal(row[PEAK].number, 110);
	assert_int_equal(row[AT_PEAK].number, 2);
	assert_int_equal(row[LEFT].number, 5);
	assert_int_equal(row[LEFT_PIECES].number, 2);
	assert_int_equal(row[ALLOCATED].number, 330);
	assert_int_equal(row[ALLOCATIONS].number, 10);
	assert_string_equal(row[NAME].text, torch.name);
	assert_string_equal(row[WHERE].text, "device, GPU 0");
	assert_int_equal(figures_row(f, 1)[PEAK].number, 7);
	figures_free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(they_are_known_by_their_functions, begin, end),
		cmocka_unit_test_setup_teardown(without_names_the_file_tells, begin, end),
		cmocka_unit_test_setup_teardown(what_they_hold_is_summed_up, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
