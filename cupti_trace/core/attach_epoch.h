/* SPDX-License-Identifier: MIT */
/*
 * Counts how often a profiler has attached to this process while it ran. Notes that threads took in
 * an earlier epoch are void: CUPTI's ids may start over, and a call may have been left open.
 */
#ifndef CUPTI_TRACE_CORE_ATTACH_EPOCH_H
#define CUPTI_TRACE_CORE_ATTACH_EPOCH_H

#include <stdatomic.h>
#include <stdint.h>

extern _Atomic uint32_t attach_epoch;

static inline uint32_t attach_epoch_now(void)
{
	return atomic_load_explicit(&attach_epoch, memory_order_relaxed);
}

#endif
