/* SPDX-License-Identifier: MIT */
/*
 * Selects a thread's launches that have a stack of their own, within a limit of the thread's time
 * (--max-overhead).
 *
 * Time is divided into windows: the flusher's ticks, or a number of launches without ticks. In each
 * window, one stack in STACK_SAMPLER_TIMED is timed, at random. At its end the share of coming
 * launches with a stack is computed:
 *
 *        share = allowed / (cost of a stack * launches per ns)
 *
 * `allowed` is the limit, minus or plus the excess or rest of earlier windows: the limit holds over
 * seconds, not in each moment. While the share is 1 or more, all are taken.
 *
 * Otherwise kernels share the stacks in proportion to the square roots of their launches. A kernel
 * with fewer launches than its stacks has all. So rare kernels, which are often the longest, keep
 * theirs.
 *
 * A launch of a kernel with interval N is taken with chance 1/N, independently of earlier ones: no
 * loop can be in step with that. A launch that is taken stands for N, including itself. Intervals
 * change only at the ends of windows, by data known until then. So each launch has the chance that
 * its stack's number says. The numbers of the taken launches of any launch site add up, on average,
 * to its launches. The first launch of each kernel on a thread is always taken, and stands for
 * itself.
 *
 * The caller defines "kernel": for copies it is their kind. Beyond STACK_SAMPLER_KERNELS the others
 * share an interval.
 *
 * Belongs to one thread; no locks (stack_sampling.h). Separate from thread-local storage, because
 * it computes with fractions: see the Makefile.
 */
#ifndef CUPTI_TRACE_LAUNCH_STACK_SAMPLER_H
#define CUPTI_TRACE_LAUNCH_STACK_SAMPLER_H

#include <stdbool.h>
#include <stdint.h>
#include "cupti_trace/wire/gpu_event.h"

#define STACK_SAMPLER_TIMED 4u       /* one stack in so many is timed */
#define STACK_SAMPLER_FIRST 256u     /* limit of launches in a thread's first window */
#define STACK_SAMPLER_LAUNCHES 65536 /* limit of launches in other windows */
#define STACK_SAMPLER_KERNELS                                                                \
	3072u /* limit of kernels with an interval of their own; 16 bytes each, half of them \
		 unused */
/*
 * Limit of a stack's measured time. Longer ones mean that the thread waited for a CPU, or for the
 * profiler.
 */
#define STACK_SAMPLER_LONGEST_NS 100000u
/* Excess and rest are bounded by the limit's share of this time. */
#define STACK_SAMPLER_MEMORY_NS 1000000000u

struct stack_sampler_kernel {
	uint64_t kernel;   /* 0: free */
	uint32_t launches; /* recent ones: each window halves the number */
	uint32_t interval;
};

struct stack_sampler {
	double limit;    /* share of the time */
	double debt_ns;  /* spent beyond the limit; negative: less than the limit */
	uint64_t random; /* not 0 */
	uint64_t begun_ns;
	/* this window's */
	uint32_t launches, longest; /* the window ends at this number */
	uint32_t timed;
	uint64_t timed_ns;
	/* this window's, plus half of those before */
	double known_timed, known_timed_ns, known_launches, known_ns;
	bool has_timed;
	uint32_t interval; /* for a new kernel; 1: all are taken */
	uint32_t tick;     /* the flusher's tick at the window's beginning */
	struct stack_sampler_kernel *kernels;
	uint32_t count, capacity; /* a power of two, or 0 */
	struct stack_sampler_kernel others;
};

/*
 * Initialises. `limit` is a share of the thread's time, of TRACE_CONFIG_WHOLE. `seed` is not 0.
 * `interval` is the first one.
 */
void stack_sampler_init(struct stack_sampler *s, uint32_t limit, uint64_t seed, uint32_t interval,
			uint64_t now_ns);
void stack_sampler_release(struct stack_sampler *s);

/* Returns the number of launches that the stack of this launch stands for; 0: it is not taken. */
uint32_t stack_sampler_choose(struct stack_sampler *s, uint64_t kernel);

/*
 * Returns whether the stack that is taken now is to be timed; the second function takes its time.
 */
bool stack_sampler_times(struct stack_sampler *s);
void stack_sampler_spent(struct stack_sampler *s, uint64_t ns);

/* Returns whether the window ends for its number of launches. stack_sampler_end_window ends it. */
static inline bool stack_sampler_is_due(const struct stack_sampler *s)
{
	return s->launches >= s->longest;
}
void stack_sampler_end_window(struct stack_sampler *s, uint64_t now_ns);

/* Returns whether a window has ended, and a stack was timed: so the interval is measured. */
static inline bool stack_sampler_has_measured(const struct stack_sampler *s)
{
	return s->has_timed && s->longest != STACK_SAMPLER_FIRST;
}

#endif
