/* SPDX-License-Identifier: MIT */
/*
 * Bytes and numbers, compressed (gzip.h) and as base64, in the middle of a text file: data for a
 * page that unpacks it with DecompressionStream("gzip").
 *
 * Numbers take 7 bits a byte, the lowest first; the highest bit of a byte says that more follow.
 */
#ifndef PROFILER_FORMATS_DEFLATED_H
#define PROFILER_FORMATS_DEFLATED_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct deflated;

/* Writes to `out`, borrowed. NULL: out of memory. */
struct deflated *deflated_new(FILE *out);

void deflated_bytes(struct deflated *d, const void *data, size_t size);
void deflated_number(struct deflated *d, uint64_t number);

/* Writes the rest and frees it. 0 or -EIO. */
int deflated_finish(struct deflated *d);

#endif
