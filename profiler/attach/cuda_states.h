/* SPDX-License-Identifier: MIT */
/*
 * Keeps the library's progress in running processes and their descendants: one record per process
 * id, which outlives the process.
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
 * Transitions: ABSENT -> ARRIVED -> HEARD; ABSENT -> HEARD if the hello is read first; ARRIVED ->
 * ABSENT after a timeout.
 */
enum library_stage {
	LIBRARY_ABSENT,  /* not injected, or given up */
	LIBRARY_ARRIVED, /* injected; no hello yet */
	LIBRARY_HELLO,   /* has said hello */
};

/* The starting thread of an injected library, as last seen. */
struct library_thread {
	pid_t tid; /* 0: not found */
	char ran[64];
	uint64_t looked_ns, rested_ns; /* time of the last look; duration without CPU time */
};

struct cuda_state {
	uint32_t id;
	pid_t pid;
	enum library_stage stage;
	bool was_injected;      /* the library was injected under this pid */
	bool delays_recording;  /* ran before us; the library's success is undecided */
	bool may_miss;          /* the library came too late, unless it says hello */
	bool may_use_cuda;      /* GPU work may be lost */
	uint64_t unanswered_id; /* instance that waits for recording to begin; 0: none */
	struct library_thread thread;
};

struct cuda_states {
	struct cuda_state *list;
	uint32_t count, capacity;
	struct id_map by_id;
};

void cuda_states_release(struct cuda_states *states);

/*
 * Returns the record of a process, and makes it if needed. It is valid until the next one is made.
 * When out of memory, returns a dummy record.
 */
struct cuda_state *cuda_states_get(struct cuda_states *states, uint32_t id, pid_t pid);

/* Returns true if the library was injected into a program under this pid. */
bool cuda_states_was_injected(const struct cuda_states *states, pid_t pid);

/* Records the library's hello. */
void cuda_state_note_hello(struct cuda_state *state);

/* Records that the library was injected. */
void cuda_state_arrive(struct cuda_state *state);

/* Records that the wait for the library has ended. */
void cuda_state_give_up(struct cuda_state *state);

/*
 * Returns true if an injected library cannot begin. Then its thread is stopped or has ended, or
 * sleeps while it looks for CUPTI's files, without using CPU time. To be polled: returns true after
 * LIBRARY_STUCK_NS of that at the earliest.
 */
bool cuda_state_is_stuck(struct cuda_state *state);
#define LIBRARY_STUCK_NS 600000000u
#define LIBRARY_LOOK_NS 100000000u /* minimum between two looks at a process */

/* Counts processes with a missed library that may have had GPU work. */
uint32_t cuda_states_count_missed(const struct cuda_states *states);

#endif
