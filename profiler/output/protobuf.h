/* SPDX-License-Identifier: MIT */
/*
 * Encodes messages of protocol buffers (protobuf.dev/programming-guides/encoding) into memory.
 *
 * A message is written field by field, in any order; a nested one between protobuf_begin and
 * protobuf_end. A document is a message too: if it consists of many small ones, write out and clear
 * the buffer after each, or whenever it is large enough.
 *
 *	struct protobuf p = {0};
 *	uint32_t line;
 *
 *	protobuf_uint(&p, LOCATION_ID, 1);
 *	line = protobuf_begin(&p, LOCATION_LINE);
 *	protobuf_uint(&p, LINE_NUMBER, 42);
 *	protobuf_end(&p, line);
 *
 * A field with its default, 0 or "", is written as well: omit it, or not.
 */
#ifndef PROFILER_OUTPUT_PROTOBUF_H
#define PROFILER_OUTPUT_PROTOBUF_H

#include <stdbool.h>
#include <stdint.h>

/* Zero-initialised is empty. */
struct protobuf {
	unsigned char *bytes;
	uint32_t size, capacity;
	bool failed; /* out of memory, or more than 4 GiB: `bytes` is not whole */
};

void protobuf_release(struct protobuf *p);

/* Empties it; keeps the memory, and `failed`. */
void protobuf_clear(struct protobuf *p);

/* A field of type uint32, uint64, bool or enum, or an int32 or int64 that is not negative. */
void protobuf_uint(struct protobuf *p, uint32_t field, uint64_t value);

/* Of type int32 or int64. */
void protobuf_int(struct protobuf *p, uint32_t field, int64_t value);

/* A string, which must be UTF-8: each byte of `text` that is not becomes '?'. */
void protobuf_text(struct protobuf *p, uint32_t field, const char *text);

/*
 * A field with contents of any length: a nested message, or packed values. Returns its place, for
 * protobuf_end. Fields that are begun later end earlier.
 */
uint32_t protobuf_begin(struct protobuf *p, uint32_t field);
void protobuf_end(struct protobuf *p, uint32_t place);

/* One value of a packed field that has begun. */
void protobuf_packed(struct protobuf *p, uint64_t value);

#endif
