/* SPDX-License-Identifier: MIT */
/*
 * Finds the paths of files that the library writes without a profiler (INJECTION_...), and reports
 * errors with them.
 */
#ifndef CUPTI_TRACE_CORE_OUTPUT_PATH_H
#define CUPTI_TRACE_CORE_OUTPUT_PATH_H

#include <stddef.h>

/*
 * Makes `name` absolute, so that it stays valid when the program changes its directory. The first
 * "%p" in the name becomes the process id. Returns 0 or -errno; -ENAMETOOLONG if the path does not
 * fit into `size` bytes.
 */
int output_path(const char *name, char *path, size_t size);

/*
 * Explains on stderr why the file that the environment's `variable` asks for is missing. `err` is
 * an -errno or the result of sink_file_error. `path` is NULL if the variable is not set. The first
 * call, or output_path_note_stderr, notes which file stderr is; nothing is written to any other
 * file. Call between guest_enter and guest_leave.
 */
void output_path_complain(const char *variable, const char *path, int err);
void output_path_note_stderr(void);

#endif
