/* SPDX-License-Identifier: MIT */
/* Unpacks what gzip.h and deflated.h write. */
#ifndef TESTS_UNIT_UNPACK_H
#define TESTS_UNIT_UNPACK_H

#include <zlib.h>
#include "unit.h"

/* Unpacks a gzip file with one member. The caller frees the result. */
static inline unsigned char *gunzip(const void *packed, size_t packed_size, size_t *size)
{
	z_stream stream = {.next_in = (unsigned char *)(uintptr_t)packed,
			   .avail_in = (uInt)packed_size};
	size_t capacity = 1 << 16;
	unsigned char *out = malloc(capacity);
	int ret = Z_OK;

	assert_int_equal(inflateInit2(&stream, MAX_WBITS + 16), Z_OK);
	while (ret == Z_OK) {
		assert_non_null(out);
		stream.next_out = out + stream.total_out;
		stream.avail_out = (uInt)(capacity - stream.total_out);
		ret = inflate(&stream, Z_NO_FLUSH);
		if (stream.avail_out == 0)
			out = realloc(out, capacity *= 2);
	}
	assert_int_equal(ret, Z_STREAM_END);
	assert_int_equal(stream.avail_in, 0);
	*size = stream.total_out;
	inflateEnd(&stream);
	return out;
}

struct unpacked {
	unsigned char *bytes; /* freed by the caller; a NUL follows */
	size_t size, at;
};

static inline uint32_t unpack_digit(char c)
{
	const char *digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const char *found = strchr(digits, c);

	assert_true(c && found);
	return (uint32_t)(found - digits);
}

static inline struct unpacked unpack(const char *text, size_t size)
{
	unsigned char *packed = malloc(size + 1);
	struct unpacked u = {0};
	size_t n = 0;

	assert_non_null(packed);
	assert_int_equal(size % 4, 0);
	for (size_t i = 0; i < size; i += 4) {
		uint32_t padding = (text[i + 3] == '=') + (text[i + 2] == '='), bits = 0;

		assert_true(padding == 0 || i + 4 == size);
		for (uint32_t j = 0; j < 4; j++)
			bits = bits << 6 | (j < 4 - padding ? unpack_digit(text[i + j]) : 0);
		for (uint32_t j = 0; j < 3 - padding; j++)
			packed[n++] = (unsigned char)(bits >> (16 - 8 * j));
	}
	u.bytes = gunzip(packed, n, &u.size);
	free(packed);
	u.bytes[u.size] = '\0';
	return u;
}

static inline uint64_t unpack_number(struct unpacked *u)
{
	uint64_t number = 0;

	for (int shift = 0;; shift += 7) {
		assert_true(u->at < u->size && shift < 64);
		number |= (uint64_t)(u->bytes[u->at] & 127) << shift;
		if (u->bytes[u->at++] < 128)
			return number;
	}
}

#endif
