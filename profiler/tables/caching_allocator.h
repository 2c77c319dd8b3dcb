/* SPDX-License-Identifier: MIT */
/*
 * Recognizes allocators of frameworks that take memory from CUDA in large pieces and hand it out
 * themselves.
 *
 * Allocators are recognized by the functions, or the file, that called CUDA. Only the memory that
 * they hold is known, not what they hand out.
 */
#ifndef PROFILER_TABLES_CACHING_ALLOCATOR_H
#define PROFILER_TABLES_CACHING_ALLOCATOR_H

#include <stdint.h>
#include "profiler/model/result.h"

#define CACHING_ALLOCATORS_MAX 256u /* rows: an allocator and a kind of memory each */

struct caching_allocator {
	const char *name;   /* "PyTorch's caching allocator" */
	const char *advice; /* tells how to see what the allocator hands out */
};

/* Returns the allocator in an allocation's stack. Returns NULL if none is known. */
const struct caching_allocator *caching_allocator_of(const struct result *result, uint32_t stack);

/*
 * Makes the table of memory that each allocator held, by kind of memory. Rows beyond
 * CACHING_ALLOCATORS_MAX are left out. Returns NULL with errno set.
 */
struct report_table *caching_allocators_report_table(const struct result *result);

#endif
