// SPDX-License-Identifier: MIT
#include "profiler/profile/figures.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "profiler/profile/launch_shapes.h"
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

int figures_of(const struct result *result, struct figures_list *list)
{
	const struct measure *m = &result->totals.measure;
	const struct {
		bool is_wanted;
		struct figures *(*make)(const struct result *result);
	} all[] = {
		{m->launch_shapes, launch_shapes_figures},
		{m->api, api_calls_figures},
		{m->memory, memory_totals_figures},
		{m->memory, memory_rows_figures},
	};
	int err = 0;

	list->count = 0;
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		struct figures *f = all[i].is_wanted ? all[i].make(result) : NULL;

		if (f)
			list->tables[list->count++] = f;
		else if (all[i].is_wanted)
			err = -errno;
	}
	return err;
}

void figures_release(struct figures_list *list)
{
	for (uint32_t i = 0; i < list->count; i++)
		figures_free(list->tables[i]);
	list->count = 0;
}
