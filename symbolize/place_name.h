/* SPDX-License-Identifier: MIT */
/*
 * Names of code in files without a symbol for it.
 *
 *   [libfoo.so+0x1a2b0]   the function that begins at this address of the file, as objdump shows
 * it: the same in each run and each process (elf_functions.h) [libfoo.so]           where nothing
 * tells its functions apart
 */
#ifndef SYMBOLIZE_PLACE_NAME_H
#define SYMBOLIZE_PLACE_NAME_H

#include <stddef.h>
#include <stdint.h>

/* The name of code in the file at `path`; `start` NULL: not known. malloc'd; NULL: out of memory.
 */
char *place_name(const char *path, const uint64_t *start);

/* The length of "[libfoo.so" in "[libfoo.so+0x1a2b0]"; 0: `name` is not of this form. */
size_t place_name_file(const char *name);

#endif
