/* SPDX-License-Identifier: MIT */
/*
 * --print-injection-path: prints where the injection library lies (session/injection.h), as the
 * user that sudo was called by, whose cache it may go into.
 */
#ifndef PROFILER_COMMANDS_INJECTION_PATH_H
#define PROFILER_COMMANDS_INJECTION_PATH_H

/* An exit status; errors are explained on stderr. */
int injection_path_print(void);

#endif
