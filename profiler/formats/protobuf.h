/* SPDX-License-Identifier: MIT */
/*
 * Encodes and decodes messages of protocol buffers (protobuf.dev/programming-guides/encoding).
 *
 * A message is written into memory field by field, in any order. A nested message is written
 * between protobuf_begin and protobuf_end. A document is a message too: write out and clear the
 * buffer whenever it is large enough.
 *
 *	struct protobuf p = {0};
 *	uint32_t line;
 *
 *	protobuf_uint(&p, LOCATION_ID, 1);
 *	line = protobuf_begin(&p, LOCATION_LINE);
 *	protobuf_uint(&p, LINE_NUMBER, 42);
 *	protobuf_end(&p, line);
 *
 * A field with its default value, 0 or "", is written as well. Callers may omit it.
 */
#ifndef PROFILER_FORMATS_PROTOBUF_H
#define PROFILER_FORMATS_PROTOBUF_H

#include <stdbool.h>
#include <stdint.h>

/* Zero-initialised is empty. */
struct protobuf {
	unsigned char *bytes;
	uint32_t size, capacity;
	bool failed; /* out of memory, or over 4 GiB: `bytes` is incomplete */
};

void protobuf_release(struct protobuf *p);

/* Empties the buffer. Keeps its memory, and `failed`. */
void protobuf_clear(struct protobuf *p);

/* Adds a field of type uint32, uint64, bool, enum, or a non-negative int32 or int64. */
void protobuf_uint(struct protobuf *p, uint32_t field, uint64_t value);

/* Adds a field of type int32 or int64. */
void protobuf_int(struct protobuf *p, uint32_t field, int64_t value);

/* Adds a field of type fixed32 or fixed64. */
void protobuf_fixed32(struct protobuf *p, uint32_t field, uint32_t value);
void protobuf_fixed64(struct protobuf *p, uint32_t field, uint64_t value);

/* Adds a field of type string. Each byte that is not well-formed UTF-8 becomes '?'. */
void protobuf_text(struct protobuf *p, uint32_t field, const char *text);

/* Adds a field of type bytes. */
void protobuf_bytes(struct protobuf *p, uint32_t field, const void *bytes, uint32_t size);

/*
 * Begins a field with contents of any length: a nested message, or packed values. Returns its
 * place, for protobuf_end. Fields end in the reverse order of their beginnings.
 */
uint32_t protobuf_begin(struct protobuf *p, uint32_t field);
void protobuf_end(struct protobuf *p, uint32_t place);

/* Adds a value to the packed field that has begun. */
void protobuf_packed(struct protobuf *p, uint64_t value);

/* ---- reading ---- */

/*
 * Reads a message of untrusted bytes. The memory is borrowed.
 *
 *	struct protobuf_reader r = {bytes, bytes + size, false};
 *	struct protobuf_field field;
 *
 *	while (protobuf_next(&r, &field))
 *		...
 *	if (r.failed)
 *		...
 */
struct protobuf_reader {
	const unsigned char *at, *end;
	bool failed; /* not a message, or truncated */
};

/* A number, or bytes: a text, a nested message, or packed values. */
struct protobuf_field {
	uint32_t number;
	uint64_t value;
	const unsigned char *bytes; /* NULL: a number */
	uint32_t size;
};

/*
 * Reads the next field. Returns false at the end, or with `failed` set. Skips fields of type
 * fixed32 and fixed64.
 */
bool protobuf_next(struct protobuf_reader *r, struct protobuf_field *field);

/* Returns a reader of a field's bytes: a nested message, or packed values. */
static inline struct protobuf_reader protobuf_inside(const struct protobuf_field *field)
{
	return (struct protobuf_reader){field->bytes,
					field->bytes ? field->bytes + field->size : NULL, false};
}

/* Reads the next packed value. Returns false at the end, or with `failed` set. */
bool protobuf_next_packed(struct protobuf_reader *r, uint64_t *value);

#endif
