/* SPDX-License-Identifier: MIT */
/*
 * The CPU time that the library takes in the program, for the summary.
 *
 * What takes a lock or makes a system call (guest.h) is measured each time, and so is the flusher:
 * by the thread's CPU clock, so waiting does not count. What else a launch does at its entry takes
 * less than that clock itself, so of each thread's launches some are measured: each stands for
 * those up to the next one. The more are known, the fewer are measured. Not measured: what CUPTI
 * does to call the library.
 *
 * No locks; any thread.
 */
#ifndef CUPTI_TRACE_CORE_OVERHEAD_H
#define CUPTI_TRACE_CORE_OVERHEAD_H

#include <stdint.h>

#define OVERHEAD_EVERY 128u  /* one launch in so many at first */
#define OVERHEAD_SAMPLES 32u /* behind so many only every second one is; */
#define OVERHEAD_DOUBLED 3u  /* so often */

/* Once, before anything is measured. */
void overhead_init(void);

struct overhead_mark {
	uint64_t ns, slow_ns;
};

/* The time from now to overhead_end, in the same thread, is the library's. Not to be nested. */
struct overhead_mark overhead_begin(void);
void overhead_end(const struct overhead_mark *mark);

/* Does the same for a launch that stands for so many; may contain measured parts. */
void overhead_end_launch(const struct overhead_mark *mark, uint32_t stands_for);

/* How many launches from now on the first measured one of a thread is. */
uint32_t overhead_first(uint32_t tid);

/* How many launches behind a measured one the next one is, if `measured` came before it. */
uint32_t overhead_next(uint32_t measured);

/* All so far. */
uint64_t overhead_ns(void);

#endif
