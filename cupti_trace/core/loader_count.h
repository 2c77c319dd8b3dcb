/* SPDX-License-Identifier: MIT */
/*
 * How many objects (programs and libraries) the dynamic loader has loaded and unloaded so far.
 *
 * dl_iterate_phdr(3) tells (dlpi_adds, dlpi_subs), but takes a lock. glibc has the first number in
 * a structure that ld.so exports for its own libraries, _rtld_global. Its place there differs
 * between versions: it is found by the value, and looked for again where another one turns out
 * to be there. Thus a launch sees by a load whether code may have come into the place of other
 * code. With another loader, or where the number is not found, this is not seen.
 *
 * Of the process. Any thread.
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

extern const volatile uint64_t *_Atomic loader_count_place; /* of what is not found: of a 0 */

/* The number loaded so far, or always the same one. Read it before loader_count_read. */
static HOT_PATH_INLINE uint64_t loader_count_peek(void)
{
	return *atomic_load_explicit(&loader_count_place, memory_order_relaxed);
}

#endif
