/* SPDX-License-Identifier: MIT */
/* Memory that a framework's allocator holds, told from what the program allocates itself. */
#include "report_cell.h"
#include "made_result.h"
#include "profiler/model/memory_use.h"
#include "profiler/tables/caching_allocator.h"

#define TORCH "PyTorch's caching allocator"

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
			    TORCH);
	assert_string_equal(allocator_of(MADE_STACK(&made, "main", "tsl::BFCAllocator::Extend(int)",
						    "cuMemAlloc_v2")),
			    "the BFC allocator of JAX or TensorFlow");
	assert_string_equal(
		allocator_of(MADE_STACK(&made, "main", "onnxruntime::BFCArena::Extend(int)")),
		"ONNX Runtime's arena");
	assert_string_equal(allocator_of(MADE_STACK(
				    &made, "main",
				    "__pyx_f_4cupy_4cuda_6memory_20SingleDeviceMemoryPool_malloc")),
			    "CuPy's memory pool");
	assert_null(allocator_of(MADE_STACK(&made, "main", "my_allocator", "cudaMalloc")));
	assert_null(allocator_of(RESULT_ROOT));
	/* the one that called CUDA, not the one that called that */
	assert_string_equal(
		allocator_of(MADE_STACK(&made, "cupy",
					"c10::cuda::CUDACachingAllocator::raw_alloc(unsigned long)",
					"rmm::mr::pool_memory_resource<x>::expand", "cudaMalloc")),
		"a pool of RMM");
}

static void without_names_the_file_tells(void **state)
{
	uint32_t stack = MADE_STACK(&made, "main", "[libc10_cuda.so]", "cudaMalloc");
	struct frame_info *frame = &made.frames[made.stacks[made.stacks[stack].outer].frame];

	(void)state;
	assert_null(allocator_of(stack));
	frame->module = "/venv/torch/lib/libc10_cuda.so";
	assert_string_equal(allocator_of(stack), TORCH);
	frame->class = CLASS_PYTHON; /* a script of that name is none */
	assert_null(allocator_of(stack));
}

static void what_they_hold_is_summed_up(void **state)
{
	enum { ROWS = CACHING_ALLOCATORS_MAX + 3 };
	uint32_t other = MADE_STACK(&made, "d", "CUDACachingAllocator");
	static struct memory_total totals[CACHING_ALLOCATORS_MAX + 1] = {
		{.kind = MEMORY_OF_DEVICE}};
	struct memory_row rows[ROWS] = {
		{MADE_STACK(&made, "a", "CUDACachingAllocator"), 0, 10, 1, 5, 2, 30, 3, 0, 0, 0},
		{MADE_STACK(&made, "b", "CUDACachingAllocator"), 0, 100, 1, 0, 0, 300, 7, 0, 0, 0},
		{MADE_STACK(&made, "c", "cudaMalloc"), 0, 1000, 1, 0, 0, 1000, 1, 0, 0, 0},
		{other, 1, 7, 1, 7, 1, 7, 1, 0, 0, 0}};
	struct memory_use use = {.totals = totals,
				 .rows = rows,
				 .total_count = CACHING_ALLOCATORS_MAX + 1,
				 .row_count = ROWS};
	struct report_table *f;

	(void)state;
	for (uint32_t i = 1; i <= CACHING_ALLOCATORS_MAX; i++)
		totals[i].device = i;
	for (uint32_t i = 2; i <= CACHING_ALLOCATORS_MAX; i++)
		rows[i + 2] = (struct memory_row){other, i, 1, 1, 1, 1, 1, 1, 0, 0, 0};
	memory_use_show(&use, &made.tables);
	f = caching_allocators_report_table(&made.result);
	assert_non_null(f);
	assert_int_equal(f->count, CACHING_ALLOCATORS_MAX);
	assert_int_equal(f->left_out, 1);
	assert_int_equal(report_cell(f, 0, "held_at_peak_bytes")->number, 110);
	assert_int_equal(report_cell(f, 0, "segments_at_peak")->number, 2);
	assert_int_equal(report_cell(f, 0, "left_bytes")->number, 5);
	assert_int_equal(report_cell(f, 0, "segments_left")->number, 2);
	assert_int_equal(report_cell(f, 0, "allocated_bytes")->number, 330);
	assert_int_equal(report_cell(f, 0, "segments")->number, 10);
	assert_string_equal(report_cell(f, 0, "allocator")->text, TORCH);
	assert_string_equal(report_cell(f, 0, "memory")->text, "device, GPU 0");
	assert_int_equal(report_cell(f, 1, "held_at_peak_bytes")->number, 7);
	report_table_free(f);
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
