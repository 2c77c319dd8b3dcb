// SPDX-License-Identifier: MIT
#include "profiler/addons/gpu_states.h"

#include <stdlib.h>
#include <string.h>
#include "profiler/model/gpu_state.h"
#include "symbolize/util/array.h"

/* Rows of a GPU. */
struct of_gpu {
	struct gpu_state *rows;
	uint32_t count, capacity;
	uint64_t row_ns; /* a row is continued up to this time; 0: it has one reading */
};

struct gpu_states {
	const struct addon_parts *parts;
	struct gpus_now now;
	struct of_gpu list[GPU_NOW_MAX]; /* by number in `now` */
};

static bool is_wanted(const struct addon_parts *parts)
{
	return gpu_states_table.is_measured(parts->measure);
}

static void *begin(const struct addon_parts *parts)
{
	struct gpu_states *s = calloc(1, sizeof(*s));

	if (s)
		s->parts = parts;
	return s;
}

static void release(void *addon)
{
	struct gpu_states *s = addon;

	for (uint32_t i = 0; i < s->now.count; i++)
		free(s->list[i].rows);
	free(s);
}

/* Returns the number of a GPU in `now`; GPU_NOW_MAX if there are too many. */
static uint32_t find(struct gpu_states *s, const char *gpu)
{
	uint32_t at = 0;

	while (at < s->now.count && s->now.list[at].gpu != gpu)
		at++;
	if (at == s->now.count && at < GPU_NOW_MAX)
		s->now.list[s->now.count++].gpu = gpu;
	return at;
}

/* Makes one row of each two. */
static void halve(struct of_gpu *g)
{
	uint64_t longest_ns = 0;

	for (uint32_t i = 0; i < g->count / 2; i++) {
		struct gpu_state row = g->rows[2 * i];

		gpu_state_append(&row, &g->rows[2 * i + 1]);
		g->rows[i] = row;
		if (row.ns > longest_ns)
			longest_ns = row.ns;
	}
	if (g->count % 2)
		g->rows[g->count / 2] = g->rows[g->count - 1];
	g->count = g->count / 2 + g->count % 2;
	g->row_ns = longest_ns;
}

static void keep(struct gpu_states *s, struct of_gpu *g, const struct gpu_state *row)
{
	struct gpu_state *last = g->count ? &g->rows[g->count - 1] : NULL;

	if (last && row->start_ns + row->ns - last->start_ns <= g->row_ns) {
		gpu_state_append(last, row);
		return;
	}
	if (g->count == GPU_STATES_ROWS)
		halve(g);
	if (array_make_room(&g->rows, g->count, &g->capacity, sizeof(*g->rows)))
		g->rows[g->count++] = *row;
	else
		s->parts->sink->ledger->bounds.refused++;
}

static void take_state(void *addon, const char *gpu, const struct gpu_reading *reading)
{
	struct gpu_states *s = addon;
	bool is_recorded = time_range_has(s->parts->time_range, reading->start_ns);
	uint32_t at = is_recorded ? find(s, gpu) : GPU_NOW_MAX;
	struct gpu_state row;

	if (at == GPU_NOW_MAX)
		return;
	gpu_now_take(&s->now.list[at], reading);
	gpu_state_of(&row, gpu, reading);
	keep(s, &s->list[at], &row);
}

static void forget(void *addon, uint64_t before_ns)
{
	struct gpu_states *s = addon;

	for (uint32_t i = 0; i < s->now.count; i++) {
		struct of_gpu *g = &s->list[i];
		uint32_t old = 0;

		while (old < g->count && g->rows[old].start_ns + g->rows[old].ns < before_ns)
			old++;
		if (old <= g->count / 2) /* rows are seldom moved */
			continue;
		g->count -= old;
		memmove(g->rows, g->rows + old, g->count * sizeof(*g->rows));
	}
}

/* Adds the rows that begin in the recorded time. */
static void complete(void *addon, uint64_t from_ns, uint64_t to_ns)
{
	struct gpu_states *s = addon;

	for (uint32_t i = 0; i < s->now.count; i++) {
		for (uint32_t k = 0; k < s->list[i].count; k++) {
			const struct gpu_state *row = &s->list[i].rows[k];

			if (row->start_ns >= from_ns && row->start_ns < to_ns &&
			    time_range_has(s->parts->time_range, row->start_ns))
				result_tables_count(s->parts->tables, &gpu_states_table, row,
						    s->parts->sink->ledger);
		}
		free(s->list[i].rows);
		s->list[i] = (struct of_gpu){.count = 0};
	}
}

static void show(void *addon, struct collected *collected)
{
	const struct gpu_states *s = addon;

	collected->gpus = &s->now;
}

const struct addon addon_gpu_states = {
	.is_wanted = is_wanted,
	.begin = begin,
	.release = release,
	.state = take_state,
	.forget = forget,
	.complete = complete,
	.show = show,
};
