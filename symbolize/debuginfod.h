/* SPDX-License-Identifier: MIT */
/*
 * Queries debuginfod servers for a debug file, using their client `debuginfod-find`.
 *
 * Build ids tell others what runs here, and queries take time. So they are made only if the user
 * asks for them, whatever the environment says: some distributions set DEBUGINFOD_URLS for
 * everyone. They are never made with privilege. The client is searched in PATH, reads the
 * environment and writes a cache in the home folder. Under sudo, doas and pkexec, and in
 * set-user-id programs, these are another user's. As plain root the client has no capability. The
 * client writes no file of more than 4 GiB.
 *
 * All queries of a thread share one budget of time. When it is used up, the client is killed with
 * its process group. It is not started again then, nor after it could not be started. The client
 * itself remembers what servers lack. Blocks. Prints nothing.
 */
#ifndef SYMBOLIZE_DEBUGINFOD_H
#define SYMBOLIZE_DEBUGINFOD_H

#include <stddef.h>
#include <stdint.h>

/* Allows this thread to query servers for so long in all; before the first call: 0. */
void debuginfod_allow(unsigned int milliseconds);

/* Returns how many files were not queried for lack of time. */
uint64_t debuginfod_not_asked(void);

/*
 * Finds the path of the debug file with this build id in hexadecimal, as the client prints it.
 * Returns 0 or -ENOENT. The caller must check the file.
 */
int debuginfod_find(const char *build_id, char *path, size_t size);

#endif
