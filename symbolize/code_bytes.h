/* SPDX-License-Identifier: MIT */
/*
 * Reads bytes of code from mapped files, such as those before a return address.
 *
 * Reads the file that was opened for the mapping (modules.h), a page at a time, through a cache of
 * fixed size. Code of no file (a JIT's) cannot be read: the memory of its process is not ours to
 * read, and may hold other code by now.
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
	uint32_t reads_left; /* reads of files still allowed; set by the caller: each may take long
			      */
	uint32_t reads;      /* reads so far */
};

/* Reads code at `offset` of a module. Returns false if not all bytes can be read. */
bool code_bytes_read(struct code_bytes *c, struct modules *modules, uint32_t module,
		     uint64_t offset, uint8_t *to, size_t size);

void code_bytes_release(struct code_bytes *c);

#endif
