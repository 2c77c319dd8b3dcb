/* SPDX-License-Identifier: MIT */
/* Launch shapes from a timeline, in bounded memory, and the table of them. */
#include "made_timeline.h"
#include "report_cell.h"
#include "profiler/findings/report_tables.h"
#include "profiler/tables/launch_shapes.h"

static void add_waited(struct made_timeline *m, uint32_t stack, uint32_t place, uint32_t blocks,
		       uint64_t ns, bool is_waited)
{
	const struct timeline_shape shape = {
		.grid = {blocks, 1, 1}, .block = {256, 1, 1}, .registers = 32};

	made_record(m, (struct timeline_record){
			       .kind = TIMELINE_GPU_OPERATION,
			       .work = GPU_WORK_KERNEL,
			       .start_ns = 1,
			       .duration_ns = ns,
			       .stack = {stack},
			       .place = {place},
			       .shape = blocks ? timeline_number_shape(m->timeline, &shape) : 0,
			       .is_waited = is_waited});
}

static void add_kernel(struct made_timeline *m, uint32_t stack, uint32_t place, uint32_t blocks,
		       uint64_t ns)
{
	add_waited(m, stack, place, blocks, ns, false);
}

static uint32_t add_stack(struct made_timeline *m, const char *site)
{
	uint32_t stack = MADE_STACK(&m->made, "main", site, "cudaLaunchKernel"), kernel;

	m->made.frames[m->made.stacks[stack].frame].class = CLASS_API;
	kernel = made_push(&m->made, stack, "gemm");
	m->made.frames[m->made.stacks[kernel].frame].class = CLASS_GPU_KERNEL;
	return kernel;
}

static struct made_timeline made;

static int begin(void **state)
{
	const struct gpu_event_device device = {
		.id = 0, .name = "GPU", .limits = {132, 64, 32, 65536, 228u << 10, 9, 0}};

	(void)state;
	made_timeline_begin(&made);
	assert_int_equal(devices_describe(&made.made.devices, 1, &device), 0);
	made.made.result.totals.measure.launch_shapes = true;
	return 0;
}

static int end(void **state)
{
	(void)state;
	made_timeline_end(&made);
	return 0;
}

static void finish(void)
{
	assert_int_equal(timeline_finish(made.timeline), 0);
	made.made.result.timeline = made.timeline;
}

static void sums_up_by_stack_shape_and_device(void **state)
{
	uint32_t forward = add_stack(&made, "forward"), backward = add_stack(&made, "backward");
	struct place_id here = made_place(&made, 1, 12, 0, 7),
			there = made_place(&made, 1, 12, 1, 7);
	struct launch_shapes *all;
	struct report_table *f;

	(void)state;
	add_kernel(&made, forward, here.number, 1056, 10);
	add_kernel(&made, backward, here.number, 1056, 100);
	add_kernel(&made, forward, here.number, 1056, 20);
	add_kernel(&made, forward, here.number, 1, 7);
	add_kernel(&made, forward, there.number, 1056, 5);
	add_kernel(&made, forward, here.number, 0, 3); /* the shape is unknown */
	finish();
	all = launch_shapes_new(&made.made.result);
	assert_non_null(all);
	assert_int_equal(all->whole_ns, 145);
	assert_int_equal(all->rest_count, 1);
	assert_int_equal(all->rest_ns, 3);
	assert_int_equal(all->count, 3 + 1);
	assert_int_equal(all->list[0].stack, backward);
	assert_int_equal(all->list[0].ns, 100);
	assert_int_equal(all->list[1].count, 2);
	assert_int_equal(all->list[1].ns, 30);
	assert_int_equal(all->list[1].occupancy.at_once, 1056);
	assert_int_equal(all->list[2].ns, 7);
	/* nothing is known of device 1 */
	assert_int_equal(all->list[3].ns, 5);
	assert_int_equal(all->list[3].occupancy.at_once, 0);
	assert_int_equal(all->list[3].occupancy.threads, 1056 * 256);
	launch_shapes_free(all);
	f = launch_shapes_report_table(&made.made.result);
	assert_non_null(f);
	assert_string_equal(report_cell(f, 1, "advice")->text, "");
	assert_string_equal(report_cell(f, 3, "advice")->text,
			    "CUPTI did not describe the GPU: occupancy and waves are not known");
	report_table_free(f);
}

static void is_bounded_and_says_what_is_left_out(void **state)
{
	uint32_t stack = add_stack(&made, "forward"), here = made_place(&made, 1, 12, 0, 7).number;
	struct launch_shapes *all;
	struct report_tables list;
	const struct report_table *f;

	(void)state;
	for (uint32_t i = 1; i <= LAUNCH_SHAPES_MAX + 3; i++)
		add_kernel(&made, stack, here, i, 1000000 - i);
	finish();
	all = launch_shapes_new(&made.made.result);
	assert_non_null(all);
	assert_int_equal(all->count, LAUNCH_SHAPES_MAX);
	assert_int_equal(all->rest_count, 3);
	launch_shapes_free(all);
	assert_int_equal(report_tables_of(&made.made.result, &list), 0);
	assert_int_equal(list.count, 1);
	f = list.tables[0];
	assert_int_equal(f->count, REPORT_TABLE_ROWS_MAX);
	/* shapes, and three kernels of others */
	assert_int_equal(f->left_out, LAUNCH_SHAPES_MAX - REPORT_TABLE_ROWS_MAX + 3);
	assert_string_equal(report_cell(f, 1, "grid")->text, "2");
	assert_string_equal(report_cell(f, 1, "launched_by")->text, "forward < main");
	assert_int_equal(report_cell(f, 1, "occupancy_permille")->number, 1000);
	assert_string_equal(report_cell(f, 1, "advice")->text,
			    "130 of 132 multiprocessors have no block: launch more or smaller "
			    "blocks");
	report_tables_release(&list);
}

/* A pattern is worth advice, a few are not; with what the shape itself calls for. */
static void launches_that_are_waited_for_are_counted(void **state)
{
	static const struct {
		uint32_t blocks, launches, waited, share;
		const char *advice;
	} sites[] = {
		{132 * 8, 20, 20, 1000,
		 "20 of 20 launches are waited for before the next one: the GPU is idle until "
		 "then; "
		 "launch more before waiting"},
		{132 * 16, 30, 14, 466, ""},
		{132 * 24, 9, 9, 1000, ""},
		{1, 10, 10, 1000,
		 "131 of 132 multiprocessors have no block: launch more or smaller blocks; "
		 "10 of 10 launches are waited for before the next one: the GPU is idle until "
		 "then; "
		 "launch more before waiting"},
	};
	uint32_t stack = add_stack(&made, "forward"), here = made_place(&made, 1, 12, 0, 7).number;
	struct report_table *f;

	(void)state;
	for (uint32_t site = 0; site < 4; site++)
		for (uint32_t i = 0; i < sites[site].launches; i++)
			add_waited(&made, stack, here, sites[site].blocks, 10000 >> site,
				   i < sites[site].waited);
	finish();
	f = launch_shapes_report_table(&made.made.result);
	assert_non_null(f);
	for (uint32_t site = 0; site < 4; site++) {
		assert_int_equal(report_cell(f, site, "calls")->number, sites[site].launches);
		assert_int_equal(report_cell(f, site, "waited_for")->number, sites[site].waited);
		assert_int_equal(report_cell(f, site, "waited_for_permille")->number,
				 sites[site].share);
		assert_string_equal(report_cell(f, site, "advice")->text, sites[site].advice);
	}
	report_table_free(f);
}

/* Any bytes, any length: a path ends with a whole character. */
static void paths_are_cut_between_characters(void **state)
{
	char name[3001], text[64];

	(void)state;
	for (size_t i = 0; i + 3 < sizeof(name); i += 3)
		memcpy(name + i, "\xe2\x82\xac", 4);
	launch_path(&made.made.result, add_stack(&made, name), text, sizeof(text));
	assert_int_equal(strlen(text), 63);
	launch_path(&made.made.result, add_stack(&made, name), text, sizeof(text) - 1);
	assert_int_equal(strlen(text), 60);
	launch_path(&made.made.result, RESULT_ROOT, text, sizeof(text));
	assert_string_equal(text, "");
	finish();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(sums_up_by_stack_shape_and_device, begin, end),
		cmocka_unit_test_setup_teardown(is_bounded_and_says_what_is_left_out, begin, end),
		cmocka_unit_test_setup_teardown(launches_that_are_waited_for_are_counted, begin,
						end),
		cmocka_unit_test_setup_teardown(paths_are_cut_between_characters, begin, end),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
