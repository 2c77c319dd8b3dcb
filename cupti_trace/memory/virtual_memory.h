/* SPDX-License-Identifier: MIT */
/*
 * Follows physical memory of the driver's virtual memory management (--alloc): cuMemCreate, and the
 * calls that map and release its memory.
 *
 * NVIDIA documents no records of this memory. So those calls are followed, and events are sent like
 * those of other memory. Records by CUPTI, if any, are dropped (followed_memory.h).
 *
 * CUDA frees memory once its handle has been released as often as created or retained, and no
 * address is mapped to it. Reserving addresses takes no memory. Memory imported from another
 * process belongs to that process.
 *
 * A handle or address may be reused as soon as the releasing call has done its work, before it
 * returns. So the subject of a call is looked up at its entry.
 *
 * Bounded by VIRTUAL_MEMORY_MAX pieces and as many mappings; memory beyond that counts as dropped.
 */
#ifndef CUPTI_TRACE_MEMORY_VIRTUAL_MEMORY_H
#define CUPTI_TRACE_MEMORY_VIRTUAL_MEMORY_H

#include <stdbool.h>
#include <stdint.h>
#include "cupti_trace/core/tracer.h"

#define VIRTUAL_MEMORY_MAX (1u << 20)

/* Registers a function of the driver by CUPTI's name. Call before callbacks are enabled. */
void virtual_memory_add_function(uint32_t cbid, const char *name);

/* Replaces the bound VIRTUAL_MEMORY_MAX. Call before callbacks are enabled. */
void virtual_memory_set_max(uint32_t max);

/* Returns whether a function is followed. */
bool virtual_memory_has(const char *name);

/* Update when the calling thread enters and leaves a function of the driver. */
void virtual_memory_enter(struct tracer *tracer, uint32_t cbid,
			  const struct cupti_abi_callback_data *data);
void virtual_memory_exit(struct tracer *tracer, uint32_t cbid,
			 const struct cupti_abi_callback_data *data);

#endif
