/* SPDX-License-Identifier: MIT */
/*
 * Queries a debuginfod server for a debug file, using its client `debuginfod-find`.
 *
 * Only if DEBUGINFOD_URLS is set and not empty, which is how users allow it; and only if effective
 * and real ids are equal: the client is searched in PATH and writes a cache in the home folder,
 * which a set-user-id program must not do on behalf of its caller. sudo removes the variable unless
 * configured to keep it.
 *
 * After DEBUGINFOD_TIMEOUT_MS the client is killed with its process group, and not started again in
 * this process, nor if it cannot be started: a profile has many modules. The client itself
 * remembers what servers do not have. Blocks. Not thread-safe. Prints nothing.
 */
#ifndef SYMBOLIZE_DEBUGINFOD_H
#define SYMBOLIZE_DEBUGINFOD_H

#include <stddef.h>
#include "symbolize/budget.h"

/*
 * The path of the debug file with this build id in hexadecimal, as printed by the client: 0, or
 * -ENOENT. The caller must check the file.
 */
int debuginfod_find(const char *build_id, char *path, size_t size);

#endif
