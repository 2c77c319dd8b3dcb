// SPDX-License-Identifier: MIT
#include "symbolize/address_space.h"

#include <stdlib.h>
#include "symbolize/symbolizer.h"
#include "symbolize/util/monotonic.h"

#define FIRST_WAIT_NS 10000000u
#define LAST_WAIT_NS 4000000000u

static struct address_space *make(uint32_t id, pid_t pid, bool is_complete, struct map_table *maps)
{
	struct address_space *space = maps ? calloc(1, sizeof(*space)) : NULL;

	if (!space) {
		map_table_drop(maps);
		return NULL;
	}
	space->id = id;
	space->pid = pid;
	space->is_complete = is_complete;
	space->maps = maps;
	space->snapshot_wait_ns = FIRST_WAIT_NS;
	return space;
}

struct address_space *address_space_new(uint32_t id, pid_t pid, bool is_complete)
{
	return make(id, pid, is_complete, map_table_new());
}

struct address_space *address_space_fork(const struct address_space *parent, uint32_t id, pid_t pid)
{
	struct address_space *space =
		make(id, pid, parent->is_complete, map_table_share(parent->maps));

	if (space)
		space->trampolines = parent->trampolines;
	return space;
}

void address_space_set_trampolines(struct address_space *space,
				   const struct python_trampolines *trampolines)
{
	space->trampolines = *trampolines;
}

pid_t address_space_pid(const struct address_space *space)
{
	return space->pid;
}

void address_space_free(struct address_space *space)
{
	if (!space)
		return;
	map_table_drop(space->maps);
	free(space);
}

bool address_space_may_snapshot(const struct address_space *space)
{
	return monotonic_ns() >= space->next_snapshot_ns;
}

void address_space_snapshot_done(struct address_space *space, bool found)
{
	if (found)
		space->snapshot_wait_ns = FIRST_WAIT_NS;
	else if (space->snapshot_wait_ns < LAST_WAIT_NS)
		space->snapshot_wait_ns *= 2;
	space->next_snapshot_ns = monotonic_ns() + space->snapshot_wait_ns;
}
