/* SPDX-License-Identifier: MIT */
/*
 * Tells whether libdw can read a line table (.debug_line) in little memory.
 *
 * libdw copies the path of each file: its folder's name and its own. So a table of a megabyte, with
 * many files in a folder with a long name, takes gigabytes. Tables of DWARF 2 to 4 are known, which
 * ptxas writes. Tables of DWARF 5 have their texts in other sections, and are refused.
 *
 * Source: DWARF 4, 6.2.4.
 */
#ifndef SYMBOLIZE_LINE_TABLE_BOUNDS_H
#define SYMBOLIZE_LINE_TABLE_BOUNDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Returns false if the table is malformed, or libdw would make more than `most` bytes of paths. For
 * 64-bit little-endian machines.
 */
bool line_table_is_bounded(const void *table, size_t size, uint64_t most);

#endif
