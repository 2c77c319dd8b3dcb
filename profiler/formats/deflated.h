/* SPDX-License-Identifier: MIT */
/*
 * Embeds bytes and numbers in a text file, compressed (gzip.h) and encoded as base64. Pages
 * unpack them with DecompressionStream("gzip").
 *
 * A number takes a byte for every 7 bits, the lowest first. The highest bit of a byte is set if
 * more bytes follow.
 */
#ifndef PROFILER_FORMATS_DEFLATED_H
#define PROFILER_FORMATS_DEFLATED_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct deflated;

/* Returns a writer to `out`, which is borrowed, or NULL if out of memory. */
struct deflated *deflated_new(FILE *out);

void deflated_bytes(struct deflated *d, const void *data, size_t size);
void deflated_number(struct deflated *d, uint64_t number);

/* Writes the rest and frees the writer. Returns 0, or -EIO. */
int deflated_finish(struct deflated *d);

#endif
