/* SPDX-License-Identifier: MIT */
/*
 * Why a command could not be run. The kernel also reports "no such file" (ENOENT) if the file
 * exists but the interpreter or loader that it names does not.
 */
#ifndef PROFILER_SESSION_EXEC_ERROR_H
#define PROFILER_SESSION_EXEC_ERROR_H

#include "profiler/base/log.h"

/*
 * Logs why execvp(command) failed with `err` (an errno), and returns the shells' exit status for
 * it: 127 for a command that does not exist, 126 for one that cannot be run.
 */
int exec_error_explain(struct log *log, const char *command, int err);

#endif
