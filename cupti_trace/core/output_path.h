/* SPDX-License-Identifier: MIT */
/* Where files go that the library writes where there is no profiler (INJECTION_...). */
#ifndef CUPTI_TRACE_CORE_OUTPUT_PATH_H
#define CUPTI_TRACE_CORE_OUTPUT_PATH_H

#include <stddef.h>

/*
 * The absolute path of what the user calls `name`, so that it stays the same file when the program
 * changes its directory; the first "%p" in the name is the process id. 0, or -errno: -ENAMETOOLONG:
 * it does not fit into `size` bytes.
 */
int output_path(const char *name, char *path, size_t size);

#endif
