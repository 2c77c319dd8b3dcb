// SPDX-License-Identifier: MIT
#include "cupti_trace/launch/nvtx_place.h"

#include "cupti_trace/python/python_stack.h"
#include "symbolize/util/hash.h"

static void take_natives(struct nvtx_place *place, uint64_t sp, struct nvtx_place_room *room)
{
	const struct unwind_stack *stack = &room->native;
	uint32_t n = 0, i = 0;

	unwind_own_stack(&room->native, room->sps, NVTX_PLACE_FRAMES + NVTX_PLACE_OWN_FRAMES);
	while (i < stack->count && room->sps[i] < sp)
		i++;
	for (; i < stack->count && n < NVTX_PLACE_FRAMES; i++, n++) {
		place->natives[n].pc = stack->pcs[i];
		place->natives[n].sp = room->sps[i];
	}
	place->native_count = n;
	place->native_is_whole = stack->is_whole && i == stack->count;
}

static void take_pythons(struct nvtx_place *place, struct python_stack *stack)
{
	uint32_t n = 0;

	/* there may be no pipe yet: a notice waits until there is */
	python_stack_read(NULL, stack);
	for (; n < stack->count && n < NVTX_PLACE_FRAMES; n++) {
		place->pythons[n].code = stack->frames[n].code;
		place->pythons[n].mark = stack->frames[n].mark;
		place->pythons[n].place = stack->frames[n].place;
	}
	place->python_count = n;
	place->python_depth = stack->count;
	place->python_is_whole = stack->count == 0 || stack->is_whole;
}

void nvtx_place_take(struct nvtx_place *place, uint64_t sp, struct nvtx_place_room *room)
{
	take_natives(place, sp, room);
	take_pythons(place, &room->python);
}

uint64_t nvtx_place_hash(const struct nvtx_place *place)
{
	uint64_t hash = hash_step(hash_seed.first,
				  (uint64_t)place->native_count << 32 | place->python_count,
				  (uint64_t)place->python_depth << 2 | place->native_is_whole << 1 |
					  place->python_is_whole);

	for (uint32_t i = 0; i < place->native_count; i++)
		hash = hash_step(hash, place->natives[i].pc, place->natives[i].sp);
	for (uint32_t i = 0; i < place->python_count; i++)
		hash = hash_step(hash_step(hash, place->pythons[i].code, place->pythons[i].mark),
				 place->pythons[i].place, i);
	return hash;
}

uint32_t nvtx_place_native(const struct nvtx_place *place, const struct unwind_stack *stack,
			   const uint64_t *sps)
{
	uint32_t i = 0, j = 0;

	/* both go outwards, with growing stack pointers */
	while (i < stack->count && j < place->native_count) {
		if (sps[i] == place->natives[j].sp && stack->pcs[i] == place->natives[j].pc)
			break;
		if (sps[i] < place->natives[j].sp) {
			i++;
			continue;
		}
		i += sps[i] == place->natives[j].sp;
		j++;
	}
	/* none of the kept ones: if there were more, the next is assumed to match */
	if (j == place->native_count && (place->native_is_whole || j == 0))
		i = stack->count;
	return i > 0 ? i - 1 : 0;
}

uint32_t nvtx_place_python(const struct nvtx_place *place, const struct python_stack *stack,
			   bool *is_unchanged)
{
	uint32_t depth = place->python_depth - place->python_count; /* assumed to be unchanged */

	*is_unchanged = true;
	if (!place->python_is_whole || !stack->is_whole || place->python_depth == 0 ||
	    stack->count == 0)
		return stack->count;
	*is_unchanged = place->python_depth <= stack->count;
	for (uint32_t j = place->python_count; j-- > 0 && depth < stack->count; depth++) {
		const struct python_frame *frame = &stack->frames[stack->count - 1 - depth];

		bool is_same_code = frame->code == place->pythons[j].code &&
				    frame->mark == place->pythons[j].mark;

		if (is_same_code && frame->place == place->pythons[j].place)
			continue;
		*is_unchanged = false;
		depth += is_same_code;
		break;
	}
	/* `depth` outermost frames are unchanged */
	if (depth > stack->count)
		depth = stack->count;
	return stack->count - depth;
}
