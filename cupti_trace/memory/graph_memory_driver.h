/* SPDX-License-Identifier: MIT */
/*
 * Asks the driver how much memory it holds for graphs: CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT of
 * cuDeviceGetGraphMemAttribute, since CUDA 11.4.
 */
#ifndef CUPTI_TRACE_MEMORY_GRAPH_MEMORY_DRIVER_H
#define CUPTI_TRACE_MEMORY_GRAPH_MEMORY_DRIVER_H

#include <stdbool.h>
#include <stdint.h>

/* Returns whether the driver can be asked. The program has loaded it: it is in a call of it. */
bool graph_memory_driver_can_tell(void);

/*
 * Asks how much it holds on a device, in bytes. Returns false if it does not tell. The driver may
 * wait for another thread: hold no lock.
 */
bool graph_memory_driver_tell(uint32_t device, uint64_t *bytes);

#endif
