/* SPDX-License-Identifier: MIT */
/*
 * Why a command could not be run, and the line that would have worked.
 *
 *   cannot run ./busy.py: it has no permission to execute; write: profile [options] python3
 * ./busy.py
 *
 * The kernel also reports "no such file" (ENOENT) if the file exists but the interpreter or loader
 * that it names does not.
 */
#ifndef PROFILER_RUN_EXEC_ERROR_H
#define PROFILER_RUN_EXEC_ERROR_H

#include <stdbool.h>
#include "profiler/base/log.h"

/*
 * Logs why execvp of these NULL-terminated words failed with `err` (an errno), and returns the
 * shells' exit status for it: 127 for a command that does not exist, 126 for one that cannot be
 * run. Looks for what was meant in the working directory and along PATH.
 */
int exec_error_explain(struct log *log, char *const *command, int err);

/* Returns whether other profilers have such a word before a command: "record". */
bool exec_error_is_subcommand(const char *word);

#endif
