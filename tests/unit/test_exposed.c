/* SPDX-License-Identifier: MIT */
/* Time of copies and collectives that no kernel hid. */
#include "made_timeline.h"
#include "profiler/tables/exposed.h"

static struct made_timeline made;

static void work(unsigned int kind, const char *name, uint32_t device, uint64_t from, uint64_t to)
{
	uint32_t stack = MADE_STACK(&made.made, "main", name);

	made.made.frames[made.made.stacks[stack].frame].class =
		kind == GPU_WORK_KERNEL ? CLASS_GPU_KERNEL : CLASS_GPU_WORK;
	made_record(&made, (struct timeline_record){.kind = TIMELINE_GPU_OPERATION,
						    .work = kind,
						    .start_ns = from,
						    .duration_ns = to - from,
						    .stack = {stack},
						    .place = made_place(&made, 1, 12, device, 7)});
}

static void copy(uint32_t device, uint64_t from, uint64_t to)
{
	work(GPU_WORK_MEMCPY_HTOD, "[GPU_Memcpy HtoD]", device, from, to);
}

static void expect(const struct report_table *f, uint32_t row, const char *device, const char *what,
		   const uint64_t numbers[4])
{
	const union report_cell *cells;

	assert_true(row < f->count);
	cells = report_table_row(f, row);
	assert_string_equal(cells[0].text, device);
	assert_string_equal(cells[1].text, what);
	for (int i = 0; i < 4; i++)
		assert_int_equal(cells[2 + i].number, numbers[i]);
}

static void by_device(void **state)
{
	struct device devices[] = {{.process = 1, .id = 0, .uuid = {1}},
				   {.process = 1, .id = 1, .uuid = {2}}};
	struct report_table *f;

	(void)state;
	made_timeline_begin(&made);
	made.made.result.totals.start_ns = 1000;
	made.made.result.totals.elapsed_ns = 1000;
	made.made.result.devices = devices;
	made.made.result.device_count = 2;
	work(GPU_WORK_KERNEL, "[GPU_Kernel]gemm", 0, 1100, 1200);
	work(GPU_WORK_KERNEL, "[GPU_Kernel]gemm", 0, 1150, 1300);
	copy(0, 1050, 1120); /* 50 before the kernels */
	copy(0, 1060, 1110); /* beside it: no more time */
	copy(0, 1290, 1310);
	work(GPU_WORK_KERNEL, "[GPU_Kernel]ncclDevKernel_AllReduce", 0, 1250, 1350);
	work(GPU_WORK_MEMSET, "[GPU_Memset]", 0, 1340, 1400); /* hides nothing, and is no copy */
	/* kernels of another device hide nothing here, collectives nothing of copies */
	copy(1, 1100, 1200);
	work(GPU_WORK_KERNEL, "[GPU_Kernel]ncclDevKernel_AllReduce", 1, 1100, 1200);
	/* a copy across the end of the run counts up to the end */
	copy(1, 1900, 2500);
	assert_int_equal(timeline_finish(made.timeline), 0);
	made.made.result.timeline = made.timeline;
	f = exposed_report_table(&made.made.result);
	assert_non_null(f);
	assert_int_equal(f->count, 4);
	expect(f, 0, "GPU 0", "copies", (uint64_t[]){90, 60, 667, 60});
	expect(f, 1, "GPU 0", "collectives", (uint64_t[]){100, 50, 500, 50});
	expect(f, 2, "GPU 1", "copies", (uint64_t[]){200, 200, 1000, 200});
	expect(f, 3, "GPU 1", "collectives", (uint64_t[]){100, 100, 1000, 100});
	report_table_free(f);
	made_timeline_end(&made);
}

static void without_a_timeline(void **state)
{
	struct report_table *f;

	(void)state;
	made_timeline_begin(&made);
	f = exposed_report_table(&made.made.result);
	assert_non_null(f);
	assert_int_equal(f->count, 0);
	report_table_free(f);
	made_timeline_end(&made);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(by_device),
		cmocka_unit_test(without_a_timeline),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
