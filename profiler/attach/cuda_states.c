// SPDX-License-Identifier: MIT
#include "profiler/attach/cuda_states.h"

#include <stdlib.h>
#include "symbolize/util/array.h"

void cuda_states_release(struct cuda_states *s)
{
	free(s->list);
	id_map_release(&s->by_id);
	*s = (struct cuda_states){0};
}

struct cuda_state *cuda_states_get(struct cuda_states *s, uint32_t id, pid_t pid)
{
	static struct cuda_state lost;
	uint64_t *at = id_map_find(&s->by_id, id);

	if (at)
		return &s->list[*at];
	lost = (struct cuda_state){.id = id, .pid = pid};
	if (!array_make_room(&s->list, s->count, &s->capacity, sizeof(*s->list)))
		return &lost;
	at = id_map_get(&s->by_id, id);
	if (!at)
		return &lost;
	*at = s->count;
	s->list[s->count] = lost;
	return &s->list[s->count++];
}

bool cuda_states_has_come(const struct cuda_states *s, pid_t pid)
{
	for (uint32_t i = 0; i < s->count; i++)
		if (s->list[i].has_come && s->list[i].pid == pid)
			return true;
	return false;
}

void cuda_state_hear(struct cuda_state *state)
{
	state->stage = LIBRARY_HEARD;
	state->delays_recording = false;
}

void cuda_state_arrive(struct cuda_state *state)
{
	if (state->stage == LIBRARY_ABSENT)
		state->stage = LIBRARY_ARRIVED;
}

void cuda_state_give_up(struct cuda_state *state)
{
	if (state->stage == LIBRARY_ARRIVED)
		state->stage = LIBRARY_ABSENT;
	state->delays_recording = false;
}

uint32_t cuda_states_count_missed(const struct cuda_states *s)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < s->count; i++)
		count += s->list[i].may_miss && s->list[i].may_use_cuda &&
			 s->list[i].stage != LIBRARY_HEARD;
	return count;
}
