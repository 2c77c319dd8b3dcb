// SPDX-License-Identifier: MIT
#include "profiler/formats/protobuf.h"

#include <stdlib.h>
#include <string.h>
#include "symbolize/util/array.h"
#include "symbolize/util/text.h"

#define VARINT_MAX 10 /* bytes */
#define FIELD_MAX ((1u << 29) - 1)

enum wire_type { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_LENGTH = 2, WIRE_FIXED32 = 5 };

void protobuf_release(struct protobuf *p)
{
	free(p->bytes);
	*p = (struct protobuf){0};
}

void protobuf_clear(struct protobuf *p)
{
	p->size = 0;
}

static bool grow(struct protobuf *p, size_t size)
{
	if (size > UINT32_MAX ||
	    !array_reserve(&p->bytes, p->size, (uint32_t)size, &p->capacity, 1))
		p->failed = true;
	return !p->failed;
}

/* Makes room for `size` more bytes, which the caller adds to p->size. Returns NULL on failure. */
static inline unsigned char *reserve(struct protobuf *p, size_t size)
{
	if (p->failed || (size > p->capacity - p->size && !grow(p, size)))
		return NULL;
	return p->bytes + p->size;
}

/* Writes a varint, the lowest seven bits first. Returns its number of bytes. */
static uint32_t put_varint(unsigned char *at, uint64_t value)
{
	uint32_t size = 0;

	for (; value >= 0x80; value >>= 7)
		at[size++] = (unsigned char)(value | 0x80);
	at[size++] = (unsigned char)value;
	return size;
}

void protobuf_packed(struct protobuf *p, uint64_t value)
{
	unsigned char *at = reserve(p, VARINT_MAX);

	if (at)
		p->size += put_varint(at, value);
}

static void put_tag(struct protobuf *p, uint32_t field, enum wire_type type)
{
	protobuf_packed(p, (uint64_t)field << 3 | type);
}

void protobuf_uint(struct protobuf *p, uint32_t field, uint64_t value)
{
	put_tag(p, field, WIRE_VARINT);
	protobuf_packed(p, value);
}

void protobuf_int(struct protobuf *p, uint32_t field, int64_t value)
{
	protobuf_uint(p, field, (uint64_t)value); /* two's complement, ten bytes if negative */
}

/* Writes the lowest byte first. */
static void put_fixed(struct protobuf *p, uint64_t value, uint32_t size)
{
	unsigned char *at = reserve(p, size);

	for (uint32_t i = 0; at && i < size; i++)
		at[i] = (unsigned char)(value >> 8 * i);
	p->size += at ? size : 0;
}

void protobuf_fixed32(struct protobuf *p, uint32_t field, uint32_t value)
{
	put_tag(p, field, WIRE_FIXED32);
	put_fixed(p, value, sizeof(value));
}

void protobuf_fixed64(struct protobuf *p, uint32_t field, uint64_t value)
{
	put_tag(p, field, WIRE_FIXED64);
	put_fixed(p, value, sizeof(value));
}

void protobuf_text(struct protobuf *p, uint32_t field, const char *text)
{
	size_t length = strlen(text);
	unsigned char *at;

	put_tag(p, field, WIRE_LENGTH);
	protobuf_packed(p, length);
	at = reserve(p, length);
	if (!at)
		return;
	memcpy(at, text, length);
	for (size_t i = 0, n; i < length; i += n) {
		n = count_utf8_bytes((const unsigned char *)text + i);
		if (n == 0) {
			at[i] = '?';
			n = 1;
		}
	}
	p->size += (uint32_t)length;
}

void protobuf_bytes(struct protobuf *p, uint32_t field, const void *bytes, uint32_t size)
{
	unsigned char *at;

	put_tag(p, field, WIRE_LENGTH);
	protobuf_packed(p, size);
	at = reserve(p, size);
	if (!at)
		return;
	if (size)
		memcpy(at, bytes, size);
	p->size += size;
}

uint32_t protobuf_begin(struct protobuf *p, uint32_t field)
{
	put_tag(p, field, WIRE_LENGTH);
	return p->size;
}

void protobuf_end(struct protobuf *p, uint32_t place)
{
	unsigned char length[VARINT_MAX];
	uint32_t contents = p->size - place, size = put_varint(length, contents);

	if (!reserve(p, size))
		return;
	/* the length is known only now: move the contents a few bytes to make room for it */
	memmove(p->bytes + place + size, p->bytes + place, contents);
	memcpy(p->bytes + place, length, size);
	p->size += size;
}

/* ---- reading ---- */

bool protobuf_next_packed(struct protobuf_reader *r, uint64_t *value)
{
	if (r->failed || r->at == r->end)
		return false;
	*value = 0;
	for (unsigned int shift = 0; r->at < r->end && shift < 64; shift += 7) {
		unsigned char byte = *r->at++;

		if (shift == 63 && byte > 1)
			break; /* more than 64 bits */
		*value |= (uint64_t)(byte & 0x7f) << shift;
		if (byte < 0x80)
			return true;
	}
	r->failed = true;
	return false;
}

/* Takes the next `size` bytes. Returns NULL if there are fewer. */
static const unsigned char *take(struct protobuf_reader *r, uint64_t size)
{
	const unsigned char *bytes = r->at;

	if (size > (uint64_t)(r->end - r->at)) {
		r->failed = true;
		return NULL;
	}
	r->at += size;
	return bytes;
}

bool protobuf_next(struct protobuf_reader *r, struct protobuf_field *field)
{
	uint64_t tag, size;

	while (protobuf_next_packed(r, &tag)) {
		*field = (struct protobuf_field){.number = (uint32_t)(tag >> 3)};
		r->failed |= tag >> 3 == 0 || tag >> 3 > FIELD_MAX;
		switch (tag & 7) {
		case WIRE_VARINT:
			r->failed |= !protobuf_next_packed(r, &field->value);
			return !r->failed;
		case WIRE_LENGTH:
			if (!protobuf_next_packed(r, &size) || !(field->bytes = take(r, size)))
				r->failed = true;
			field->size = r->failed ? 0 : (uint32_t)size;
			return !r->failed;
		case WIRE_FIXED64:
			take(r, 8);
			break;
		case WIRE_FIXED32:
			take(r, 4);
			break;
		default:
			r->failed = true;
		}
	}
	return false;
}
