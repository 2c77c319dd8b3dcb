/* SPDX-License-Identifier: MIT */
/*
 * --print-injection-path: prints where the injection library is (attach/injection.h), as the user
 * who called sudo, because it may be put into that user's cache.
 */
#ifndef PROFILER_COMMANDS_INJECTION_PATH_H
#define PROFILER_COMMANDS_INJECTION_PATH_H

/* An exit status; errors are explained on stderr. */
int injection_path_print(void);

#endif
