/* SPDX-License-Identifier: MIT */
/*
 * Asks a debuginfod server for a debug file, by its client `debuginfod-find`.
 *
 * Only if DEBUGINFOD_URLS is set and not empty, which is how users allow it; and only if the
 * process has no other identity than the user who started it (effective and real ids are equal):
 * the client is searched in PATH and writes a cache in the home folder, which a set-user-id program
 * must not do on behalf of its caller. sudo drops the variable unless told to keep it.
 *
 * The client has DEBUGINFOD_TIMEOUT_MS; then it is killed with its process group, and is not
 * asked again in this process, as when it cannot be started: a profile has many modules. The client
 * itself remembers what servers do not have. Blocks. Not thread-safe. Prints nothing.
 */
#ifndef SYMBOLIZE_DEBUGINFOD_H
#define SYMBOLIZE_DEBUGINFOD_H

#include <stddef.h>
#include "symbolize/budget.h"

/*
 * The path of the debug file with this build id in hexadecimal, as the client printed it: 0, or
 * -ENOENT when there is none. The caller checks what lies there.
 */
int debuginfod_find(const char *build_id, char *path, size_t size);

#endif
