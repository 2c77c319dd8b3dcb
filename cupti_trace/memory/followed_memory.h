/* SPDX-License-Identifier: MIT */
/*
 * Numbers pieces of memory and notes followed calls, for virtual_memory.h and graph_memory.h.
 *
 * NVIDIA does not say whether CUPTI has records (CUPTI_ACTIVITY_KIND_MEMORY2) of that memory, and
 * versions may differ. Such a record has the correlation id of the call that launched the memory
 * operation (cupti_activity.h). So each followed call is noted, and its records are dropped. The
 * memory is counted once, whether CUPTI records it or not.
 *
 * Bounded: the last FOLLOWED_CALLS_MAX calls are known. Records come within a second or so.
 */
#ifndef CUPTI_TRACE_MEMORY_FOLLOWED_MEMORY_H
#define CUPTI_TRACE_MEMORY_FOLLOWED_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

#define FOLLOWED_CALLS_MAX (1u << 16)

/* Returns a unique number that stands for the address of a piece of memory. */
uint64_t followed_memory_new_id(void);

/* Notes a followed call by its correlation id. Call before its record may come. */
void followed_memory_note(uint32_t correlation_id);

/* Returns whether a record with this correlation id belongs to a followed call. */
bool followed_memory_has(uint32_t correlation_id);

#endif
