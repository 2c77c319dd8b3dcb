/* SPDX-License-Identifier: MIT */
#include "protobuf_reader.h"
#include "profiler/formats/protobuf.h"

static void assert_bytes(struct protobuf *p, const char *expected, size_t size)
{
	assert_false(p->failed);
	assert_int_equal(p->size, size);
	assert_memory_equal(p->bytes, expected, size);
	protobuf_clear(p);
}

#define BYTES(p, text) assert_bytes(p, text, sizeof(text) - 1)

/* The examples of protobuf.dev/programming-guides/encoding, and the limits of types. */
static void fields_have_their_bytes(void **state)
{
	struct protobuf p = {0};
	uint32_t place;

	(void)state;
	protobuf_uint(&p, 1, 150);
	BYTES(&p, "\x08\x96\x01");
	protobuf_text(&p, 2, "testing");
	BYTES(&p, "\x12\x07testing");
	place = protobuf_begin(&p, 3);
	protobuf_uint(&p, 1, 150);
	protobuf_end(&p, place);
	BYTES(&p, "\x1a\x03\x08\x96\x01");
	place = protobuf_begin(&p, 6);
	protobuf_packed(&p, 3);
	protobuf_packed(&p, 270);
	protobuf_packed(&p, 86942);
	protobuf_end(&p, place);
	BYTES(&p, "\x32\x06\x03\x8e\x02\x9e\xa7\x05");
	protobuf_int(&p, 1, -2);
	BYTES(&p, "\x08\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01");
	protobuf_uint(&p, 1, UINT64_MAX);
	BYTES(&p, "\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01");
	protobuf_fixed64(&p, 47, UINT64_C(0x0123456789abcdef));
	BYTES(&p, "\xf9\x02\xef\xcd\xab\x89\x67\x45\x23\x01");
	protobuf_fixed32(&p, 16, 0x89abcdef);
	BYTES(&p, "\x85\x01\xef\xcd\xab\x89");
	protobuf_int(&p, 15, 0);
	BYTES(&p, "\x78\x00");
	protobuf_uint(&p, 16, 127);
	BYTES(&p, "\x80\x01\x7f");
	protobuf_text(&p, 1, "");
	BYTES(&p, "\x0a\x00");
	place = protobuf_begin(&p, 1);
	protobuf_end(&p, place);
	BYTES(&p, "\x0a\x00");
	protobuf_release(&p);
	protobuf_release(&p);
}

/* A length that takes one more byte moves the content of its field. */
static void lengths_of_all_sizes(void **state)
{
	static const uint32_t sizes[] = {0,   1,     125,   126,     127,    128,
					 129, 16383, 16384, 2097151, 2097152};
	struct protobuf p = {0};

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		uint32_t outer, inner;
		struct pb_field field;
		struct pb pb;

		protobuf_clear(&p);
		outer = protobuf_begin(&p, 1);
		protobuf_uint(&p, 2, 77);
		inner = protobuf_begin(&p, 3);
		for (uint32_t k = 0; k < sizes[i]; k++)
			protobuf_packed(&p, k % 100);
		protobuf_end(&p, inner);
		protobuf_uint(&p, 4, 88);
		protobuf_end(&p, outer);
		protobuf_uint(&p, 5, 99);
		assert_false(p.failed);

		pb = pb_of(p.bytes, p.size);
		assert_true(pb_next(&pb, &field));
		assert_int_equal(field.number, 1);
		outer = (uint32_t)pb_size(field.bytes);
		{
			struct pb in = field.bytes;

			assert_true(pb_next(&in, &field));
			assert_int_equal(field.value, 77);
			assert_true(pb_next(&in, &field));
			assert_int_equal(field.number, 3);
			assert_int_equal(pb_size(field.bytes), sizes[i]);
			for (uint32_t k = 0; k < sizes[i]; k++)
				assert_int_equal(field.bytes.at[k], k % 100);
			assert_true(pb_next(&in, &field));
			assert_int_equal(field.value, 88);
			assert_false(pb_next(&in, &field));
		}
		assert_true(pb_next(&pb, &field));
		assert_int_equal(field.number, 5);
		assert_int_equal(field.value, 99);
		assert_false(pb_next(&pb, &field));
	}
	protobuf_release(&p);
}

static void texts_are_utf8(void **state)
{
	struct protobuf p = {0};

	(void)state;
	protobuf_text(&p, 1, "\xc3\xa4 \xe2\x80\xa8 \xf0\x9f\x98\x80 \x01\n");
	BYTES(&p, "\x0a\x0e\xc3\xa4 \xe2\x80\xa8 \xf0\x9f\x98\x80 \x01\n");
	protobuf_text(&p, 1, "\xff\xc3(\xed\xa0\x80\xc0\x80\xe2\x80");
	BYTES(&p, "\x0a\x0a?"
		  "?("
		  "???????");
	protobuf_release(&p);
}

static void a_text_may_be_long(void **state)
{
	enum { SIZE = 1 << 20 };
	char *text = malloc(SIZE + 1);
	struct protobuf p = {0};
	struct pb_field field;
	struct pb pb;

	(void)state;
	assert_non_null(text);
	memset(text, 'x', SIZE);
	text[SIZE] = '\0';
	protobuf_text(&p, 9, text);
	pb = pb_of(p.bytes, p.size);
	assert_true(pb_next(&pb, &field));
	assert_int_equal(pb_size(field.bytes), SIZE);
	assert_memory_equal(field.bytes.at, text, SIZE);
	protobuf_release(&p);
	free(text);
}

/* Nothing is written then, and nothing crashes. */
static void a_failure_stays(void **state)
{
	struct protobuf p = {.failed = true};
	uint32_t place;

	(void)state;
	place = protobuf_begin(&p, 1);
	protobuf_text(&p, 2, "text");
	protobuf_uint(&p, 3, 4);
	protobuf_end(&p, place);
	protobuf_clear(&p);
	assert_true(p.failed);
	assert_int_equal(p.size, 0);
	protobuf_release(&p);
}

/* Writes a random message, nested up to a depth. Readers must find what it wrote. */
static void write_random(struct prng *p, struct protobuf *out, uint32_t depth)
{
	for (uint64_t n = prng_below(p, 6); n > 0; n--) {
		uint32_t field = 1 + (uint32_t)prng_bits(p, 28);
		uint32_t place;

		switch (depth ? prng_below(p, 3) : prng_below(p, 2)) {
		case 0:
			protobuf_uint(out, field, prng_bits(p, 64));
			break;
		case 1:
			protobuf_text(out, field, prng_chance(p, 50) ? "abc" : "");
			break;
		default:
			place = protobuf_begin(out, field);
			write_random(p, out, depth - 1);
			protobuf_end(out, place);
		}
	}
}

static void read_random(struct prng *p, struct pb pb, uint32_t depth)
{
	struct pb_field field;

	for (uint64_t n = prng_below(p, 6); n > 0; n--) {
		uint32_t number = 1 + (uint32_t)prng_bits(p, 28);

		EXPECT(p, pb_next(&pb, &field));
		EXPECT(p, field.number == number);
		switch (depth ? prng_below(p, 3) : prng_below(p, 2)) {
		case 0:
			EXPECT(p, !field.has_bytes && field.value == prng_bits(p, 64));
			break;
		case 1:
			EXPECT(p, field.has_bytes &&
					  pb_size(field.bytes) == (prng_chance(p, 50) ? 3 : 0));
			break;
		default:
			EXPECT(p, field.has_bytes);
			read_random(p, field.bytes, depth - 1);
		}
	}
	EXPECT(p, !pb_next(&pb, &field));
}

/* Decodes the message with the reader that belongs to the encoder. */
static void read_with_ours(struct prng *p, struct protobuf_reader r, uint32_t depth)
{
	struct protobuf_field field;

	for (uint64_t n = prng_below(p, 6); n > 0; n--) {
		uint32_t number = 1 + (uint32_t)prng_bits(p, 28);

		EXPECT(p, protobuf_next(&r, &field));
		EXPECT(p, field.number == number);
		switch (depth ? prng_below(p, 3) : prng_below(p, 2)) {
		case 0:
			EXPECT(p, !field.bytes && field.value == prng_bits(p, 64));
			break;
		case 1:
			EXPECT(p, field.bytes && field.size == (prng_chance(p, 50) ? 3 : 0));
			break;
		default:
			EXPECT(p, field.bytes);
			read_with_ours(p, protobuf_inside(&field), depth - 1);
		}
	}
	EXPECT(p, !protobuf_next(&r, &field) && !r.failed);
}

static struct protobuf_reader reader_of(const char *bytes, size_t size)
{
	return (struct protobuf_reader){(const unsigned char *)bytes,
					(const unsigned char *)bytes + size, false};
}

#define READER(text) reader_of(text, sizeof(text) - 1)

static void what_is_no_message_fails(void **state)
{
	struct protobuf_reader wrong[] = {
		READER("\x08"),                                         /* no value */
		READER("\x80"),                                         /* half a tag */
		READER("\x08\x80"),                                     /* half a value */
		READER("\x00\x01"),                                     /* field 0 */
		READER("\x0a\x02x"),                                    /* text too short */
		READER("\x0a\xff\xff\xff\xff\xff\xff\xff\xff\x7fx"),    /* a length far too large */
		READER("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02"), /* more than 64 bits */
		READER("\x08\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01"), /* more than 10 bytes */
		READER("\x0b"),                                             /* a group */
		READER("\x0d\x01\x02\x03"),                                 /* half of 32 bits */
		READER("\x80\x80\x80\x80\x10\x01"),                         /* a field too large */
	};
	struct protobuf_field field;

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		while (protobuf_next(&wrong[i], &field))
			;
		if (!wrong[i].failed)
			fail_msg("message %zu", i);
		assert_false(protobuf_next(&wrong[i], &field)); /* the reader stays wrong */
	}
}

static void fixed_numbers_are_skipped(void **state)
{
	struct protobuf_reader r = READER("\x0d\x01\x02\x03\x04\x11\x01\x02\x03\x04\x05\x06\x07\x08"
					  "\x18\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01");
	struct protobuf_field field;

	(void)state;
	assert_true(protobuf_next(&r, &field));
	assert_int_equal(field.number, 3);
	assert_true(field.value == UINT64_MAX);
	assert_false(protobuf_next(&r, &field));
	assert_false(r.failed);
}

static void packed_values_are_read_again(void **state)
{
	struct protobuf p = {0};
	struct protobuf_reader r;
	struct protobuf_field field;
	uint32_t place = protobuf_begin(&p, 5);
	uint64_t value;

	(void)state;
	for (uint64_t i = 0; i < 64; i++)
		protobuf_packed(&p, UINT64_C(1) << i);
	protobuf_end(&p, place);
	protobuf_bytes(&p, 6, "\xff\0x", 3);
	r = reader_of((const char *)p.bytes, p.size);
	assert_true(protobuf_next(&r, &field));
	struct protobuf_reader values = protobuf_inside(&field);
	for (uint64_t i = 0; i < 64; i++) {
		assert_true(protobuf_next_packed(&values, &value));
		assert_true(value == UINT64_C(1) << i);
	}
	assert_false(protobuf_next_packed(&values, &value) || values.failed);
	assert_true(protobuf_next(&r, &field));
	assert_int_equal(field.size, 3);
	assert_memory_equal(field.bytes, "\xff\0x", 3);
	protobuf_release(&p);
}

static void random_messages_are_read_again(void **state)
{
	struct protobuf out = {0};

	(void)state;
	for (uint64_t round = 0; round < unit_rounds(1000); round++) {
		struct prng p = prng_round(round), again = p, third = p;

		protobuf_clear(&out);
		write_random(&p, &out, 5);
		assert_false(out.failed);
		read_random(&again, pb_of(out.bytes, out.size), 5);
		read_with_ours(&third, reader_of((const char *)out.bytes, out.size), 5);
	}
	protobuf_release(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fields_have_their_bytes),
		cmocka_unit_test(lengths_of_all_sizes),
		cmocka_unit_test(texts_are_utf8),
		cmocka_unit_test(a_text_may_be_long),
		cmocka_unit_test(a_failure_stays),
		cmocka_unit_test(what_is_no_message_fails),
		cmocka_unit_test(fixed_numbers_are_skipped),
		cmocka_unit_test(packed_values_are_read_again),
		cmocka_unit_test(random_messages_are_read_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
