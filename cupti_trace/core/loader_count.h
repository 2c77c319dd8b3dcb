/* SPDX-License-Identifier: MIT */
/*
 * Counts the objects (programs and libraries) that the dynamic loader has loaded and unloaded.
 *
 * dl_iterate_phdr(3) returns both counts (dlpi_adds, dlpi_subs), but takes a lock. glibc keeps the
 * first one in _rtld_global, a structure that ld.so exports for its own libraries. Its position
 * differs between versions, so it is found by its value. It is searched again if another value
 * turns out to be there. So a launch can detect by one load that new code may have replaced other
 * code. With another loader, or if the number is not found, this goes unnoticed.
 *
 * One count for the process. Any thread may call.
 */
#ifndef CUPTI_TRACE_CORE_LOADER_COUNT_H
#define CUPTI_TRACE_CORE_LOADER_COUNT_H

#include <stdatomic.h>
#include <stdint.h>
#include "cupti_trace/core/hot_path.h"

struct loader_count {
	uint64_t loaded, unloaded; /* objects */
};

/* Asks the loader, which takes its lock. */
struct loader_count loader_count_read(void);

/* Points to a 0 if the number was not found. */
extern const volatile uint64_t *_Atomic loader_count_place;

/*
 * Returns the number loaded so far, or a constant if it was not found. Read it before
 * loader_count_read.
 */
static HOT_PATH_INLINE uint64_t loader_count_peek(void)
{
	return *atomic_load_explicit(&loader_count_place, memory_order_relaxed);
}

#endif
