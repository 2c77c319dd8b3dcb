/* SPDX-License-Identifier: MIT */
/* The text that asks the library: written and read again, and texts of no profiler. */
#include "unit.h"
#include "cupti_trace/wire/trace_config.h"

static void decode(struct trace_config *config, char text[4096], const char *source)
{
	snprintf(text, 4096, "%s", source);
	trace_config_decode(config, text);
}

static void all_is_read_as_it_was_written(void **state)
{
	const struct trace_config all = {
#define ON(member, word) .member = true,
#define LARGEST(member, word) .member = UINT32_MAX,
#define ODD(member, word) .member = "a b%=\n\x1f\xff " word,
		TRACE_CONFIG_SWITCHES(ON) TRACE_CONFIG_NUMBERS(LARGEST) TRACE_CONFIG_TEXTS(ODD)};
	struct trace_config config;
	char text[4096];

	(void)state;
	assert_true(trace_config_encode(&all, text, sizeof(text)));
	for (const char *c = text; *c; c++)
		assert_true((unsigned char)*c >= ' ');
	trace_config_decode(&config, text);
#define EQUAL(member, word) assert_int_equal(config.member, all.member);
#define EQUAL_TEXT(member, word) assert_string_equal(config.member, all.member);
	TRACE_CONFIG_SWITCHES(EQUAL)
	TRACE_CONFIG_NUMBERS(EQUAL)
	TRACE_CONFIG_TEXTS(EQUAL_TEXT)
}

static void nothing_is_an_empty_text(void **state)
{
	const struct trace_config none = {.stacks = false};
	struct trace_config config;
	char text[4096];

	(void)state;
	assert_true(trace_config_encode(&none, text, sizeof(text)));
	assert_string_equal(text, "");
	memset(&config, 0xff, sizeof(config));
	trace_config_decode(&config, text);
	assert_memory_equal(&config, &none, sizeof(none));
}

static void what_does_not_fit_is_told(void **state)
{
	const struct trace_config config = {.stacks = true, .ranges = "a b"};
	const char whole[] = "stacks ranges=a%20b";
	char text[sizeof(whole)];

	(void)state;
	assert_true(trace_config_encode(&config, text, sizeof(text)));
	assert_string_equal(text, whole);
	for (size_t size = 0; size < sizeof(text); size++)
		assert_false(trace_config_encode(&config, text, size));
}

static void anything_else_is_passed_over(void **state)
{
	struct trace_config config;
	char text[4096];

	(void)state;
	decode(&config, text, "stack  stacksstacks stacks= waits=1 =x metrics waited");
	assert_true(config.waited);
	assert_false(config.stacks || config.waits);
	assert_null(config.metrics);
	decode(&config, text,
	       "stall-period=-1 max-overhead=4294967296 stall-period=1x stall-period=");
	assert_int_equal(config.stall_period, 0);
	assert_int_equal(config.max_overhead, 0);
	decode(&config, text, "ranges=%4 metrics=%zz metrics-kernels=%00a%25");
	assert_string_equal(config.ranges, "%4");
	assert_string_equal(config.metrics, "%zz");
	assert_string_equal(config.metrics_kernels, "%00a%");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_is_read_as_it_was_written),
		cmocka_unit_test(nothing_is_an_empty_text),
		cmocka_unit_test(what_does_not_fit_is_told),
		cmocka_unit_test(anything_else_is_passed_over),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
