/* SPDX-License-Identifier: MIT */
/*
 * Finds separate debug files in the root folder of a process, while the process exists.
 *
 * A process of a container has another mount namespace, or another root folder. Its debug files are
 * where its own debugger would look (debug_file.h). They are gone with the process, so they are
 * opened together with its file. Names are resolved inside that folder: no link of the process
 * leads out of it. Only regular files are opened. A file system that does not answer costs a
 * timeout (bounded_call.h). Files are opened with the rights that open the process's own.
 */
#ifndef SYMBOLIZE_PROCESS_DEBUG_H
#define SYMBOLIZE_PROCESS_DEBUG_H

#include <sys/types.h>
#include "symbolize/util/bounded_call.h"

/*
 * Opens the debug file of the ELF file open as `fd`, which process `pid` knows by `path`. Returns a
 * descriptor, which the caller closes (bounded_close), or -errno; -ENOENT also if the process has
 * our root folder. Its checksum may have to be compared later (debug_file_find_in).
 */
int process_debug_open(struct bounded_caller *calls, pid_t pid, int fd, const char *path);

#endif
