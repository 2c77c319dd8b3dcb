/* SPDX-License-Identifier: MIT */
/*
 * Finds the file with the symbols that were stripped from a program.
 *
 * In gdb's order ("Separate Debug Files" in its manual): by build id under
 * ROOT/.build-id/xx/yyyy.debug; then the file that .gnu_debuglink names, in the program's folder,
 * in its .debug/, and in ROOT/<the program's folder>. A file whose build id differs is refused;
 * without build ids the link's CRC-32 must match. At last, if the user allows it, a debuginfod
 * server is asked (debuginfod.h): that takes long, and other calls may be bounded in time, so it is
 * up to the caller, between two attempts:
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

#define BUILD_ID_MAX 64 /* bytes */

struct debug_file_search {
	const char *path;                    /* of the program; NULL: search by build id alone */
	const char *root;                    /* DEBUG_FILE_ROOT outside of tests */
	char build_id[2 * BUILD_ID_MAX + 1]; /* "": nothing to ask for */
	char answer[PATH_MAX];               /* what debuginfod found; "": nothing so far */
	bool has_asked;
};

/*
 * A descriptor of the debug file of `program`, or -ENOENT: then the search knows the build id that
 * can be asked for, if there is one. The caller closes it.
 */
int debug_file_open(const struct elf_file *program, struct debug_file_search *search);

/* Asks debuginfod, once, for what was not found. True if it is worth another attempt. Blocks. */
bool debug_file_ask(struct debug_file_search *search);

#endif
