/* SPDX-License-Identifier: MIT */
/*
 * Queries debuginfod servers for a debug file, using their client `debuginfod-find`.
 *
 * Build ids tell others what runs here, and waiting takes time, so it is done only where the user
 * has asked for it, whatever the environment has: some distributions set DEBUGINFOD_URLS for
 * everyone. It is never done with privilege: the client is searched in PATH, reads the environment
 * and writes a cache in the home folder, which are the caller's under sudo, doas and pkexec, and in
 * set-user-id programs. Nor does root's: the client has no capability. It writes no file of more
 * than 4 GiB.
 *
 * All queries together have one budget of time. When it is used up the client is killed with its
 * process group, and not started again, nor if it cannot be started. The client itself remembers
 * what servers do not have. Blocks. Each thread has a budget of its own. Prints nothing.
 */
#ifndef SYMBOLIZE_DEBUGINFOD_H
#define SYMBOLIZE_DEBUGINFOD_H

#include <stddef.h>
#include <stdint.h>

/* From here on this thread asks servers, for so long in all; before the first call: 0. */
void debuginfod_allow(unsigned int milliseconds);

/* How many files were not asked for because time was up. */
uint64_t debuginfod_not_asked(void);

/*
 * The path of the debug file with this build id in hexadecimal, as printed by the client: 0, or
 * -ENOENT. The caller must check the file.
 */
int debuginfod_find(const char *build_id, char *path, size_t size);

#endif
