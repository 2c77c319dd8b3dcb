/* SPDX-License-Identifier: MIT */
/*
 * Asks the driver how much memory it holds for graphs: CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT of
 * cuDeviceGetGraphMemAttribute, which there is since CUDA 11.4.
 */
#ifndef CUPTI_TRACE_MEMORY_GRAPH_MEMORY_DRIVER_H
#define CUPTI_TRACE_MEMORY_GRAPH_MEMORY_DRIVER_H

#include <stdbool.h>
#include <stdint.h>

/* Whether the driver can be asked. The program has loaded it: it is in a call of it. */
bool graph_memory_driver_can_tell(void);

/* What it holds on a device, in bytes. False: it does not say. The driver may wait for threads. */
bool graph_memory_driver_tell(uint32_t device, uint64_t *bytes);

#endif
