/* SPDX-License-Identifier: MIT */
/*
 * Finds files by their numbers in line tables (.debug_line), reading headers only.
 *
 * libdw would read all lines and copy all paths. Nothing is allocated: results point into the
 * sections. Tables are untrusted.
 *
 * Source: DWARF 2 to 4, 6.2.4; DWARF 5, 6.2.4. For little-endian files.
 */
#ifndef SYMBOLIZE_LINE_FILES_H
#define SYMBOLIZE_LINE_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct line_section {
	const void *data; /* NULL: there is none */
	size_t size;
};

struct line_sections {
	struct line_section lines, strings, line_strings; /* .debug_line, _str, _line_str */
};

/*
 * Finds the file `number` (of DW_AT_decl_file) of the table at `offset` (of DW_AT_stmt_list). Sets
 * its name and its folder, both perhaps relative to the folder of the compilation; NULL: that
 * folder. Returns false if there is no such file, or the table is malformed.
 */
bool line_file_find(const struct line_sections *sections, uint64_t offset, uint64_t number,
		    const char **folder, const char **name);

#endif
