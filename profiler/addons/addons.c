// SPDX-License-Identifier: MIT
#include "profiler/addons/addons.h"

#include <errno.h>
#include "profiler/addons/allocations.h"
#include "profiler/addons/copies.h"
#include "profiler/addons/gpu_states.h"
#include "profiler/addons/gpu_waits.h"
#include "profiler/addons/idle.h"
#include "profiler/addons/load.h"
#include "profiler/addons/measurements.h"
#include "profiler/addons/pc_samples.h"
#include "profiler/addons/window_estimates.h"
#include "profiler/model/copied_memory.h"
#include "profiler/model/estimates.h"
#include "profiler/model/kernel_definitions.h"

static const struct addon *const all[] = {
	&addon_allocations, &addon_gpu_waits, &addon_measurements, &addon_pc_samples, &addon_idle,
	&addon_load,        &addon_copies,    &addon_estimates,    &addon_gpu_states,
};
_Static_assert(sizeof(all) / sizeof(all[0]) <= ADDONS_MAX, "each has room");

/* In the order of captures: a table follows those whose rows it refers to. */
const struct table_kind *const table_kinds[] = {
	&memory_totals_table,    &memory_rows_table,     &memory_pools_table,
	&stall_places_table,     &copied_memory_table,   &kernel_definitions_table,
	&kernel_estimates_table, &stack_estimates_table, &gpu_states_table,
};
const uint32_t table_kind_count = sizeof(table_kinds) / sizeof(table_kinds[0]);
_Static_assert(sizeof(table_kinds) / sizeof(table_kinds[0]) <= RESULT_TABLES_MAX, "each has room");

int addons_begin(struct addons *a, const struct addon_parts *parts)
{
	a->parts = *parts;
	a->parts.tables = &a->tables;
	a->tables.memory = parts->memory;
	result_tables_begin(&a->tables, parts->measure);
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		void *state;

		if (!all[i]->is_wanted(&a->parts))
			continue;
		state = all[i]->begin ? all[i]->begin(&a->parts) : &a->parts;
		if (!state)
			return -ENOMEM;
		a->list[a->count++] = (struct addon_in_use){all[i], state};
		a->needs_threads |= all[i]->needs_threads;
		a->needs_devices |= all[i]->needs_devices;
		a->takes_off_cpu |= all[i]->off_cpu != NULL;
	}
	return 0;
}

void addons_release(struct addons *a)
{
	while (a->count > 0) {
		a->count--;
		if (a->list[a->count].addon->begin)
			a->list[a->count].addon->release(a->list[a->count].state);
	}
	result_tables_release(&a->tables);
}

/* Calls a callback of all add-ons that have it. */
#define CALL(addons, callback, ...)                    \
	for (uint32_t i = 0; i < (addons)->count; i++) \
		if ((addons)->list[i].addon->callback) \
	(addons)->list[i].addon->callback((addons)->list[i].state, ##__VA_ARGS__)

int addons_event(struct addons *a, uint32_t process, const struct gpu_event *event,
		 const char *kernel)
{
	int err = 0;

	for (uint32_t i = 0; i < a->count; i++) {
		const struct addon_in_use *use = &a->list[i];
		int own = use->addon->event ? use->addon->event(use->state, process, event, kernel)
					    : 0;

		err = err ? err : own;
	}
	return err;
}

void addons_remark(struct addons *a, struct launch_stack launch, uint64_t remark)
{
	CALL(a, remark, launch, remark);
}

void addons_operation(struct addons *a, const struct addon_operation *o)
{
	for (uint32_t i = 0; i < a->count; i++) {
		const struct addon_in_use *use = &a->list[i];

		if (use->addon->operation &&
		    (o->is_recorded ||
		     (use->addon->looks_at && use->addon->looks_at(use->state, o->operation))))
			use->addon->operation(use->state, o);
	}
}

bool addons_look_at(const struct addons *a, const struct gpu_operation *o)
{
	for (uint32_t i = 0; i < a->count; i++)
		if (a->list[i].addon->looks_at && a->list[i].addon->looks_at(a->list[i].state, o))
			return true;
	return false;
}

void addons_stall(struct addons *a, const struct gpu_operation *operation)
{
	CALL(a, stall, operation);
}

void addons_wait(struct addons *a, uint32_t process, struct stack_id stack,
		 const struct gpu_event_wait *wait)
{
	CALL(a, wait, process, stack, wait);
}

void addons_time(struct addons *a, const struct thread_time *time)
{
	CALL(a, time, time);
}

void addons_off_cpu(struct addons *a, const struct thread_time *time)
{
	CALL(a, off_cpu, time);
}

void addons_state(struct addons *a, const char *gpu, const struct gpu_reading *reading)
{
	CALL(a, state, gpu, reading);
}

void addons_begin_thread(struct addons *a, uint32_t process, uint32_t tid, uint64_t time_ns)
{
	CALL(a, begin_thread, process, tid, time_ns);
}

void addons_end_thread(struct addons *a, uint32_t process, uint32_t tid, uint64_t time_ns)
{
	CALL(a, end_thread, process, tid, time_ns);
}

void addons_end_process(struct addons *a, uint32_t process)
{
	CALL(a, end_process, process);
}

void addons_advance(struct addons *a, uint64_t now_ns)
{
	CALL(a, advance, now_ns);
}

void addons_visit(struct addons *a, const struct id_visitor *visitor)
{
	result_tables_visit(&a->tables, visitor);
	CALL(a, visit, visitor);
}

void addons_forget(struct addons *a, uint64_t before_ns)
{
	CALL(a, forget, before_ns);
}

uint64_t addons_whole_from(const struct addons *a)
{
	uint64_t latest_ns = 0;

	for (uint32_t i = 0; i < a->count; i++) {
		const struct addon_in_use *use = &a->list[i];
		uint64_t own_ns = use->addon->whole_from ? use->addon->whole_from(use->state) : 0;

		latest_ns = own_ns > latest_ns ? own_ns : latest_ns;
	}
	return latest_ns;
}

void addons_finish(struct addons *a)
{
	CALL(a, finish);
}

void addons_note(struct addons *a, const struct profile_item *note)
{
	for (uint32_t i = 0; i < a->count; i++)
		if (a->list[i].addon->notes & ADDON_NOTE(note->record.kind))
			a->list[i].addon->note(a->list[i].state, note);
}

void addons_complete(struct addons *a, uint64_t from_ns, uint64_t to_ns)
{
	CALL(a, complete, from_ns, to_ns);
}

void addons_show(const struct addons *a, struct collected *collected)
{
	collected->tables = &a->tables;
	CALL(a, show, collected);
}
