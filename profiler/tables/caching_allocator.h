/* SPDX-License-Identifier: MIT */
/*
 * Allocators of frameworks that take memory from CUDA in large pieces and hand it out themselves:
 * what they have handed out is not known here, only what they hold. They are recognized by the
 * functions, or the file, through which their allocations came.
 */
#ifndef PROFILER_TABLES_CACHING_ALLOCATOR_H
#define PROFILER_TABLES_CACHING_ALLOCATOR_H

#include <stdint.h>
#include "profiler/model/result.h"

#define CACHING_ALLOCATORS_MAX 256u /* in the table, each with one kind of memory */

struct caching_allocator {
	const char *name;   /* "PyTorch's caching allocator" */
	const char *advice; /* how to see what it hands out */
};

/* Finds the allocator that called CUDA, by an allocation's stack. NULL: none that is known. */
const struct caching_allocator *caching_allocator_of(const struct result *result, uint32_t stack);

/*
 * Makes a table of what each of them held, by kind of memory; those beyond CACHING_ALLOCATORS_MAX
 * are left out. NULL with errno.
 */
struct report_table *caching_allocators_report_table(const struct result *result);

#endif
