/* SPDX-License-Identifier: (MIT OR GPL-2.0) */
/*
 * Which ticks of a CPU's clock are samples. Compiled by both sides: for the clocks of the BPF
 * programs, and for perf's, which the profiler reads without privilege.
 *
 * Clocks tick several times for each sample. Time that followed processes run on a CPU is divided
 * into periods of `sample_ns`, and each has one sample, at the first tick after a moment that is
 * elsewhere in each: those of successive periods are golden sections apart, which covers a period
 * evenly with any number of them, more evenly than moments at random.
 */
#ifndef BPF_SAMPLING_CLOCK_H
#define BPF_SAMPLING_CLOCK_H

#ifndef __bpf__
#include <linux/types.h>
#include <stdbool.h>
#endif

#define SAMPLING_CLOCK_GOLDEN_SECTION 2654435769u /* of 2^32 */

/* Zero-initialise, then begin; add to `run_ns` at each tick. */
struct sampling_clock {
	__u64 run_ns; /* followed processes have run here for so long, by ticks */
	__u64 due_ns; /* of run_ns: when to take the next sample */
	__u64 period_end_ns;
	__u32 section; /* where in the period the sample is, of 2^32 */
};

/* `section`: of the first period; best at random. */
static inline void sampling_clock_begin(struct sampling_clock *c, __u64 sample_ns, __u32 section)
{
	c->section = section;
	c->due_ns = sample_ns * section >> 32;
	c->period_end_ns = sample_ns;
}

/* Returns whether a sample is due, which then counts as taken. */
static inline bool sampling_clock_take(struct sampling_clock *c, __u64 sample_ns)
{
	if (c->run_ns < c->due_ns)
		return 0;
	c->section += SAMPLING_CLOCK_GOLDEN_SECTION;
	c->due_ns = c->period_end_ns + (sample_ns * c->section >> 32);
	c->period_end_ns += sample_ns;
	return 1;
}

#endif
