/* SPDX-License-Identifier: MIT */
/* Messages of NVTX ranges that are opened with a payload. */
#include "unit.h"
#include <wchar.h>
#include "cupti_trace/launch/nvtx_names.h"
#include "cupti_trace/launch/nvtx_payload.h"

#define MESSAGE NVTX_ABI_ENTRY_IS_MESSAGE
#define FIXED NVTX_ABI_ENTRY_ARRAY_FIXED
#define ZERO NVTX_ABI_ENTRY_ARRAY_ZERO
#define POINTER (uint64_t) NVTX_ABI_ENTRY_IS_POINTER

/* An entry: flags, type, other fields. */
#define E(f, t, ...)                                     \
	{                                                \
		.flags = (f), .type = (t), ##__VA_ARGS__ \
	}

enum { INT = 5, INT8 = 11, DOUBLE = 20, BLOB = 32, UTF16 = 77 };

static uint64_t schema_of(uint32_t domain, const struct nvtx_abi_entry *entries, size_t count)
{
	const struct nvtx_abi_schema schema = {.entries = entries, .entry_count = count};

	return nvtx_schema(domain, &schema);
}

#define SCHEMA(...)                                                      \
	schema_of(0, (const struct nvtx_abi_entry[]){__VA_ARGS__},       \
		  sizeof((const struct nvtx_abi_entry[]){__VA_ARGS__}) / \
			  sizeof(struct nvtx_abi_entry))

static uint32_t name_in(uint32_t domain, uint64_t schema, const void *data, size_t size)
{
	const struct nvtx_abi_payload payload = {.schema = schema, .size = size, .data = data};

	return nvtx_payload_name(domain, &payload, 1);
}

#define expect(schema, data, expected) \
	assert_int_equal(name_in(0, schema, data, sizeof(*(data))), nvtx_name(0, expected, 0))
#define expect_none(schema, data) expect(schema, data, NULL)

static void pointers_to_text(void **state)
{
	const struct {
		const char *text;
	} first = {"first"}, none = {NULL};
	const struct {
		int8_t a;
		double b;
		int8_t c;
		const char *text;
	} last = {1, 2, 3, "last"};
	const struct {
		const wchar_t *text;
	} wide = {L"wide Ж"};
	uint64_t schema = SCHEMA(E(MESSAGE, NVTX_ABI_ENTRY_TEXT));

	(void)state;
	expect(schema, &first, "first");
	expect_none(schema, &none);
	assert_int_equal(name_in(0, schema, &first, SIZE_MAX), nvtx_name(0, "first", 0));
	assert_int_equal(name_in(0, schema, &first, 7), nvtx_name(0, NULL, 0));
	assert_int_equal(name_in(0, schema, NULL, 8), nvtx_name(0, NULL, 0));
	/* another domain has schemas of its own */
	assert_int_equal(name_in(3, schema, &first, 8), nvtx_name(3, NULL, 0));
	expect(SCHEMA(E(0, INT8), E(0, DOUBLE), E(0, INT8), E(MESSAGE, NVTX_ABI_ENTRY_TEXT_UTF8)),
	       &last, "last");
	expect(SCHEMA(E(MESSAGE, NVTX_ABI_ENTRY_TEXT, .offset = 24)), &last, "last");
	expect(SCHEMA(E(MESSAGE, NVTX_ABI_ENTRY_TEXT_UTF32)), &wide, "wide Ж");
	/* no message, text that is not read, and places that are not known */
	expect_none(SCHEMA(E(0, NVTX_ABI_ENTRY_TEXT)), &first);
	expect_none(SCHEMA(E(MESSAGE, UTF16)), &first);
	expect_none(SCHEMA(E(MESSAGE, DOUBLE)), &first);
	expect_none(SCHEMA(E(0, 1 << 24), E(MESSAGE, NVTX_ABI_ENTRY_TEXT)), &last);
	expect_none(SCHEMA(E(ZERO, INT8), E(MESSAGE, NVTX_ABI_ENTRY_TEXT)), &last);
	expect_none(SCHEMA(E(FIXED, INT8, .detail = UINT64_MAX), E(MESSAGE, NVTX_ABI_ENTRY_TEXT)),
		    &last);
	expect_none(SCHEMA(E(MESSAGE, NVTX_ABI_ENTRY_TEXT, .offset = UINT64_MAX)), &last);
}

static void arrays_of_characters(void **state)
{
	struct {
		int32_t rank;
		char text[8];
		const char *tail;
	} fixed = {1, "eight ch", "tail"};
	const char *behind = "behind a pointer";
	uint64_t schema = SCHEMA(E(0, INT), E(MESSAGE | FIXED, NVTX_ABI_ENTRY_CHAR, .detail = 8),
				 E(0, NVTX_ABI_ENTRY_TEXT));

	(void)state;
	expect(schema, &fixed, "eight ch");
	memcpy(fixed.text, "one\0xxx", 8);
	expect(schema, &fixed, "one");
	assert_int_equal(name_in(0, schema, &fixed, 11), nvtx_name(0, NULL, 0));
	expect(SCHEMA(E(0, INT), E(FIXED, NVTX_ABI_ENTRY_CHAR, .detail = 8),
		      E(MESSAGE, NVTX_ABI_ENTRY_TEXT)),
	       &fixed, "tail");
	expect(SCHEMA(E(0, INT), E(MESSAGE | ZERO, NVTX_ABI_ENTRY_CHAR8)), &fixed, "one");
	expect(SCHEMA(E(MESSAGE | ZERO | POINTER, NVTX_ABI_ENTRY_CHAR)), &behind,
	       "behind a pointer");
	expect(SCHEMA(E(MESSAGE | FIXED | POINTER, NVTX_ABI_ENTRY_CHAR, .detail = 6)), &behind,
	       "behind");
	expect_none(SCHEMA(E(MESSAGE | FIXED, NVTX_ABI_ENTRY_CHAR)), &fixed);
	expect_none(SCHEMA(E(MESSAGE, NVTX_ABI_ENTRY_CHAR)), &fixed);
}

static void payloads_that_are_texts_and_several_payloads(void **state)
{
	const struct nvtx_abi_payload payloads[] = {
		{.schema = INT, .size = 4, .data = &payloads},
		{.schema = NVTX_ABI_ENTRY_TEXT, .size = SIZE_MAX, .data = "a text"},
		{.schema = NVTX_ABI_ENTRY_TEXT, .size = SIZE_MAX, .data = "another"}};
	const void *registered = (const void *)(uintptr_t)nvtx_name(0, "registered", 0);

	(void)state;
	assert_int_equal(nvtx_payload_name(0, payloads, 3), nvtx_name(0, "a text", 0));
	assert_int_equal(nvtx_payload_name(0, payloads, 1), nvtx_name(0, NULL, 0));
	assert_int_equal(nvtx_payload_name(0, NULL, 3), nvtx_name(0, NULL, 0));
	assert_int_equal(name_in(0, NVTX_ABI_ENTRY_TEXT_UTF8, "cut here", 3),
			 nvtx_name(0, "cut", 0));
	expect(SCHEMA(E(MESSAGE, NVTX_ABI_ENTRY_REGISTERED)), &registered, "registered");
}

static void packed_structures(void **state)
{
	const struct __attribute__((packed)) {
		int8_t a;
		const char *text;
	} packed = {1, "packed"};
	const struct nvtx_abi_entry entries[] = {E(0, INT8), E(MESSAGE, NVTX_ABI_ENTRY_TEXT)};
	const struct nvtx_abi_schema schema = {.fields = NVTX_ABI_SCHEMA_HAS_ALIGNMENT,
					       .entries = entries,
					       .entry_count = 2,
					       .alignment = 1};

	(void)state;
	expect(nvtx_schema(0, &schema), &packed, "packed");
}

static void ids(void **state)
{
	const struct nvtx_abi_entry text = E(MESSAGE, NVTX_ABI_ENTRY_TEXT),
				    other = E(MESSAGE, NVTX_ABI_ENTRY_TEXT, .offset = 8);
	struct nvtx_abi_schema schema = {.fields = NVTX_ABI_SCHEMA_HAS_ID,
					 .entries = &text,
					 .entry_count = 1,
					 .id = 1 << 24};
	const char *texts[] = {"one", "two"};
	uint64_t first;

	(void)state;
	assert_int_equal(nvtx_schema(0, NULL), 0);
	assert_int_equal(nvtx_enumeration(NULL), 0);
	assert_int_equal(nvtx_schema(0, &schema), 1 << 24);
	expect(1 << 24, &texts, "one");
	schema.entries = &other; /* again */
	assert_int_equal(nvtx_schema(0, &schema), 1 << 24);
	expect(1 << 24, &texts, "two");
	schema.fields = 0;
	first = nvtx_schema(0, &schema);
	assert_true(first >= NVTX_ABI_SCHEMA_FIRST_OF_TOOL);
	for (int i = 0; i < NVTX_SCHEMAS_MAX; i++)
		assert_true(nvtx_schema(0, &schema) > first);
	expect_none(nvtx_schema(0, &schema), &texts);
	expect(first, &texts, "two");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pointers_to_text),
		cmocka_unit_test(arrays_of_characters),
		cmocka_unit_test(payloads_that_are_texts_and_several_payloads),
		cmocka_unit_test(packed_structures),
		cmocka_unit_test(ids),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
