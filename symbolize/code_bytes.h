/* SPDX-License-Identifier: MIT */
/*
 * The bytes of code in the files that processes map: what stands before a return address.
 *
 * Read from the file as it was opened for the mapping (modules.h), a page at a time, and kept in a
 * cache of fixed size. Code that is in no file, a JIT's, cannot be read: its process's memory is
 * not ours to read, and by now it may hold other code.
 *
 * Zero-initialised is empty.
 */
#ifndef SYMBOLIZE_CODE_BYTES_H
#define SYMBOLIZE_CODE_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "symbolize/modules.h"

struct code_bytes {
	struct code_page *pages;
	uint32_t reads_left; /* of files, which the caller sets: each may take long */
	uint32_t reads;      /* ever */
};

/* False: not all of them can be read. */
bool code_bytes_read(struct code_bytes *c, struct modules *modules, uint32_t module,
		     uint64_t offset, uint8_t *to, size_t size);

void code_bytes_release(struct code_bytes *c);

#endif
