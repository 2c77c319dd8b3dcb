/* SPDX-License-Identifier: MIT */
/*
 * Names code in files without a symbol for it.
 *
 *   [libfoo.so+0x1a2b0]   function that begins at this address of the file (elf_functions.h)
 *   [libfoo.so]           code whose function is unknown
 *
 * The address is that of objdump, equal in each run and each process.
 */
#ifndef SYMBOLIZE_PLACE_NAME_H
#define SYMBOLIZE_PLACE_NAME_H

#include <stddef.h>
#include <stdint.h>

/*
 * Returns the malloc'd name of code in the file at `path`; NULL when out of memory. `start` NULL:
 * unknown.
 */
char *place_name(const char *path, const uint64_t *start);

/* Returns the length of "[libfoo.so" in "[libfoo.so+0x1a2b0]"; 0: `name` has another form. */
size_t place_name_file(const char *name);

#endif
