/* SPDX-License-Identifier: MIT */
/*
 * Which visit of a profiler this is, in a process that ran already: what threads have noted in an
 * earlier one does not count. Ids of CUPTI may begin anew, and a call may have been left open.
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
