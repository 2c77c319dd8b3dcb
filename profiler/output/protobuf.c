// SPDX-License-Identifier: MIT
#include "profiler/output/protobuf.h"

#include <stdlib.h>
#include <string.h>
#include "symbolize/array.h"
#include "symbolize/text.h"

#define VARINT_MAX 10 /* bytes */

enum wire_type { WIRE_VARINT = 0, WIRE_LENGTH = 2 };

void protobuf_release(struct protobuf *p)
{
	free(p->bytes);
	*p = (struct protobuf){0};
}

void protobuf_clear(struct protobuf *p)
{
	p->size = 0;
}

/* Room for this many more bytes; the caller adds them to the size. NULL: failed. */
static unsigned char *reserve(struct protobuf *p, size_t size)
{
	if (p->failed || size > UINT32_MAX ||
	    !array_reserve(&p->bytes, p->size, (uint32_t)size, &p->capacity, 1)) {
		p->failed = true;
		return NULL;
	}
	return p->bytes + p->size;
}

/* Writes it, the lowest seven bits first: how many bytes. */
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
	/* the length is known only now: its contents make room for it, by a few bytes */
	memmove(p->bytes + place + size, p->bytes + place, contents);
	memcpy(p->bytes + place, length, size);
	p->size += size;
}
