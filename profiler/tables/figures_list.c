// SPDX-License-Identifier: MIT
#include "profiler/tables/figures_list.h"

#include <errno.h>
#include <stdio.h>
#include "profiler/tables/api_calls_table.h"
#include "profiler/tables/caching_allocator.h"
#include "profiler/tables/counters_table.h"
#include "profiler/tables/exposed.h"
#include "profiler/tables/launch_shapes.h"
#include "profiler/tables/memory_table.h"
#include "profiler/tables/ranks_table.h"
#include "profiler/tables/stall_shares.h"
#include "profiler/tables/table_figures.h"

static void name_whole_run(struct figures *f)
{
	char title[128];
	const char *kept;

	snprintf(title, sizeof(title), "%s, of the whole run", f->title);
	kept = intern_string(&f->strings, title);
	if (kept)
		f->title = kept;
}

/* Adds a table, which is NULL if it could not be made. Returns the last error. */
static int list_figures(const struct result *result, struct figures_list *list, struct figures *f,
			bool is_of_run, int err)
{
	if (!f)
		return -errno;
	if (result->is_part && is_of_run)
		name_whole_run(f);
	list->tables[list->count++] = f;
	return err;
}

int figures_of(const struct result *result, struct figures_list *list)
{
	const struct measure *m = &result->totals.measure;
	const struct {
		bool is_wanted;
		struct figures *(*make)(const struct result *result);
		bool is_rare; /* left out where it is empty */
		bool is_of_run;
	} all[] = {
		{result->rank_count > 0, ranks_figures, false, false},
		{result->rank_count > 0, ranks_collectives_figures, true, false},
		{result->rank_count > 0, ranks_clocks_figures, true, false},
		{m->launch_shapes, launch_shapes_figures, false, false},
		{m->api, api_calls_figures, false, true},
		{m->memory, memory_totals_figures, false, true},
		{m->memory, memory_rows_figures, false, true},
		{m->memory, memory_pools_figures, true, true},
		{m->memory, caching_allocators_figures, true, true},
		{m->stall_period != 0, stall_shares_figures, false, false},
		{m->counters, counters_figures, false, true},
		{m->idle && result->timeline, exposed_figures, true, false},
	};
	int err = 0;

	_Static_assert(sizeof(all) / sizeof(all[0]) <= FIGURES_FIXED_MAX,
		       "FIGURES_FIXED_MAX is how many there are");
	list->count = 0;
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		struct figures *f = all[i].is_wanted ? all[i].make(result) : NULL;

		if (f && all[i].is_rare && f->count == 0)
			figures_free(f);
		else if (all[i].is_wanted)
			err = list_figures(result, list, f, all[i].is_of_run, err);
	}
	for (uint32_t i = 0; i < table_kind_count; i++)
		if (table_kinds[i]->title && result_tables_find(result->tables, table_kinds[i]))
			err = list_figures(result, list, table_figures(result, table_kinds[i]),
					   true, err);
	return err;
}

void figures_release(struct figures_list *list)
{
	for (uint32_t i = 0; i < list->count; i++)
		figures_free(list->tables[i]);
	list->count = 0;
}
