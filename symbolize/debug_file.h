/* SPDX-License-Identifier: MIT */
/*
 * Finds the file with the symbols that were stripped from a program.
 *
 * In gdb's order ("Separate Debug Files" in its manual): by build id under
 * ROOT/.build-id/xx/yyyy.debug; then the file that .gnu_debuglink names, in the program's folder,
 * in its .debug/, and in ROOT/<the program's folder>. A file whose build id differs is refused;
 * without build ids the link's CRC-32 must match. At last, if the user allows it, a debuginfod
 * server is asked (debuginfod.h).
 */
#ifndef SYMBOLIZE_DEBUG_FILE_H
#define SYMBOLIZE_DEBUG_FILE_H

#include "symbolize/elf_file.h"

#define DEBUG_FILE_ROOT "/usr/lib/debug"

/*
 * A descriptor of the debug file of `program`, which lies at `path` (NULL: only by build id), or
 * -ENOENT. `root` is DEBUG_FILE_ROOT outside of tests. The caller closes it.
 */
int debug_file_open(const struct elf_file *program, const char *path, const char *root);

#endif
