/* SPDX-License-Identifier: MIT */
/*
 * Prints the path of the injection library (attach/injection.h): --print-injection-path.
 *
 * The process becomes the user who called sudo, since the library may be put into the user's
 * cache.
 */
#ifndef PROFILER_COMMANDS_INJECTION_PATH_H
#define PROFILER_COMMANDS_INJECTION_PATH_H

/* Returns the exit status, after explaining errors on stderr. */
int injection_path_print(void);

#endif
