/* SPDX-License-Identifier: MIT */
/*
 * Physical memory of the driver's virtual memory management (--alloc): cuMemCreate, and the calls
 * that map and release what it made. NVIDIA documents no records of it, so those calls are
 * followed, and it is sent like the records of other memory; should CUPTI have records, they are
 * left out (followed_memory.h).
 *
 * As in CUDA, memory is given back when its handle has been released as often as it was created or
 * retained, and no address is mapped to it any more. Reserving addresses takes no memory. What is
 * imported from another process is that process's.
 *
 * Handles and addresses may be used again as soon as the call that gives them back has done its
 * work, before it returns: so what it is about is looked up when it is entered.
 *
 * Bounded by VIRTUAL_MEMORY_MAX pieces and as many mappings; memory beyond that counts as dropped.
 */
#ifndef CUPTI_TRACE_MEMORY_VIRTUAL_MEMORY_H
#define CUPTI_TRACE_MEMORY_VIRTUAL_MEMORY_H

#include <stdbool.h>
#include <stdint.h>
#include "cupti_trace/core/tracer.h"

#define VIRTUAL_MEMORY_MAX (1u << 20)

/* Once, before callbacks are enabled: a function of the driver, by its name as CUPTI gives it. */
void virtual_memory_add_function(uint32_t cbid, const char *name);

/* Sets another bound than VIRTUAL_MEMORY_MAX. Before callbacks are enabled. */
void virtual_memory_set_max(uint32_t max);

/* Returns whether it is one of those that are followed. */
bool virtual_memory_has(const char *name);

/* The calling thread enters and leaves a function of the driver. */
void virtual_memory_enter(struct tracer *tracer, uint32_t cbid,
			  const struct cupti_abi_callback_data *data);
void virtual_memory_exit(struct tracer *tracer, uint32_t cbid,
			 const struct cupti_abi_callback_data *data);

#endif
