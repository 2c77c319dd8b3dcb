// SPDX-License-Identifier: MIT
#include "profiler/addons/gpu_states.h"

#include <stdlib.h>
#include <string.h>
#include "profiler/model/gpu_state.h"
#include "symbolize/util/array.h"

struct of_gpu {
	const char *gpu;
	struct gpu_state *rows;
	uint32_t count, capacity;
	uint64_t row_ns; /* a row is continued up to this time; 0: it has one reading */
};

struct gpu_states {
	const struct addon_parts *parts;
	struct of_gpu list[GPU_STATES_GPUS];
	uint32_t count;
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

	for (uint32_t i = 0; i < s->count; i++)
		free(s->list[i].rows);
	free(s);
}

/* Finds or adds a GPU. Returns NULL if there are too many. */
static struct of_gpu *find(struct gpu_states *s, const char *gpu)
{
	for (uint32_t i = 0; i < s->count; i++)
		if (s->list[i].gpu == gpu)
			return &s->list[i];
	if (s->count == GPU_STATES_GPUS)
		return NULL;
	s->list[s->count].gpu = gpu;
	return &s->list[s->count++];
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

static void take_state(void *addon, const char *gpu, const struct gpu_reading *reading)
{
	struct gpu_states *s = addon;
	struct of_gpu *g =
		time_range_has(s->parts->time_range, reading->start_ns) ? find(s, gpu) : NULL;
	struct gpu_state row, *last;

	if (!g)
		return;
	gpu_state_of(&row, gpu, reading);
	last = g->count ? &g->rows[g->count - 1] : NULL;
	if (last && row.start_ns + row.ns - last->start_ns <= g->row_ns) {
		gpu_state_append(last, &row);
		return;
	}
	if (g->count == GPU_STATES_ROWS)
		halve(g);
	if (array_make_room(&g->rows, g->count, &g->capacity, sizeof(*g->rows)))
		g->rows[g->count++] = row;
	else
		s->parts->sink->ledger->bounds.refused++;
}

static void forget(void *addon, uint64_t before_ns)
{
	struct gpu_states *s = addon;

	for (uint32_t i = 0; i < s->count; i++) {
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

	for (uint32_t i = 0; i < s->count; i++) {
		for (uint32_t k = 0; k < s->list[i].count; k++) {
			const struct gpu_state *row = &s->list[i].rows[k];

			if (row->start_ns >= from_ns && row->start_ns < to_ns &&
			    time_range_has(s->parts->time_range, row->start_ns))
				result_tables_count(s->parts->tables, &gpu_states_table, row,
						    s->parts->sink->ledger);
		}
		free(s->list[i].rows);
		s->list[i] = (struct of_gpu){.gpu = s->list[i].gpu};
	}
}

const struct addon addon_gpu_states = {
	.is_wanted = is_wanted,
	.begin = begin,
	.release = release,
	.state = take_state,
	.forget = forget,
	.complete = complete,
};
