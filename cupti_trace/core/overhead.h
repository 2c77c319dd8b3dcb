/* SPDX-License-Identifier: MIT */
/*
 * Measures the CPU time that the library takes in the program, for the summary.
 *
 * The flusher, and work with a lock or a system call (guest.h), are always measured. They use the
 * thread's CPU clock, so waiting does not count. The rest of a launch's entry takes less time than
 * reading that clock. So some of each thread's launches are measured, and each of them stands for
 * those up to the next one. The more are known, the fewer are measured. Not measured: CUPTI's cost
 * of calling the library.
 *
 * No locks; any thread.
 */
#ifndef CUPTI_TRACE_CORE_OVERHEAD_H
#define CUPTI_TRACE_CORE_OVERHEAD_H

#include <stdint.h>

#define OVERHEAD_EVERY 128u  /* one launch in so many at first */
#define OVERHEAD_SAMPLES 32u /* after so many samples only every second one is measured; */
#define OVERHEAD_DOUBLED 3u  /* ... so many times */

/* Initialises; call once, before anything is measured. */
void overhead_init(void);

struct overhead_mark {
	uint64_t ns, slow_ns;
};

/*
 * Attributes the time until overhead_end, in this thread, to the library. Calls must not be nested.
 */
struct overhead_mark overhead_begin(void);
void overhead_end(const struct overhead_mark *mark);

/*
 * Ends the measurement of a launch that stands for `stands_for` launches. It may contain measured
 * parts.
 */
void overhead_end_launch(const struct overhead_mark *mark, uint32_t stands_for);

/* Returns the number of launches up to a thread's first measured one. */
uint32_t overhead_first(uint32_t tid);

/* Returns the number of launches from a measured one to the next, if `measured` came before it. */
uint32_t overhead_next(uint32_t measured);

/* Returns the total so far, ns. */
uint64_t overhead_ns(void);

#endif
