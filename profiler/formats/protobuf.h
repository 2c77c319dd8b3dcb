/* SPDX-License-Identifier: MIT */
/*
 * Encodes messages of protocol buffers (protobuf.dev/programming-guides/encoding) into memory, and
 * reads them.
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
#ifndef PROFILER_FORMATS_PROTOBUF_H
#define PROFILER_FORMATS_PROTOBUF_H

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

/* Adds a field of type int32 or int64. */
void protobuf_int(struct protobuf *p, uint32_t field, int64_t value);

/* Add a field of type fixed32, and of type fixed64. */
void protobuf_fixed32(struct protobuf *p, uint32_t field, uint32_t value);
void protobuf_fixed64(struct protobuf *p, uint32_t field, uint64_t value);

/* A string, which must be UTF-8: each byte of `text` that is not becomes '?'. */
void protobuf_text(struct protobuf *p, uint32_t field, const char *text);

/* Adds a field of type bytes. */
void protobuf_bytes(struct protobuf *p, uint32_t field, const void *bytes, uint32_t size);

/*
 * A field with contents of any length: a nested message, or packed values. Returns its place, for
 * protobuf_end. Fields that are begun later end earlier.
 */
uint32_t protobuf_begin(struct protobuf *p, uint32_t field);
void protobuf_end(struct protobuf *p, uint32_t place);

/* One value of a packed field that has begun. */
void protobuf_packed(struct protobuf *p, uint64_t value);

/* ---- reading ---- */

/*
 * Reads a message of untrusted bytes in memory, which is borrowed.
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
	bool failed; /* it is no message, or ends within a field */
};

/* A number, or bytes: text, a nested message, packed values. */
struct protobuf_field {
	uint32_t number;
	uint64_t value;
	const unsigned char *bytes; /* NULL: a number */
	uint32_t size;
};

/* False at the end, or failed. Fields of 32 and 64 fixed bits are skipped. */
bool protobuf_next(struct protobuf_reader *r, struct protobuf_field *field);

/* A reader of a field's bytes: of a nested message, or of packed values. */
static inline struct protobuf_reader protobuf_inside(const struct protobuf_field *field)
{
	return (struct protobuf_reader){field->bytes,
					field->bytes ? field->bytes + field->size : NULL, false};
}

/* The next packed value. False at the end, or failed. */
bool protobuf_next_packed(struct protobuf_reader *r, uint64_t *value);

#endif
