/* SPDX-License-Identifier: MIT */
/*
 * What CUPTI tells of the program's resources: contexts and modules come and go, graphs and their
 * nodes are made. Each needs a reaction at once.
 */
#ifndef CUPTI_TRACE_MAIN_RESOURCES_H
#define CUPTI_TRACE_MAIN_RESOURCES_H

#include "cupti_trace/core/tracer.h"

/* Has CUPTI call for them, or no longer (0). While subscribed. */
void resources_enable(struct tracer *tracer, uint32_t enable);

/* Reacts to all but CUPTI_ABI_RESOURCE_GRAPHNODE_CREATED. Any thread, after guest_enter. */
void resources_on_callback(struct tracer *tracer, uint32_t cbid,
			   const struct cupti_abi_resource_data *data);

/* Does now what is done for each context: there may be some that were made before. */
void resources_expect_contexts(struct tracer *tracer);

#endif
