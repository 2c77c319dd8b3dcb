/* SPDX-License-Identifier: MIT */
/*
 * Explains why a command could not be run, and shows the command line that would have worked.
 *
 *   cannot run ./busy.py: it has no permission to execute; write: profile [options] python3
 * ./busy.py
 *
 * The kernel reports ENOENT also if the file exists, but its interpreter or loader does not.
 */
#ifndef PROFILER_RUN_EXEC_ERROR_H
#define PROFILER_RUN_EXEC_ERROR_H

#include <stdbool.h>
#include "profiler/base/log.h"

/*
 * Logs why execvp of these NULL-terminated words failed with `err` (an errno). Returns the exit
 * status that shells use: 127 if the command does not exist, 126 if it cannot be run. Searches the
 * working directory and PATH for the intended command.
 */
int exec_error_explain(struct log *log, char *const *command, int err);

/* Returns true if other profilers have this word as a subcommand, as in "record". */
bool exec_error_is_subcommand(const char *word);

#endif
