/* SPDX-License-Identifier: MIT */
/*
 * Memory that the allocation nodes of graphs take (--alloc). NVIDIA does not document records of
 * it, and a node has no memory until its graph is launched or uploaded, then shares it with other
 * graphs, and keeps it until the device's graph memory is trimmed. So what counts is what the
 * driver says that it holds for graphs on a device (CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT): asked
 * after each call that may change it, what is more than before is an allocation by that call, what
 * is less is a release, of what came last first.
 *
 * Bounded by GRAPH_MEMORY_DEVICES devices, and GRAPH_MEMORY_PIECES allocations on each: beyond
 * these, the last one is replaced by one of all its bytes.
 */
#ifndef CUPTI_TRACE_MEMORY_GRAPH_MEMORY_H
#define CUPTI_TRACE_MEMORY_GRAPH_MEMORY_H

#include <stdbool.h>
#include <stdint.h>
#include "cupti_trace/core/tracer.h"

#define GRAPH_MEMORY_DEVICES 64u
#define GRAPH_MEMORY_PIECES 64u

/*
 * Returns whether a function of the runtime or driver, by its name as CUPTI gives it, may change
 * it.
 */
bool graph_memory_has(const char *name);

/* Once, before callbacks are enabled: a function, likewise. */
void graph_memory_add_function(uint32_t domain, uint32_t cbid, const char *name);

/* A context was created, or ends, with all that graphs hold on its device. */
void graph_memory_context_begins(struct tracer *tracer, void *context);
void graph_memory_context_ends(void *context);

/* The calling thread enters and leaves a function. */
void graph_memory_enter(uint32_t domain, uint32_t cbid, const struct cupti_abi_callback_data *data);
void graph_memory_exit(struct tracer *tracer, uint32_t domain, uint32_t cbid,
		       const struct cupti_abi_callback_data *data);

/* Returns whether the calling thread is in a call of the driver that is the library's own. */
bool graph_memory_asks(void);

#endif
