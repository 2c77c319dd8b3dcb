/* SPDX-License-Identifier: MIT */
/*
 * Reads messages of protocol buffers, for tests of what writes them; fails the test where the bytes
 * are not well-formed.
 */
#ifndef TESTS_UNIT_PROTOBUF_READER_H
#define TESTS_UNIT_PROTOBUF_READER_H

#include "unit.h"

/* Bytes that remain to be read. */
struct pb {
	const unsigned char *at, *end;
};

struct pb_field {
	uint32_t number;
	bool has_bytes;
	uint64_t value;  /* a number */
	struct pb bytes; /* a text, a message or packed numbers */
};

static inline struct pb pb_of(const void *bytes, size_t size)
{
	return (struct pb){bytes, (const unsigned char *)bytes + size};
}

static inline size_t pb_size(struct pb bytes)
{
	return (size_t)(bytes.end - bytes.at);
}

static inline uint64_t pb_number(struct pb *pb)
{
	uint64_t value = 0;

	for (unsigned int shift = 0; shift < 64; shift += 7) {
		assert_true(pb->at < pb->end);
		value |= (uint64_t)(*pb->at & 0x7f) << shift;
		if (!(*pb->at++ & 0x80)) {
			assert_true(pb->at[-1] != 0 || shift == 0); /* the shortest form */
			return value;
		}
	}
	fail_msg("a number has more than ten bytes");
	return 0;
}

/* Reads the next field. Returns false if there are no more. */
static inline bool pb_next(struct pb *pb, struct pb_field *field)
{
	uint64_t tag, size;

	if (pb->at == pb->end)
		return false;
	tag = pb_number(pb);
	*field = (struct pb_field){.number = (uint32_t)(tag >> 3), .has_bytes = (tag & 7) == 2};
	assert_true((tag & 7) <= 2);
	assert_true(field->number > 0);
	if ((tag & 7) == 1) {
		assert_true(pb_size(*pb) >= 8);
		for (unsigned int shift = 0; shift < 64; shift += 8)
			field->value |= (uint64_t)*pb->at++ << shift;
		return true;
	}
	if (!field->has_bytes) {
		field->value = pb_number(pb);
		return true;
	}
	size = pb_number(pb);
	assert_true(size <= pb_size(*pb));
	field->bytes = pb_of(pb->at, size);
	pb->at += size;
	return true;
}

#endif
