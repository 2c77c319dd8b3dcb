// SPDX-License-Identifier: MIT
#include "profiler/findings/report_tables.h"

#include <errno.h>
#include <stdio.h>
#include "profiler/tables/api_calls_table.h"
#include "profiler/tables/caching_allocator.h"
#include "profiler/tables/collective_calls.h"
#include "profiler/tables/counters_table.h"
#include "profiler/tables/exposed.h"
#include "profiler/findings/findings_tables.h"
#include "profiler/tables/gpu_courses.h"
#include "profiler/tables/launch_shapes.h"
#include "profiler/tables/memory_table.h"
#include "profiler/tables/ranks_table.h"
#include "profiler/tables/stall_shares.h"
#include "profiler/tables/measured_table.h"
#include "profiler/tables/work_parts.h"

static void name_whole_run(struct report_table *f)
{
	char title[128];
	const char *kept;

	snprintf(title, sizeof(title), "%s (whole run)", f->title);
	kept = intern_string(&f->strings, title);
	if (kept)
		f->title = kept;
}

/* Adds a table; NULL if it failed, with errno. Returns its error, or `err`. */
static int list_report_tables(const struct result *result, struct report_tables *list,
			      struct report_table *f, bool is_of_run, int err)
{
	if (!f)
		return -errno;
	if (result->is_part && is_of_run)
		name_whole_run(f);
	list->tables[list->count++] = f;
	return err;
}

/* Adds a table of an add-on. Returns its error, or `err`. */
static int list_measured(const struct result *result, struct report_tables *list,
			 const struct table_kind *kind, int err)
{
	struct report_table *f = measured_table(result, kind);

	if (f)
		f->is_detail = kind->is_detail;
	return list_report_tables(result, list, f, true, err);
}

int report_tables_of(const struct result *result, struct report_tables *list)
{
	const struct measure *m = &result->totals.measure;
	const struct {
		bool is_wanted;
		struct report_table *(*make)(const struct result *result);
		bool is_rare; /* left out if empty */
		bool is_of_run;
		bool is_detail;
	} all[] = {
		{result->findings, findings_report_table, true, false, true},
		{result->findings, gpu_time_report_table, true, false, true},
		{result->findings, steps_report_table, true, false, true},
		{result->findings, idle_causes_report_table, true, false, true},
		{!result->weight, gpu_state_report_table, true, false, true},
		{result->rank_count > 0, ranks_report_table, false, false, false},
		{result->rank_count > 0, ranks_collectives_report_table, true, false, false},
		{result->rank_count > 0, ranks_clocks_report_table, true, false, false},
		{m->nvtx, collective_calls_report_table, true, false, false},
		{m->launch_shapes, launch_shapes_report_table, false, false, false},
		{m->api, api_calls_report_table, false, true, false},
		{m->memory, memory_totals_report_table, false, true, false},
		{m->memory, memory_rows_report_table, false, true, false},
		{m->memory, memory_pools_report_table, true, true, false},
		{m->memory, caching_allocators_report_table, true, true, false},
		{m->stall_period != 0, stall_shares_report_table, false, false, false},
		{m->counters, counters_report_table, false, true, false},
		{m->idle && result->timeline, exposed_report_table, true, false, false},
		{!result->weight, kernel_classes_report_table, true, false, true},
		{!result->weight, operators_report_table, true, false, true},
		{!result->weight, layers_report_table, true, false, true},
		{!result->weight, layer_kinds_report_table, true, false, true},
	};
	int err = 0;

	_Static_assert(sizeof(all) / sizeof(all[0]) <= REPORT_TABLES_FIXED_MAX,
		       "REPORT_TABLES_FIXED_MAX is too small");
	list->count = 0;
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		struct report_table *f = all[i].is_wanted ? all[i].make(result) : NULL;

		if (f)
			f->is_detail = all[i].is_detail;
		if (f && all[i].is_rare && f->count == 0)
			report_table_free(f);
		else if (all[i].is_wanted)
			err = list_report_tables(result, list, f, all[i].is_of_run, err);
	}
	for (uint32_t i = 0; i < table_kind_count; i++) {
		const struct table_kind *kind = table_kinds[i];
		const struct result_table *table = result_tables_find(result->tables, kind);

		if (kind->title && table && (table->count > 0 || !kind->is_detail))
			err = list_measured(result, list, kind, err);
	}
	return err;
}

void report_tables_release(struct report_tables *list)
{
	for (uint32_t i = 0; i < list->count; i++)
		report_table_free(list->tables[i]);
	list->count = 0;
}
