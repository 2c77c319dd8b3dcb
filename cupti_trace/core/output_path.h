/* SPDX-License-Identifier: MIT */
/*
 * Where files go that the library writes where there is no profiler (INJECTION_...), and what is
 * said where they cannot be.
 */
#ifndef CUPTI_TRACE_CORE_OUTPUT_PATH_H
#define CUPTI_TRACE_CORE_OUTPUT_PATH_H

#include <stddef.h>

/*
 * The absolute path of what the user calls `name`, so that it stays the same file when the program
 * changes its directory; the first "%p" in the name is the process id. 0, or -errno: -ENAMETOOLONG:
 * it does not fit into `size` bytes.
 */
int output_path(const char *name, char *path, size_t size);

/*
 * Says on stderr why there is no such file, which the user asked for by the environment's
 * `variable`: -errno, and what sink_file_error returns. `path` NULL: the variable is not set. The
 * first call, or output_path_note_stderr, notes which file stderr is; no other is written to. Call
 * between guest_enter and guest_leave.
 */
void output_path_complain(const char *variable, const char *path, int err);
void output_path_note_stderr(void);

#endif
