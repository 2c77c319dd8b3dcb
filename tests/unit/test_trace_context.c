// SPDX-License-Identifier: MIT
#include "unit.h"
#include "profiler/base/trace_context.h"

#define TRACE "0af7651916cd43dd8448eb211c80319c"
#define PARENT "b7ad6b7169203331"

static struct trace_context context;

static int parse(const char *parent)
{
	memset(&context, 0xff, sizeof(context));
	return trace_context_continue(&context, parent, NULL);
}

#define assert_valid(text) assert_int_equal(parse(text), 0)
#define assert_invalid(text) assert_int_equal(parse(text), -EINVAL)

static void the_callers_trace_goes_on(void **state)
{
	static const uint8_t trace[] = {0x0a, 0xf7, 0x65, 0x19, 0x16, 0xcd, 0x43, 0xdd,
					0x84, 0x48, 0xeb, 0x21, 0x1c, 0x80, 0x31, 0x9c};
	static const uint8_t parent[] = {0xb7, 0xad, 0x6b, 0x71, 0x69, 0x20, 0x33, 0x31};

	(void)state;
	assert_valid("00-" TRACE "-" PARENT "-01");
	assert_memory_equal(context.trace_id, trace, sizeof(trace));
	assert_memory_equal(context.parent_id, parent, sizeof(parent));
	assert_true(context.has_parent);
	assert_int_equal(context.flags, TRACE_SAMPLED);
	assert_string_equal(context.state, "");
	assert_valid("00-" TRACE "-" PARENT "-00");
	assert_int_equal(context.flags, 0);
	/* flags that are not defined yet are not passed on */
	assert_valid("00-" TRACE "-" PARENT "-ff");
	assert_int_equal(context.flags, TRACE_SAMPLED | TRACE_ID_IS_RANDOM);
}

static void only_what_is_allowed_is_a_context(void **state)
{
	(void)state;
	assert_invalid("");
	assert_invalid("00");
	assert_invalid("00-" TRACE "-" PARENT);
	assert_invalid("00-" TRACE "-" PARENT "-1");
	assert_invalid("00-" TRACE "-" PARENT "-01-");
	assert_invalid("00-" TRACE "-" PARENT "-01 ");
	assert_invalid(" 00-" TRACE "-" PARENT "-01");
	assert_invalid("00-" TRACE "-" PARENT "-0A");
	assert_invalid("00-" TRACE "-" PARENT "-0g");
	assert_invalid("00_" TRACE "-" PARENT "-01");
	assert_invalid("00-" TRACE "_" PARENT "-01");
	assert_invalid("00-" TRACE "-" PARENT "_01");
	assert_invalid("0-0" TRACE "-" PARENT "-01");
	assert_invalid("00-0AF7651916CD43DD8448EB211C80319C-" PARENT "-01");
	assert_invalid("00-00000000000000000000000000000000-" PARENT "-01");
	assert_invalid("00-" TRACE "-0000000000000000-01");
	assert_invalid("ff-" TRACE "-" PARENT "-01");
}

static void later_versions_may_have_more(void **state)
{
	(void)state;
	assert_valid("01-" TRACE "-" PARENT "-01");
	assert_valid("cc-" TRACE "-" PARENT "-01-what the future will be like");
	assert_invalid("cc-" TRACE "-" PARENT "-01.what");
}

/* Expects this state; `expected` NULL: unchanged */
static void expect_state(const char *text, const char *expected)
{
	assert_int_equal(trace_context_continue(&context, "00-" TRACE "-" PARENT "-01", text), 0);
	assert_string_equal(context.state, expected ? expected : text);
}

static void a_state_is_passed_on_or_left_out(void **state)
{
	char text[TRACE_STATE_BYTES + 2] = "", *at = text;

	(void)state;
	expect_state("rojo=00f067aa0ba902b7,congo=t61rcWkgMzE", NULL);
	expect_state("a=1 , b=2,,\tc@d=x y!", NULL);
	expect_state("1a-_*/@z=~", NULL);
	expect_state("a=1,A=2", "");
	expect_state("a", "");
	expect_state("a=", "");
	expect_state("=1", "");
	expect_state("a=1;b=2=3", "");
	expect_state("a=1,a=2", "");
	expect_state("a=\xc3\xa4", "");
	expect_state("a=1\n", "");
	for (int i = 0; i < 32; i++)
		at += snprintf(at, 16, "%sk%d=v", i ? "," : "", i);
	expect_state(text, NULL);
	memcpy(at, ",x=y", sizeof(",x=y"));
	expect_state(text, "");
	memset(text, 'v', sizeof(text) - 1);
	memcpy(text, "k=", 2);
	text[2 + 256] = '\0';
	expect_state(text, NULL);
	text[2 + 256] = 'v';
	text[2 + 257] = '\0';
	expect_state(text, "");
	memset(text, ',', sizeof(text) - 1);
	expect_state(text, "");
	text[TRACE_STATE_BYTES] = '\0';
	expect_state(text, NULL);
}

static int compare(const void *a, const void *b)
{
	return memcmp(a, b, SPAN_ID_BYTES);
}

static void spans_have_numbers_of_their_own(void **state)
{
	enum { SPANS = 100000 };
	uint8_t(*ids)[SPAN_ID_BYTES] = calloc(2 * SPANS, SPAN_ID_BYTES), again[SPAN_ID_BYTES];
	struct trace_context other;
	uint32_t ones = 0;

	(void)state;
	assert_int_equal(trace_context_begin(&context), 0);
	assert_int_equal(trace_context_begin(&other), 0);
	assert_false(context.has_parent);
	assert_int_equal(context.flags, TRACE_SAMPLED | TRACE_ID_IS_RANDOM);
	assert_memory_not_equal(context.trace_id, other.trace_id, TRACE_ID_BYTES);
	for (uint32_t i = 0; i < SPANS; i++) {
		trace_context_span_id(&context, i, ids[2 * i]);
		trace_context_span_id(&other, i, ids[2 * i + 1]);
		ones += (uint32_t)__builtin_popcount(ids[2 * i][0]);
	}
	trace_context_span_id(&context, 7, again);
	assert_memory_equal(again, ids[14], SPAN_ID_BYTES);
	assert_in_range(ones, SPANS * 39 / 10, SPANS * 41 / 10); /* 4 of 8 bits by chance */
	qsort(ids, 2 * SPANS, SPAN_ID_BYTES, compare);
	for (uint32_t i = 1; i < 2 * SPANS; i++)
		assert_memory_not_equal(ids[i - 1], ids[i], SPAN_ID_BYTES);
	free(ids);
}

/* Zero is no number of a span; the place that it belongs to has another. */
static void no_span_has_the_number_zero(void **state)
{
	uint8_t id[SPAN_ID_BYTES], before[SPAN_ID_BYTES];
	static const uint8_t zero[SPAN_ID_BYTES];

	(void)state;
	context = (struct trace_context){.seed = UINT64_MAX - 4};
	for (uint64_t i = 0; i < 10; i++) {
		trace_context_span_id(&context, i, id);
		assert_memory_not_equal(id, zero, sizeof(id));
		if (i)
			assert_memory_not_equal(id, before, sizeof(id));
		memcpy(before, id, sizeof(id));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_callers_trace_goes_on),
		cmocka_unit_test(only_what_is_allowed_is_a_context),
		cmocka_unit_test(later_versions_may_have_more),
		cmocka_unit_test(a_state_is_passed_on_or_left_out),
		cmocka_unit_test(spans_have_numbers_of_their_own),
		cmocka_unit_test(no_span_has_the_number_zero),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
