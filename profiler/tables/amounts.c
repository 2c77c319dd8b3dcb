// SPDX-License-Identifier: MIT
#include "profiler/tables/amounts.h"

#include <stdlib.h>
#include "symbolize/util/array.h"

bool amounts_reach(struct amounts *a, uint32_t at)
{
	uint32_t count = a->count, capacity = a->capacity;

	if (at < count)
		return true;
	return array_extend(&a->values, &count, at + 1, &capacity,
			    a->run_count * sizeof(*a->values)) &&
	       array_extend(&a->sides, &a->count, at + 1, &a->capacity, SIDES * sizeof(*a->sides));
}

static void add_sums(struct side_sum *sum, const struct side_sum *more)
{
	sum->sampled += more->sampled;
	sum->measured += more->measured;
	sum->count += more->count;
	sum->is_estimated |= more->is_estimated;
}

bool amounts_add(struct amounts *a, uint32_t at, enum comparison_side side, uint32_t run,
		 const struct amount *amount)
{
	const struct side_sum sum = {amount->sampled, amount->measured, amount->count,
				     amount->is_estimated};

	if (!amounts_reach(a, at))
		return false;
	amounts_values(a, at)[run] += amount->value;
	add_sums(&amounts_sides(a, at)[side], &sum);
	return true;
}

void amounts_move(struct amounts *to, uint32_t at, const struct amounts *from, uint32_t other)
{
	for (uint32_t run = 0; run < to->run_count; run++)
		amounts_values(to, at)[run] += amounts_values(from, other)[run];
	for (int side = 0; side < SIDES; side++)
		add_sums(&amounts_sides(to, at)[side], &amounts_sides(from, other)[side]);
}

void amounts_release(struct amounts *a)
{
	free(a->values);
	free(a->sides);
	*a = (struct amounts){.run_count = a->run_count};
}
