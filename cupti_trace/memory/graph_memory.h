/* SPDX-License-Identifier: MIT */
/*
 * Follows memory of graphs' allocation nodes (--alloc).
 *
 * NVIDIA documents no records of it. A node has no memory until its graph is launched or uploaded.
 * Then it shares memory with other graphs, and keeps it until the device's graph memory is trimmed.
 * So after each call that may change that, the driver is asked how much it holds for graphs on a
 * device (CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT). An increase is an allocation by that call. A
 * decrease is a release, of the newest pieces first.
 *
 * Bounded by GRAPH_MEMORY_DEVICES devices, and GRAPH_MEMORY_PIECES allocations on each. Beyond
 * these, the last one is replaced by one of all its bytes.
 */
#ifndef CUPTI_TRACE_MEMORY_GRAPH_MEMORY_H
#define CUPTI_TRACE_MEMORY_GRAPH_MEMORY_H

#include <stdbool.h>
#include <stdint.h>
#include "cupti_trace/core/tracer.h"

#define GRAPH_MEMORY_DEVICES 64u
#define GRAPH_MEMORY_PIECES 64u

/* Returns whether a function of the runtime or driver, by CUPTI's name, may change graph memory. */
bool graph_memory_has(const char *name);

/* Registers such a function by CUPTI's name. Call before callbacks are enabled. */
void graph_memory_add_function(uint32_t domain, uint32_t cbid, const char *name);

/* Update for a context that was created, or ends with all memory of graphs on its device. */
void graph_memory_context_begins(struct tracer *tracer, void *context);
void graph_memory_context_ends(void *context);

/* Update when the calling thread enters and leaves a function. */
void graph_memory_enter(uint32_t domain, uint32_t cbid, const struct cupti_abi_callback_data *data);
void graph_memory_exit(struct tracer *tracer, uint32_t domain, uint32_t cbid,
		       const struct cupti_abi_callback_data *data);

/* Returns whether the calling thread is in a driver call made by the library itself. */
bool graph_memory_asks(void);

#endif
