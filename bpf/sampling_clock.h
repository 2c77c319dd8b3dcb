/* SPDX-License-Identifier: (MIT OR GPL-2.0) */
/*
 * Chooses the ticks of a CPU's clock that are samples. Compiled by both sides: for the clocks of
 * the BPF programs, and for perf's, which the profiler reads without privilege.
 *
 * Clocks tick several times per sample. The time that followed processes run on a CPU is divided
 * into periods of `sample_ns`. Each period has one sample: the first tick after a moment in the
 * period. These moments advance by the golden section. So any number of them covers a period
 * evenly, more evenly than random moments would.
 */
#ifndef BPF_SAMPLING_CLOCK_H
#define BPF_SAMPLING_CLOCK_H

#ifndef __bpf__
#include <linux/types.h>
#include <stdbool.h>
#endif

#define SAMPLING_CLOCK_GOLDEN_SECTION 2654435769u /* in 1/2^32 */

/* Zero-initialise, then begin. Add to `run_ns` at each tick. */
struct sampling_clock {
	__u64 run_ns; /* time that followed processes have run here, by ticks */
	__u64 due_ns; /* run_ns at which the next sample is due */
	__u64 period_end_ns;
	__u32 section; /* moment of the sample in its period, in 1/2^32 */
};

/* Begins the first period. `section` is best chosen at random. */
static inline void sampling_clock_begin(struct sampling_clock *c, __u64 sample_ns, __u32 section)
{
	c->section = section;
	c->due_ns = sample_ns * section >> 32;
	c->period_end_ns = sample_ns;
}

/* Returns true if a sample is due, which then counts as taken. */
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
