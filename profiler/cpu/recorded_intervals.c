// SPDX-License-Identifier: MIT
#include "profiler/cpu/recorded_intervals.h"

#include <errno.h>
#include <stdlib.h>

struct recorded_change {
	uint64_t time_ns;
	bool is_open;
};

/* Returns the change with this number, counted from the oldest. */
static struct recorded_change *change_at(const struct recorded_intervals *c, uint32_t number)
{
	return &c->changes[(c->first + number) % RECORDED_INTERVALS_CHANGES];
}

int recorded_intervals_note(struct recorded_intervals *c, uint64_t time_ns, bool is_open)
{
	bool was_open = c->count > 0 && change_at(c, c->count - 1)->is_open;

	if (!c->changes)
		c->changes = malloc(RECORDED_INTERVALS_CHANGES * sizeof(*c->changes));
	if (!c->changes)
		return -ENOMEM;
	if (was_open == is_open)
		return 0;
	if (c->count == RECORDED_INTERVALS_CHANGES) {
		c->first = (c->first + 1) % RECORDED_INTERVALS_CHANGES;
		c->count--;
	}
	*change_at(c, c->count++) = (struct recorded_change){time_ns, is_open};
	return is_open;
}

bool recorded_intervals_has(const struct recorded_intervals *c, uint64_t time_ns)
{
	for (uint32_t i = c->count; i-- > 0;) {
		const struct recorded_change *change = change_at(c, i);

		if (change->time_ns <= time_ns)
			return change->is_open;
	}
	return false;
}

void recorded_intervals_release(struct recorded_intervals *c)
{
	free(c->changes);
	*c = (struct recorded_intervals){0};
}
