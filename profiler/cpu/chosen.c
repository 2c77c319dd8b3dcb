// SPDX-License-Identifier: MIT
#include "profiler/cpu/chosen.h"

#include <errno.h>
#include <stdlib.h>

struct chosen_change {
	uint64_t time_ns;
	bool is_open;
};

/* Counted from the oldest. */
static struct chosen_change *change_at(const struct chosen *c, uint32_t number)
{
	return &c->changes[(c->first + number) % CHOSEN_CHANGES];
}

int chosen_note(struct chosen *c, uint64_t time_ns, bool is_open)
{
	bool was_open = c->count > 0 && change_at(c, c->count - 1)->is_open;

	if (!c->changes)
		c->changes = malloc(CHOSEN_CHANGES * sizeof(*c->changes));
	if (!c->changes)
		return -ENOMEM;
	if (was_open == is_open)
		return 0;
	if (c->count == CHOSEN_CHANGES) {
		c->first = (c->first + 1) % CHOSEN_CHANGES;
		c->count--;
	}
	*change_at(c, c->count++) = (struct chosen_change){time_ns, is_open};
	return is_open;
}

bool chosen_has(const struct chosen *c, uint64_t time_ns)
{
	for (uint32_t i = c->count; i-- > 0;) {
		const struct chosen_change *change = change_at(c, i);

		if (change->time_ns <= time_ns)
			return change->is_open;
	}
	return false;
}

void chosen_release(struct chosen *c)
{
	free(c->changes);
	*c = (struct chosen){0};
}
