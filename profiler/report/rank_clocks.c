// SPDX-License-Identifier: MIT
#include "profiler/report/rank_clocks.h"

#include <stdlib.h>
#include "profiler/tables/ranks_table.h"

static void add_clock(struct rank_clocks *c, const struct rank_info *clock)
{
	const struct clock_alignment *a = &clock->alignment;

	c->count++;
	if (!a->collectives) {
		if (c->references++ == 1)
			c->wall_clocked = clock;
		return;
	}
	if (!c->aligned++ || a->collectives < c->fewest)
		c->fewest = a->collectives;
	if (!c->worst || a->error_ns > c->worst->alignment.error_ns)
		c->worst = clock;
}

bool rank_clocks_find(const struct result *r, struct rank_clocks *c)
{
	uint64_t most = 0, second = 0;
	bool is_known = true;

	*c = (struct rank_clocks){.list = ranks_of_clocks(r)};
	for (uint32_t i = 0; c->list && i < r->rank_count; i++) {
		const struct rank_info *clock = c->list[i];
		uint64_t error = clock ? clock->wall_error_ns : 0;

		if (!clock)
			continue;
		add_clock(c, clock);
		if (clock->alignment.collectives)
			continue;
		is_known &= error > 0 && error < UINT64_MAX / 2;
		if (error > most) {
			second = most;
			most = error;
		} else if (error > second) {
			second = error;
		}
	}
	c->error_ns = is_known ? most + second : 0;
	return c->list != NULL;
}

void rank_clocks_release(struct rank_clocks *clocks)
{
	free(clocks->list);
	*clocks = (struct rank_clocks){.count = 0};
}
