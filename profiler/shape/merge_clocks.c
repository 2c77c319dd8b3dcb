// SPDX-License-Identifier: MIT
#include "profiler/shape/merge_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "symbolize/util/array.h"
#include "symbolize/util/number.h"

#define WALL_CLOCK_MAX (UINT64_C(1) << 62)

void merge_find_clock(struct adding *a)
{
	const struct totals *t = &a->run->totals;
	struct merge *m = a->m;
	bool has_wall_clock = t->start_unix_ns && t->start_unix_ns <= WALL_CLOCK_MAX;
	uint64_t start_ns = t->start_unix_ns;

	for (a->clock = 0; a->clock < m->clock_count; a->clock++)
		if (boot_is_known(&t->boot) &&
		    memcmp(&m->clocks[a->clock].boot, &t->boot, sizeof(t->boot)) == 0)
			return;
	if (m->rank_count == 0)
		m->has_wall_clock = has_wall_clock;
	has_wall_clock &= m->has_wall_clock;
	if (!has_wall_clock)
		start_ns = m->rank_count ? m->ranks[0].info.start_ns : t->start_ns;
	if (!merge_take(m, sizeof(*m->clocks) + sizeof(*m->aligned)))
		return;
	if (!array_make_room(&m->clocks, m->clock_count, &m->clock_capacity, sizeof(*m->clocks))) {
		merge_fail(m, MERGE_NO_MEMORY);
		return;
	}
	m->clocks[m->clock_count++] = (struct clock){.boot = t->boot,
						     .offset = (int64_t)(start_ns - t->start_ns),
						     .has_wall_clock = has_wall_clock,
						     .wall_error_ns = t->wall_error_ns};
}

uint64_t merge_moved(const struct adding *a, uint64_t ns)
{
	__int128 time = (__int128)ns + a->m->clocks[a->clock].offset;

	return time < 0 ? 0 : time > LEDGER_TOTAL_MAX ? LEDGER_TOTAL_MAX : (uint64_t)time;
}

/* ---- alignment by collectives ---- */

void merge_align_clocks(struct merge *m)
{
	m->aligned = calloc(m->clock_count + 1u, sizeof(*m->aligned));
	if (!m->aligned) {
		merge_fail(m, MERGE_NO_MEMORY);
		return;
	}
	for (uint32_t i = 0; i < m->clock_count; i++)
		if (m->clocks[i].has_wall_clock)
			m->aligned[i].wall_error_ns = m->clocks[i].wall_error_ns;
	collectives_align(m->collectives, m->aligned, m->clock_count);
}

/* Returns the clock of each place, to be freed. NULL: out of memory. */
static uint32_t *clocks_of_places(struct merge *m)
{
	uint32_t *clocks = calloc(m->places.count + 1u, sizeof(*clocks));
	const struct place *places = m->places.items;

	for (uint32_t i = 0; clocks && i < m->places.count; i++) {
		const struct rank_info *info =
			merge_rank_of_process(m, places[i].part[PLACE_PROCESS]);

		clocks[i] = info ? info->clock : 0;
	}
	return clocks;
}

struct moving {
	const struct collective_clock *aligned;
	const uint32_t *clocks;
	uint32_t count;
};

static uint64_t move_record(void *context, const struct timeline_record *record)
{
	const struct moving *m = context;

	if (record->place.number >= m->count)
		return record->start_ns;
	return collectives_aligned_time(&m->aligned[m->clocks[record->place.number]],
					record->start_ns);
}

static uint64_t moved_in(struct merge *m, uint32_t process, uint64_t ns)
{
	const struct rank_info *info = ns ? merge_rank_of_process(m, process) : NULL;

	return info ? collectives_aligned_time(&m->aligned[info->clock], ns) : ns;
}

/* Moves the moments of a table. A row's clock is that of its process. */
static void move_table(struct merge *m, const struct table_kind *kind)
{
	struct result_table *table = result_tables_at(&m->tables, kind);
	const struct table_column *process = NULL;

	for (uint32_t i = 0; i < kind->column_count; i++)
		if (kind->columns[i].cell == CELL_PROCESS)
			process = &kind->columns[i];
	for (uint32_t i = 0; process && i < kind->column_count; i++) {
		const struct table_column *c = &kind->columns[i];

		for (uint32_t row = 0; c->cell == CELL_MOMENT && row < table->count; row++) {
			char *at = (char *)table->rows + (size_t)row * kind->row_size;

			number_store(
				at, c->offset, c->size,
				moved_in(m, (uint32_t)table_cell(process, at), table_cell(c, at)));
		}
	}
}

static bool has_moved(const struct merge *m)
{
	for (uint32_t i = 0; i < m->clock_count; i++)
		if (m->aligned[i].alignment.collectives)
			return true;
	return false;
}

void merge_move_times(struct merge *m)
{
	struct moving moving = {m->aligned, NULL, m->places.count};
	uint32_t *clocks;
	int err;

	if (!has_moved(m))
		return;
	moving.clocks = clocks = clocks_of_places(m);
	if (!clocks) {
		merge_fail(m, MERGE_NO_MEMORY);
		return;
	}
	for (uint32_t i = 0; i < table_kind_count; i++)
		move_table(m, table_kinds[i]);
	err = m->timeline ? timeline_move(m->timeline, move_record, &moving) : 0;
	free(clocks);
	if (err) {
		errno = -err;
		merge_fail(m, MERGE_SYSTEM);
	}
}
