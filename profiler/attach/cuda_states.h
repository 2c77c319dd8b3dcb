/* SPDX-License-Identifier: MIT */
/*
 * How far the library is in processes that already ran, and in their descendants: one record for
 * each, by the process's id, which outlives the process.
 *
 * Zero-initialised is empty. Not thread-safe.
 */
#ifndef PROFILER_ATTACH_CUDA_STATES_H
#define PROFILER_ATTACH_CUDA_STATES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include "symbolize/util/id_map.h"

/*
 * From -> to: ABSENT -> ARRIVED -> HEARD; ABSENT -> HEARD where the hello is read first; ARRIVED ->
 * ABSENT when it is waited for no longer.
 */
enum library_stage {
	LIBRARY_ABSENT,  /* it is not there, or nobody waits for it */
	LIBRARY_ARRIVED, /* it was brought in, and has not said hello */
	LIBRARY_HEARD,   /* it has said hello */
};

struct cuda_state {
	uint32_t id;
	pid_t pid;
	enum library_stage stage;
	bool has_come;          /* the library, into what runs under this pid */
	bool delays_recording;  /* it ran before us, and what the library can do is not known yet */
	bool may_miss;          /* the library came too late, unless it says hello */
	bool may_use_cuda;      /* GPU work of it may be lost */
	uint64_t unanswered_id; /* of the instance that waits until recording begins; 0: none */
};

struct cuda_states {
	struct cuda_state *list;
	uint32_t count, capacity;
	struct id_map by_id;
};

void cuda_states_release(struct cuda_states *states);

/*
 * Returns the record of a process, made if need be; valid until the next one is made. When out of
 * memory it is one that nobody sees again.
 */
struct cuda_state *cuda_states_get(struct cuda_states *states, uint32_t id, pid_t pid);

/* Returns whether the library was brought into some program under this pid. */
bool cuda_states_has_come(const struct cuda_states *states, pid_t pid);

/* The library says hello. */
void cuda_state_hear(struct cuda_state *state);

/* The library was brought in. */
void cuda_state_arrive(struct cuda_state *state);

/* Nobody waits for the library any more. */
void cuda_state_give_up(struct cuda_state *state);

/* Returns for how many processes it is known that they may have had GPU work, and did not say it.
 */
uint32_t cuda_states_count_missed(const struct cuda_states *states);

#endif
