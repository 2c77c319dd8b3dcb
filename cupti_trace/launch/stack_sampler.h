/* SPDX-License-Identifier: MIT */
/*
 * Which launches of a thread have a stack of their own, where taking them all would take more of
 * the thread's time than the user allows (--max-overhead).
 *
 * Time is divided into windows: the flusher's ticks, or a number of launches where none come. In
 * each, one stack in STACK_SAMPLER_TIMED is timed, at random. At a window's end the cost of a stack
 * and the rate of launches say what share of the next ones may have a stack:
 *
 *	share = allowed / (cost of a stack * launches per ns)
 *
 * `allowed` is the limit, less what was spent too much before, or more where less was spent: the
 * limit holds over seconds, not in each moment. While the share is 1 or more, all are taken.
 *
 * Else kernels share the stacks in proportion to the square roots of their launches, and one that
 * has fewer launches than that has all. So those that are launched seldom, which are often the
 * longest, keep theirs.
 *
 * A launch of a kernel with interval N is taken with chance 1/N, whatever was taken before: no loop
 * can be in step with that. A launch that is taken stands for N, itself among them. Intervals
 * change only at the ends of windows, by what is known by then, so each launch has the chance that
 * its stack's number says: what the taken ones of any launch site stand for adds up, on average, to
 * its launches. The first launch of each kernel on a thread is taken for certain, and stands for
 * itself.
 *
 * "Kernel" is what the caller says: of copies it is their kind. Beyond STACK_SAMPLER_KERNELS the
 * others share an interval.
 *
 * One thread's, without locks (stack_sampling.h). In a file apart from thread-local storage,
 * because it computes with fractions: see the Makefile.
 */
#ifndef CUPTI_TRACE_LAUNCH_STACK_SAMPLER_H
#define CUPTI_TRACE_LAUNCH_STACK_SAMPLER_H

#include <stdbool.h>
#include <stdint.h>
#include "cupti_trace/wire/gpu_event.h"

#define STACK_SAMPLER_TIMED 4u       /* one stack in so many is timed */
#define STACK_SAMPLER_FIRST 256u     /* launches of a thread's first window, at most */
#define STACK_SAMPLER_LAUNCHES 65536 /* of the others */
#define STACK_SAMPLER_KERNELS 3072u  /* with their own interval; 16 bytes each, as much unused */
/* A stack that takes longer counts as this: its thread waited for a CPU, or for the profiler. */
#define STACK_SAMPLER_LONGEST_NS 100000u
/* What was spent too much or too little is forgotten beyond what the limit is of this time. */
#define STACK_SAMPLER_MEMORY_NS 1000000000u

struct stack_sampler_kernel {
	uint64_t kernel;   /* 0: free */
	uint32_t launches; /* of late: each window halves what was before */
	uint32_t interval;
};

struct stack_sampler {
	double limit;    /* as a share of the time */
	double debt_ns;  /* spent beyond the limit; negative: less than it allows */
	uint64_t random; /* not 0 */
	uint64_t begun_ns;
	/* of this window */
	uint32_t launches, longest; /* the window ends at this number */
	uint32_t timed;
	uint64_t timed_ns;
	/* with half of what was before */
	double known_timed, known_timed_ns, known_launches, known_ns;
	bool has_timed;
	uint32_t interval; /* of a kernel that is new; 1: all are taken */
	uint32_t tick;     /* of the flusher, at the window's beginning */
	struct stack_sampler_kernel *kernels;
	uint32_t count, capacity; /* a power of two, or 0 */
	struct stack_sampler_kernel others;
};

/* `limit`: of the thread's time. `seed` is not 0. `interval`: to begin with. */
#define STACK_SAMPLER_WHOLE 100000u /* all the time: limits are in thousandths of a percent */
void stack_sampler_init(struct stack_sampler *s, uint32_t limit, uint64_t seed, uint32_t interval,
			uint64_t now_ns);
void stack_sampler_release(struct stack_sampler *s);

/* How many launches the stack of this launch stands for; 0: it is not taken. */
uint32_t stack_sampler_choose(struct stack_sampler *s, uint64_t kernel);

/* Returns whether the stack that is taken now is to be timed; and what it took. */
bool stack_sampler_times(struct stack_sampler *s);
void stack_sampler_spent(struct stack_sampler *s, uint64_t ns);

/* Returns whether the window ends for its number of launches; and its end, for whatever reason. */
static inline bool stack_sampler_is_due(const struct stack_sampler *s)
{
	return s->launches >= s->longest;
}
void stack_sampler_end_time_range(struct stack_sampler *s, uint64_t now_ns);

/* Returns whether a window has ended, and a stack was timed: so the interval is its own. */
static inline bool stack_sampler_has_measured(const struct stack_sampler *s)
{
	return s->has_timed && s->longest != STACK_SAMPLER_FIRST;
}

#endif
