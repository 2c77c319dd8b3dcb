/* SPDX-License-Identifier: MIT */
/*
 * Finds the separate debug file of a stripped program.
 *
 * Searches in gdb's order ("Separate Debug Files" in its manual): by build id under
 * ROOT/.build-id/xx/yyyy.debug; then the file named by .gnu_debuglink, in the program's folder, in
 * its .debug/, and in ROOT/<the program's folder>. A file with another build id is refused; without
 * build ids the link's CRC-32 must match. A process with a root folder of its own (a container) has
 * these files there: process_debug.h. Finally, if the user allows it, a debuginfod server is
 * queried (debuginfod.h). A query takes long, and other calls may have a deadline, so the caller
 * queries between two attempts:
 *
 *	do
 *		err = elf_syms_load(fd, &search, ...);
 *	while (debug_file_ask(&search));
 */
#ifndef SYMBOLIZE_DEBUG_FILE_H
#define SYMBOLIZE_DEBUG_FILE_H

#include <limits.h>
#include <stdbool.h>
#include "symbolize/elf_file.h"

#define DEBUG_FILE_ROOT "/usr/lib/debug"

struct debug_file_search {
	const char *path;             /* path of the program; NULL: search by build id only */
	const char *root;             /* DEBUG_FILE_ROOT except in tests */
	char build_id[BUILD_ID_TEXT]; /* "": nothing to query */
	char answer[PATH_MAX];        /* path from debuginfod; "": none yet */
	bool has_asked;
	bool has_handed;
	int handed; /* file found by debug_file_find_in, tried first; borrowed */
};

/*
 * Finds the debug file of `program` with the descriptor `root` as the root folder of all names
 * (file_io.h). Returns a descriptor or -ENOENT. The caller closes it, or hands it to a later search
 * as `handed`. Computes checksums of small files only; debug_file_open checks the others.
 */
int debug_file_find_in(int root, const struct elf_file *program, struct debug_file_search *search);

/*
 * Opens the debug file of `program`. Returns a descriptor, which the caller closes, or -ENOENT:
 * then the search has the build id to query, if there is one.
 */
int debug_file_open(const struct elf_file *program, struct debug_file_search *search);

/*
 * Queries debuginfod, once, for a file that was not found. Returns true if another attempt is
 * worthwhile. Blocks.
 */
bool debug_file_ask(struct debug_file_search *search);

#endif
