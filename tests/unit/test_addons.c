/* SPDX-License-Identifier: MIT */
/* Add-ons: a run has those that its options ask for, and each gets the events that it wants. */
#include "unit.h"
#include "profiler/model/copied_memory.h"
#include "profiler/addons/addons.h"
#include "profiler/addons/gpu_states.h"
#include "profiler/model/memory_use.h"

struct bench {
	struct measure measure;
	struct ledger ledger;
	struct profile_sink sink;
	struct devices devices;
	struct places places;
	struct time_range time_range;
	struct gpu_stacks gpu_stacks;
	struct addons addons;
};

static void take_note(void *context, const struct profile_item *note)
{
	addons_note(context, note);
}

static struct bench *begin(const struct measure *measure, bool watches_load)
{
	struct bench *b = calloc(1, sizeof(*b));

	assert_non_null(b);
	b->measure = *measure;
	b->sink = (struct profile_sink){.profile = profile_new(),
					.ledger = &b->ledger,
					.take_note = take_note,
					.context = &b->addons};
	assert_non_null(b->sink.profile);
	assert_int_equal(places_init(&b->places, 0), 0);
	assert_int_equal(
		addons_begin(&b->addons, &(struct addon_parts){.measure = &b->measure,
							       .watches_load = watches_load,
							       .gpu_stacks = &b->gpu_stacks,
							       .places = &b->places,
							       .devices = &b->devices,
							       .sink = &b->sink,
							       .time_range = &b->time_range}),
		0);
	return b;
}

static void end(struct bench *b)
{
	addons_release(&b->addons);
	assert_int_equal(b->addons.count, 0);
	places_release(&b->places);
	profile_free(b->sink.profile);
	devices_release(&b->devices);
	ledger_release(&b->ledger);
	free(b);
}

/* Shows an operation, as attribution does. */
static void show(struct bench *b, uint32_t work, bool is_recorded)
{
	const struct gpu_operation o = {.work = work,
					.start_ns = 1000,
					.duration_ns = 300000000,
					.address = 4096,
					.bytes = 50,
					.process = 1};
	struct gpu_work_origin origin = {.launch = LAUNCH_UNKNOWN, .work = work};

	addons_operation(&b->addons, &(struct addon_operation){.operation = &o,
							       .origin = &origin,
							       .is_recorded = is_recorded});
}

static struct collected results(struct bench *b)
{
	struct collected collected = {.load = NULL};

	addons_finish(&b->addons);
	addons_complete(&b->addons, 0, 2000000000);
	addons_show(&b->addons, &collected);
	return collected;
}

static void copies_are_told_by_host_memory(void **state)
{
	static const struct {
		uint32_t work, memory;
		bool staged, bad_time;
		uint32_t row; /* where it counts; 9: nowhere */
	} copies[] = {
		{GPU_WORK_MEMCPY_HTOD, GPU_MEMORY_PAGEABLE, false, false, 0},
		{GPU_WORK_MEMCPY_HTOD, GPU_MEMORY_PINNED, false, false, 1},
		{GPU_WORK_MEMCPY_DTOH, GPU_MEMORY_PAGEABLE, false, false, 2},
		{GPU_WORK_MEMCPY_HTOD, GPU_MEMORY_PAGEABLE, false, true, 0},
		{GPU_WORK_MEMCPY_HTOD, GPU_MEMORY_DEVICE, true, false, 9},
		{GPU_WORK_MEMCPY_DTOD, GPU_MEMORY_PAGEABLE, false, false, 9},
		{GPU_WORK_ALLOC, GPU_MEMORY_PINNED, false, false, 9},
		{GPU_WORK_KERNEL, GPU_MEMORY_PAGEABLE, false, false, 9}, /* a launch shape */
		{GPU_WORK_MEMCPY_ATOH, GPU_MEMORY_MANAGED, false, false, 3},
		{GPU_WORK_MEMCPY_HTOA, GPU_MEMORY_PINNED, false, false, 1},
	};
	struct bench *b = begin(&(struct measure){.traces_gpu = true}, false);
	const struct result_table *table;
	uint64_t counts[4] = {0};

	(void)state;
	for (size_t i = 0; i < sizeof(copies) / sizeof(copies[0]); i++) {
		struct gpu_operation o = {.work = copies[i].work,
					  .shape = copies[i].memory,
					  .staged = copies[i].staged,
					  .bad_time = copies[i].bad_time,
					  .duration_ns = 100,
					  .bytes = 7};

		addons_operation(&b->addons, &(struct addon_operation){.operation = &o,
								       .represents = 3,
								       .is_recorded = true});
		if (copies[i].row < 4)
			counts[copies[i].row] += 3;
	}
	table = result_tables_find(&b->addons.tables, &copied_memory_table);
	assert_non_null(table);
	assert_int_equal(table->count, 4);
	for (uint32_t i = 0; i < 4; i++) {
		const struct copied_memory *row = result_table_row(table, &copied_memory_table, i);

		assert_int_equal(row->copies, counts[i]);
		assert_int_equal(row->bytes, 7 * counts[i]);
		assert_int_equal(row->ns, i == 0 ? 300 : 100 * counts[i]);
		assert_string_equal(row->direction, i < 2 ? "HtoD" : "DtoH");
	}
	end(b);
}

static void without_options_there_is_the_state_of_gpus(void **state)
{
	struct bench *b = begin(&(struct measure){.traces_gpu = true, .kernels_only = true}, false);
	struct collected collected;

	(void)state;
	assert_int_equal(b->addons.count, 1);
	assert_ptr_equal(b->addons.list[0].addon, &addon_gpu_states);
	assert_false(b->addons.needs_threads);
	assert_false(b->addons.needs_devices);
	assert_false(addons_look_at(&b->addons, &(struct gpu_operation){.work = GPU_WORK_ALLOC}));
	show(b, GPU_WORK_KERNEL, true);
	collected = results(b);
	assert_null(collected.load);
	assert_null(result_tables_find(collected.tables, &memory_totals_table));
	assert_null(collected.counters);
	end(b);
}

/* Allocations count outside of what is recorded, too; how busy a device is does not. */
static void each_gets_what_it_looks_at(void **state)
{
	struct bench *b = begin(&(struct measure){.memory = true}, true);
	struct gpu_operation o = {.work = GPU_WORK_ALLOC};
	struct collected collected;

	(void)state;
	assert_int_equal(b->addons.count, 2);
	assert_true(b->addons.needs_devices);
	assert_true(addons_look_at(&b->addons, &o));
	o.work = GPU_WORK_KERNEL;
	assert_false(addons_look_at(&b->addons, &o));
	show(b, GPU_WORK_ALLOC, false);
	show(b, GPU_WORK_KERNEL, false);
	collected = results(b);
	assert_int_equal(result_tables_find(collected.tables, &memory_totals_table)->count, 1);
	assert_int_equal(collected.load->count, 0);
	show(b, GPU_WORK_KERNEL, true);
	assert_int_equal(collected.load->count, 1);
	assert_int_equal(collected.load->devices[0].busy_ns, 300000000);
	end(b);
}

static void events_go_to_those_that_take_them(void **state)
{
	struct bench *b = begin(&(struct measure){.memory = true}, true);
	const struct gpu_event returned = {.type = GPU_EVENT_LAUNCH_END,
					   .launch_end = {.duration_ns = 70}};
	const struct gpu_event pool = {
		.type = GPU_EVENT_POOL,
		.pool = {.time_ns = 5, .address = 8, .held = 100, .used = 60}};
	struct collected collected;

	(void)state;
	assert_int_equal(addons_event(&b->addons, 1, &returned, NULL), 0);
	assert_int_equal(addons_event(&b->addons, 1, &pool, NULL), 0);
	collected = results(b);
	assert_int_equal(collected.load->launch_ns, 70);
	assert_int_equal(result_tables_find(collected.tables, &memory_pools_table)->count, 1);
	end(b);
}

/* A wait of which nothing is known but its time is a row of that time. */
static void waits_are_rows(void **state)
{
	struct bench *b = begin(&(struct measure){.waits = true}, false);
	struct stack_table *stacks = stack_table_new();
	const struct gpu_event_wait wait = {.start_ns = 100, .duration_ns = 40, .tid = 3};
	const struct profile_row *rows;
	uint64_t waited_ns = 0;
	uint32_t count;

	(void)state;
	assert_non_null(stacks);
	gpu_stack_init(&b->gpu_stacks, stacks);
	addons_wait(&b->addons, 1, STACK_EMPTY, &wait);
	addons_advance(&b->addons, 200);
	addons_finish(&b->addons);
	addons_complete(&b->addons, 0, 1000);
	assert_int_equal(b->ledger.calls.waits, 1);
	rows = profile_rows(b->sink.profile, &count);
	for (uint32_t i = 0; i < count; i++)
		waited_ns += rows[i].kind == ROW_WAIT ? rows[i].ns : 0;
	assert_int_equal(waited_ns, 40);
	gpu_stack_release(&b->gpu_stacks);
	stack_table_free(stacks);
	end(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_options_there_is_the_state_of_gpus),
		cmocka_unit_test(copies_are_told_by_host_memory),
		cmocka_unit_test(each_gets_what_it_looks_at),
		cmocka_unit_test(events_go_to_those_that_take_them),
		cmocka_unit_test(waits_are_rows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
