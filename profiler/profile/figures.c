// SPDX-License-Identifier: MIT
#include "profiler/profile/figures.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "profiler/profile/caching_allocator.h"
#include "profiler/profile/exposed.h"
#include "profiler/profile/launch_shapes.h"
#include "profiler/profile/ranks.h"
#include "profiler/profile/stall_shares.h"
#include "symbolize/array.h"

struct figures *figures_new(const char *key, const char *title, const struct figure_column *columns,
			    uint32_t column_count)
{
	struct figures *f = calloc(1, sizeof(*f));

	if (!f)
		return NULL;
	f->key = key;
	f->title = title;
	f->columns = columns;
	f->column_count = column_count;
	return f;
}

void figures_free(struct figures *f)
{
	if (!f)
		return;
	intern_release(&f->strings);
	free(f->cells);
	free(f);
}

void figures_add(struct figures *f, const union figure *row)
{
	union figure *cells;

	if (f->count >= FIGURES_ROWS_MAX || !array_make_room(&f->cells, f->count, &f->capacity,
							     f->column_count * sizeof(*f->cells))) {
		f->left_out++;
		return;
	}
	cells = f->cells + (size_t)f->count * f->column_count;
	for (uint32_t i = 0; i < f->column_count; i++) {
		cells[i] = row[i];
		if (!figure_is_text(f->columns[i].kind))
			continue;
		cells[i].text = intern_string(&f->strings, row[i].text);
		if (!cells[i].text) {
			f->left_out++;
			return;
		}
	}
	f->count++;
}

struct figures *
figures_fill(struct figures *figures, const struct result *result, const void *records,
	     uint32_t count, size_t size, int (*compare)(const void *a, const void *b),
	     void (*add)(struct figures *f, const struct result *r, const void *record))
{
	const void **sorted = figures ? calloc(count + (size_t)1, sizeof(const void *)) : NULL;

	if (!sorted) {
		figures_free(figures);
		errno = ENOMEM;
		return NULL;
	}
	for (uint32_t i = 0; i < count; i++)
		sorted[i] = (const char *)records + i * size;
	qsort(sorted, count, sizeof(const void *), compare);
	for (uint32_t i = 0; i < count; i++)
		add(figures, result, sorted[i]);
	free(sorted);
	return figures;
}

static void name_whole_run(struct figures *f)
{
	char title[128];
	const char *kept;

	snprintf(title, sizeof(title), "%s, of the whole run", f->title);
	kept = intern_string(&f->strings, title);
	if (kept)
		f->title = kept;
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

	_Static_assert(sizeof(all) / sizeof(all[0]) <= FIGURES_MAX, "room for all");
	list->count = 0;
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		struct figures *f = all[i].is_wanted ? all[i].make(result) : NULL;

		if (f && all[i].is_rare && f->count == 0) {
			figures_free(f);
		} else if (f) {
			if (result->is_part && all[i].is_of_run)
				name_whole_run(f);
			list->tables[list->count++] = f;
		} else if (all[i].is_wanted) {
			err = -errno;
		}
	}
	return err;
}

void figures_release(struct figures_list *list)
{
	for (uint32_t i = 0; i < list->count; i++)
		figures_free(list->tables[i]);
	list->count = 0;
}
