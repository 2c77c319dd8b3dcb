/* SPDX-License-Identifier: MIT */
#include "profiler/model/cut_stacks.h"

void cut_stacks_add(struct cut_stacks *cut, enum unwind_end reason, uint32_t module)
{
	uint32_t id = module * UNWIND_ENDS + (uint32_t)reason;
	uint64_t *count = id_map_find(&cut->counts, id);

	if (!count && cut->counts.count < CUT_STACKS_MAX)
		count = id_map_get(&cut->counts, id);
	if (count)
		(*count)++;
}

uint32_t cut_stacks_top(const struct cut_stacks *cut, struct cut_place *places, uint32_t max)
{
	uint32_t position = 0, id, count = 0;
	uint64_t value;

	while (id_map_next(&cut->counts, &position, &id, &value)) {
		struct cut_place place = {(enum unwind_end)(id % UNWIND_ENDS), id / UNWIND_ENDS,
					  value};
		uint32_t i;

		if (count < max)
			count++;
		else if (count == 0 || places[count - 1].count >= value)
			continue;
		for (i = count - 1; i > 0 && places[i - 1].count < value; i--)
			places[i] = places[i - 1];
		places[i] = place;
	}
	return count;
}

const char *cut_stacks_reason(enum unwind_end reason)
{
	static const char *const reasons[UNWIND_ENDS] = {
		[UNWIND_TOO_DEEP] = "more frames than are kept",
		[UNWIND_SHORT_COPY] = "deeper than what is copied of a stack",
		[UNWIND_NO_INFORMATION] = "no call-frame information, and no caller to be found",
		[UNWIND_BAD_INFORMATION] = "malformed call-frame information",
		[UNWIND_NOT_CODE] = "a return address outside mapped code",
		[UNWIND_UNREADABLE] = "a register or word of memory that is not known",
		[UNWIND_LOOP] = "an unwinding loop (a caller below its callee)",
	};

	return reasons[reason];
}

void cut_stacks_release(struct cut_stacks *cut)
{
	id_map_release(&cut->counts);
}
