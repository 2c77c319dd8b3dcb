// SPDX-License-Identifier: MIT
/* Both encodings of one message, and what a collector answers. */
#include "unit.h"
#include "profiler/formats/otlp.h"
#include "profiler/send/otlp_answer.h"

static struct otlp otlp;
static const void *bytes;
static size_t size;

static void put_message(void)
{
	static const uint8_t id[] = {0x00, 0x01, 0xfe, 0xff};
	static const uint32_t numbers[] = {7, UINT32_MAX};

	otlp_open_list(&otlp, "items");
	for (uint32_t i = 0; i < 2; i++) {
		otlp_open(&otlp, 1, NULL);
		otlp_uint(&otlp, 2, "number", 300);
		otlp_close(&otlp);
	}
	otlp_close_list(&otlp);
	otlp_open(&otlp, 3, "inner");
	otlp_id(&otlp, 1, "id", id, sizeof(id));
	otlp_fixed64(&otlp, 2, "time", UINT64_MAX);
	otlp_fixed32(&otlp, 3, "flags", 0x0301);
	otlp_open_attributes(&otlp, 4);
	otlp_attribute_text(&otlp, "t", "x\"\x01\xff");
	otlp_attribute_uint(&otlp, "u", UINT64_MAX);
	otlp_attribute_bool(&otlp, "b", true);
	otlp_attribute_uints(&otlp, "n", numbers, 2);
	otlp_attribute_texts(&otlp, "w", (char *[]){(char *)"a", (char *)"", NULL});
	otlp_close_list(&otlp);
	otlp_close(&otlp);
}

static void as_json(void **state)
{
	static const char expected[] =
		"{\"items\":[{\"number\":300},{\"number\":300}],"
		"\"inner\":{\"id\":\"0001feff\",\"time\":\"18446744073709551615\",\"flags\":769,"
		"\"attributes\":[{\"key\":\"t\",\"value\":{\"stringValue\":\"x\\\"\\u0001?\"}},"
		"{\"key\":\"u\",\"value\":{\"intValue\":\"9223372036854775807\"}},"
		"{\"key\":\"b\",\"value\":{\"boolValue\":true}},"
		"{\"key\":\"n\",\"value\":{\"arrayValue\":{\"values\":[{\"intValue\":\"7\"},"
		"{\"intValue\":\"4294967295\"}]}}},"
		"{\"key\":\"w\",\"value\":{\"arrayValue\":{\"values\":[{\"stringValue\":\"a\"},"
		"{\"stringValue\":\"\"}]}}}]}}\n";

	(void)state;
	/* a message that was never ended is dropped */
	assert_int_equal(otlp_begin(&otlp, OTLP_JSON), 0);
	otlp_text(&otlp, 1, "lost", "lost");
	assert_int_equal(otlp_begin(&otlp, OTLP_JSON), 0);
	put_message();
	assert_int_equal(otlp_end(&otlp, &bytes, &size), 0);
	assert_int_equal(size, sizeof(expected) - 1);
	assert_memory_equal(bytes, expected, size);
	otlp_release(&otlp);
}

static void as_protocol_buffers(void **state)
{
	static const char expected[] =
		"\x0a\x03\x10\xac\x02\x0a\x03\x10\xac\x02"
		"\x1a\x62\x0a\x04\x00\x01\xfe\xff"
		"\x11\xff\xff\xff\xff\xff\xff\xff\xff"
		"\x1d\x01\x03\x00\x00"
		"\x22\x0b\x0a\x01t\x12\x06\x0a\x04x\"\x01?"
		"\x22\x0f\x0a\x01u\x12\x0a\x18\xff\xff\xff\xff\xff\xff\xff\xff\x7f"
		"\x22\x07\x0a\x01"
		"b\x12\x02\x10\x01"
		"\x22\x13\x0a\x01n\x12\x0e\x2a\x0c\x0a\x02\x18\x07\x0a\x06\x18\xff\xff\xff\xff\x0f"
		"\x22\x10\x0a\x01w\x12\x0b\x2a\x09\x0a\x03\x0a\x01"
		"a\x0a\x02\x0a\x00";

	(void)state;
	assert_int_equal(otlp_begin(&otlp, OTLP_PROTOBUF), 0);
	otlp_text(&otlp, 1, "lost", "lost");
	assert_int_equal(otlp_begin(&otlp, OTLP_PROTOBUF), 0);
	put_message();
	assert_int_equal(otlp_end(&otlp, &bytes, &size), 0);
	assert_int_equal(size, sizeof(expected) - 1);
	assert_memory_equal(bytes, expected, size);
	otlp_release(&otlp);
}

/* Long texts are cut at 4096 bytes, between two characters. A megabyte costs no more than its
 * start. */
static void long_texts_are_cut(void **state)
{
	const size_t length = 1 << 20;
	char *text = malloc(length + 1);

	(void)state;
	for (size_t i = 0; i + 3 <= length; i += 3)
		memcpy(text + i, "\xe2\x82\xac", 3);
	text[length - length % 3] = '\0';
	for (int encoding = OTLP_PROTOBUF; encoding <= OTLP_JSON; encoding++) {
		const size_t rest = encoding == OTLP_JSON ? strlen("{\"t\":\"\"}\n") : 3;

		assert_int_equal(otlp_begin(&otlp, (enum otlp_encoding)encoding), 0);
		otlp_text(&otlp, 1, "t", text);
		assert_int_equal(otlp_end(&otlp, &bytes, &size), 0);
		assert_int_equal(size, OTLP_TEXT_BYTES - OTLP_TEXT_BYTES % 3 + rest);
	}
	text[OTLP_TEXT_BYTES - 1] = 'x'; /* an 'x' in the middle of a character */
	text[OTLP_TEXT_BYTES] = '\0';
	assert_int_equal(otlp_begin(&otlp, OTLP_PROTOBUF), 0);
	otlp_text(&otlp, 1, "t", text);
	assert_int_equal(otlp_end(&otlp, &bytes, &size), 0);
	assert_int_equal(size, OTLP_TEXT_BYTES + 3);
	otlp_release(&otlp);
	free(text);
}

#define assert_refused(text, count) \
	assert_int_equal(otlp_answer_refused(text, sizeof(text) - 1), count)

static void what_a_collector_refuses(void **state)
{
	(void)state;
	assert_refused("", 0);
	assert_refused("{}", 0);
	assert_refused("{\"partialSuccess\":{}}", 0);
	assert_refused("{\"partialSuccess\":{\"rejectedSpans\":\"12\",\"errorMessage\":\"x\"}}",
		       12);
	assert_refused("{\"partialSuccess\":{\"errorMessage\":\"9\",\"rejectedProfiles\":3}}", 3);
	assert_refused("{\"partialSuccess\":{\"rejectedSpans\":\"-1\"}}", 0);
	assert_refused("{\"partialSuccess\":{\"rejectedSpans\":-1}}", 0);
	assert_refused("{\"partialSuccess\":{\"rejectedSpans\":\"99999999999999999999\"}}", 0);
	assert_refused("{\"partialSuccess\":[1]}", 0);
	assert_refused("{\"partialSuccess\":7", 0);
	assert_refused("\x0a\x00", 0);
	assert_refused("\x0a\x05\x08\xac\x02\x12\x00", 300);
	assert_refused("\x0a\x0b\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 0); /* -1 */
	assert_refused("\x0a\x7f\x08\x01", 0);
	assert_refused("<html>busy</html>", 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(as_json),
		cmocka_unit_test(as_protocol_buffers),
		cmocka_unit_test(long_texts_are_cut),
		cmocka_unit_test(what_a_collector_refuses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
