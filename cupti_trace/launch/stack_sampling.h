/* SPDX-License-Identifier: MIT */
/*
 * Decides which launches of the calling thread have a stack, within a limit of its time
 * (--max-overhead). Each thread has a sampler (stack_sampler.h), made at its first launch and freed
 * at its end. It begins with the interval of a thread that has ended.
 *
 * A launch in a signal handler that interrupts this module is taken and stands for itself. So is a
 * launch without memory for the sampler.
 */
#ifndef CUPTI_TRACE_LAUNCH_STACK_SAMPLING_H
#define CUPTI_TRACE_LAUNCH_STACK_SAMPLING_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Initialises, once, before any launch; the limit is in thousandths of a percent of a thread's
 * time.
 */
void stack_sampling_init(uint32_t limit);

/*
 * Returns the number of launches that the stack of this one stands for; 0: it is not taken. If it
 * is and `is_timed` is set, call stack_sampling_spent with its time.
 */
uint32_t stack_sampling_choose(uint64_t kernel, bool *is_timed);
void stack_sampling_spent(uint64_t ns);

/* Ends the windows of all threads; the flusher calls it now and then. */
void stack_sampling_tick(void);

#endif
