/* SPDX-License-Identifier: MIT */
/*
 * What was measured, before names: for each stack (and what ran on a GPU because of it), how much.
 *
 * CPU: the number of samples; each weighs one sampling period. GPU: the sum of durations of one
 * kernel or kind of work under one launch stack, whole ns, so sums are exact. Weights become ns as
 * double only when they meet in the call tree. Waits: the sum of the time that calls under one
 * stack kept their threads waiting while one kernel or kind of work of one launch stack ran, or
 * none. Timed calls: the sum of their durations.
 */
#ifndef PROFILER_PROFILE_PROFILE_H
#define PROFILER_PROFILE_PROFILE_H

#include <stdint.h>

struct profile;

/* Values beside ids of the stack table; STACK_NONE (join.h): launch not captured. */
#define PROFILE_STACK_ROOT (UINT32_MAX - 1) /* nothing launched it: it lies at the root */
#define PROFILE_NO_CAPTURE (UINT32_MAX - 2) /* not a graph's node */
#define PROFILE_CAPTURE_UNSEEN                                            \
	(UINT32_MAX - 3) /* a graph's node, made before tracing or unseen \
			  */
#define PROFILE_NO_GROUP (UINT32_MAX - 4)

/* Beside the kinds of GPU work: a timed call of CUDA, whose stack is `stack`. */
#define PROFILE_CALL UINT32_MAX

struct profile_key {
	uint32_t stack;
	uint32_t capture; /* where the graph's node was made: stack id, or one of the above;
			   * of a call: a stack of one frame, the kernel's function on the host */
	uint32_t group;   /* stack id of frames to stand at the root, or PROFILE_NO_GROUP */
	uint32_t work;    /* enum gpu_work; PROFILE_CALL; 0 for CPU samples */
	const char *name; /* kernel's, or kind's; interned by the caller. NULL: neither. */
	/*
	 * Not 0: a wait, by the call whose stack id is one less. The above, but for the group, are
	 * those of what was waited for; without a name: of nothing.
	 */
	uint32_t waiter;
};

struct profile_entry {
	struct profile_key key;
	uint64_t count;  /* samples, operations, or pieces of waits */
	uint64_t gpu_ns; /* of a wait or call, the thread's */
	uint64_t bytes;
};

struct profile *profile_new(void);
void profile_free(struct profile *profile);

/* 0 or -ENOMEM. `group` as in the key. */
int profile_add_sample(struct profile *profile, uint32_t stack, uint32_t group);
int profile_add_work(struct profile *profile, const struct profile_key *key, uint64_t duration_ns,
		     uint64_t bytes);

/* All rows, in order of first appearance. */
const struct profile_entry *profile_entries(const struct profile *profile, uint32_t *count);

#endif
