/* SPDX-License-Identifier: MIT */
/*
 * Reads untrusted bytes through a cursor: reading past the end, or a number that does not fit, sets
 * `bad` and returns 0.
 *
 * No allocation, no calls out of line: also for the injected library.
 */
#ifndef SYMBOLIZE_CFI_BYTES_H
#define SYMBOLIZE_CFI_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct bytes {
	const uint8_t *at;
	const uint8_t *end;
	bool bad;
};

static inline bool bytes_have(struct bytes *b, uint64_t n)
{
	if ((uint64_t)(b->end - b->at) >= n)
		return true;
	b->bad = true;
	return false;
}

#define BYTES_READ(name, type)                                \
	static inline type name(struct bytes *b)              \
	{                                                     \
		type value = 0;                               \
		if (bytes_have(b, sizeof(value))) {           \
			memcpy(&value, b->at, sizeof(value)); \
			b->at += sizeof(value);               \
		}                                             \
		return value;                                 \
	}
BYTES_READ(bytes_u8, uint8_t)
BYTES_READ(bytes_u16, uint16_t)
BYTES_READ(bytes_u32, uint32_t)
BYTES_READ(bytes_u64, uint64_t)

static inline uint64_t bytes_uleb(struct bytes *b)
{
	uint64_t value = 0;

	for (unsigned int shift = 0; shift < 64; shift += 7) {
		uint8_t byte = bytes_u8(b);

		value |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return value;
	}
	b->bad = true;
	return 0;
}

static inline int64_t bytes_sleb(struct bytes *b)
{
	uint64_t value = 0;
	unsigned int shift = 0;
	uint8_t byte;

	do {
		byte = bytes_u8(b);
		value |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
	} while ((byte & 0x80) && shift < 64);
	if (byte & 0x80)
		b->bad = true;
	if (shift < 64 && (byte & 0x40))
		value |= UINT64_MAX << shift;
	return (int64_t)value;
}

/* Takes the next n bytes as a separate cursor; empty if there are fewer. */
static inline struct bytes bytes_take(struct bytes *b, uint64_t n)
{
	struct bytes part = {.at = b->at, .end = b->at};

	if (bytes_have(b, n)) {
		part.end += n;
		b->at += n;
	}
	return part;
}

static inline void bytes_skip_string(struct bytes *b)
{
	while (bytes_u8(b) != 0 && !b->bad)
		;
}

#endif
