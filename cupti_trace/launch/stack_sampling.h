/* SPDX-License-Identifier: MIT */
/*
 * Whether a launch of the calling thread has a stack of its own, where the time for stacks is
 * limited (--max-overhead). Each thread has a sampler (stack_sampler.h), made at its first launch
 * and freed at its end; it begins with the interval that a thread had when it ended.
 *
 * A launch in a signal's handler, while its thread is in here, is taken and stands for itself, and
 * so is one of a thread for which there is no memory.
 */
#ifndef CUPTI_TRACE_LAUNCH_STACK_SAMPLING_H
#define CUPTI_TRACE_LAUNCH_STACK_SAMPLING_H

#include <stdbool.h>
#include <stdint.h>

/* Once, before any launch: the limit, in thousandths of a percent of a thread's time. */
void stack_sampling_init(uint32_t limit);

/*
 * How many launches the stack of this one stands for; 0: it is not taken. If it is and `is_timed`,
 * stack_sampling_spent is to be called with what it took.
 */
uint32_t stack_sampling_choose(uint64_t kernel, bool *is_timed);
void stack_sampling_spent(uint64_t ns);

/* Now and then, by the flusher: the windows of all threads end. */
void stack_sampling_tick(void);

#endif
