// SPDX-License-Identifier: MIT
#include "unit.h"
#include "profiler/commands/otel_environment.h"

static struct otel_environment environment;
static struct http_target collector;
static struct log logger;
static struct capture captured;

static const char *const names[] = {"TRACEPARENT",
				    "TRACESTATE",
				    "OTEL_SDK_DISABLED",
				    "OTEL_SERVICE_NAME",
				    "OTEL_RESOURCE_ATTRIBUTES",
				    "OTEL_EXPORTER_OTLP_ENDPOINT",
				    "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
				    "OTEL_EXPORTER_OTLP_PROTOCOL",
				    "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL",
				    "OTEL_EXPORTER_OTLP_HEADERS",
				    "OTEL_EXPORTER_OTLP_TRACES_HEADERS",
				    "OTEL_EXPORTER_OTLP_TIMEOUT",
				    "OTEL_EXPORTER_OTLP_COMPRESSION",
				    "OTEL_EXPORTER_OTLP_CERTIFICATE"};

static int clear(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		unsetenv(names[i]);
	return 0;
}

/* Reads the environment. Messages are in captured.text. */
static bool read_it(void)
{
	bool is_good;

	otel_environment_release(&environment);
	capture_begin(&captured);
	is_good = otel_environment_read(&environment, &logger);
	capture_end(&captured);
	return is_good;
}

static bool find(const char *where)
{
	bool is_good;

	assert_true(read_it());
	capture_begin(&captured);
	is_good = otel_environment_collector(&environment, &logger, where, &collector);
	capture_end(&captured);
	return is_good;
}

/* Reads a list of attributes: how many there are, or -1 if it is refused. */
static int read_attributes(const char *list)
{
	setenv("OTEL_RESOURCE_ATTRIBUTES", list, 1);
	assert_true(read_it());
	if (!captured.text[0])
		return (int)environment.spans.resource_count;
	assert_non_null(strstr(captured.text, "OTEL_RESOURCE_ATTRIBUTES is not a list"));
	assert_int_equal(environment.spans.resource_count, 0);
	return -1;
}

static void expect_attribute(uint32_t at, const char *key, const char *value)
{
	assert_string_equal(environment.spans.resource[at].key, key);
	assert_string_equal(environment.spans.resource[at].value, value);
}

static void attributes_of_the_resource(void **state)
{
	char many[2048] = "";
	size_t used = 0;

	(void)state;
	assert_true(read_it());
	assert_int_equal(environment.spans.resource_count, 0);
	assert_null(environment.spans.service);
	assert_int_equal(read_attributes("a=1,b.c = x%2Cy%3d ,e="), 3);
	expect_attribute(0, "a", "1");
	expect_attribute(1, "b.c", "x,y=");
	expect_attribute(2, "e", "");
	assert_int_equal(read_attributes("a=1=2,"), 1);
	expect_attribute(0, "a", "1=2");
	/* the last one of a key counts */
	assert_int_equal(read_attributes("a=1,b=2,a=3"), 2);
	expect_attribute(0, "a", "3");
	assert_int_equal(read_attributes("a"), -1);
	assert_int_equal(read_attributes("a=1,b"), -1);
	assert_int_equal(read_attributes("=1"), -1);
	assert_int_equal(read_attributes("a=1,,b=2"), -1);
	assert_int_equal(read_attributes("a=%"), -1);
	assert_int_equal(read_attributes("a=%4"), -1);
	assert_int_equal(read_attributes("a=%4g"), -1);
	assert_int_equal(read_attributes("a=%00b"), -1);
	assert_int_equal(read_attributes("%00=b"), -1);
	for (uint32_t i = 0; i < OTEL_RESOURCE_MAX; i++)
		used += (size_t)snprintf(many + used, sizeof(many) - used, "k%u=v,", i);
	assert_int_equal(read_attributes(many), OTEL_RESOURCE_MAX);
	snprintf(many + used, sizeof(many) - used, "more=v");
	assert_int_equal(read_attributes(many), -1);
	setenv("OTEL_SERVICE_NAME", "s", 1);
	assert_true(read_it());
	assert_string_equal(environment.spans.service, "s");
	setenv("OTEL_SERVICE_NAME", "", 1);
	assert_true(read_it());
	assert_null(environment.spans.service);
}

static void the_trace(void **state)
{
	(void)state;
	setenv("TRACESTATE", "a=1", 1);
	assert_true(read_it());
	assert_false(environment.spans.context.has_parent);
	assert_string_equal(environment.spans.context.state, "");
	setenv("TRACEPARENT", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", 1);
	assert_true(read_it());
	assert_true(environment.spans.context.has_parent);
	assert_string_equal(environment.spans.context.state, "a=1");
	assert_string_equal(captured.text, "");
	setenv("TRACEPARENT", "nonsense", 1);
	assert_true(read_it());
	assert_false(environment.spans.context.has_parent);
	assert_string_equal(environment.spans.context.state, "");
	assert_non_null(strstr(captured.text, "TRACEPARENT is not"));
}

#define assert_url(where, expected)                           \
	do {                                                  \
		assert_true(find(where));                     \
		assert_string_equal(collector.url, expected); \
	} while (0)

static void where_the_collector_is(void **state)
{
	char longest[HTTP_URL_BYTES + 1];

	(void)state;
	assert_url("http://h:4318", "http://h:4318/v1/traces");
	assert_url("http://h:4318/", "http://h:4318/v1/traces");
	assert_url("http://h/x", "http://h/x");
	assert_url("https://h?key=1", "https://h?key=1");
	assert_false(find("env"));
	setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://all/base", 1);
	assert_url("env", "http://all/base/v1/traces");
	setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://all/base/", 1);
	assert_url("env", "http://all/base/v1/traces");
	setenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://traces", 1);
	assert_url("env", "http://traces");
	assert_url("http://h/x", "http://h/x");
	setenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "traces:4318", 1);
	assert_false(find("env"));
	assert_non_null(strstr(captured.text, "it must begin with http:// or https://"));
	unsetenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT");
	memset(longest, 'x', HTTP_URL_BYTES);
	memcpy(longest, "http://h/", strlen("http://h/"));
	longest[HTTP_URL_BYTES - 5] = '\0';
	assert_url(longest, longest);
	setenv("OTEL_EXPORTER_OTLP_ENDPOINT", longest, 1);
	assert_false(find("env"));
	assert_non_null(strstr(captured.text, "too long"));
}

static void how_it_is_reached(void **state)
{
	(void)state;
	assert_true(find("http://h"));
	assert_null(collector.headers);
	assert_null(collector.ca_file);
	assert_false(collector.is_compressed);
	assert_int_equal(collector.request_ms, 0);
	assert_int_equal(environment.encoding, OTLP_PROTOBUF);
	setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "http/json", 1);
	setenv("OTEL_EXPORTER_OTLP_HEADERS", "a=1", 1);
	setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "1500", 1);
	setenv("OTEL_EXPORTER_OTLP_COMPRESSION", "gzip", 1);
	setenv("OTEL_EXPORTER_OTLP_CERTIFICATE", "/ca.pem", 1);
	assert_true(find("http://h"));
	assert_string_equal(collector.headers, "a=1");
	assert_string_equal(collector.ca_file, "/ca.pem");
	assert_true(collector.is_compressed);
	assert_int_equal(collector.request_ms, 1500);
	assert_int_equal(environment.encoding, OTLP_JSON);
	setenv("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "http/protobuf", 1);
	setenv("OTEL_EXPORTER_OTLP_TRACES_HEADERS", "b=2", 1);
	assert_true(find("http://h"));
	assert_string_equal(collector.headers, "b=2");
	assert_int_equal(environment.encoding, OTLP_PROTOBUF);
	setenv("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "grpc", 1);
	assert_false(find("http://h"));
}

static void wrong_values_are_left_out(void **state)
{
	static const char *const wrong[] = {"10s", "-1", " 1", "600001", "99999999999999999999"};

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		setenv("OTEL_EXPORTER_OTLP_TIMEOUT", wrong[i], 1);
		assert_true(find("http://h"));
		assert_int_equal(collector.request_ms, 0);
		assert_non_null(strstr(captured.text, "OTEL_EXPORTER_OTLP_TIMEOUT is not"));
	}
	unsetenv("OTEL_EXPORTER_OTLP_TIMEOUT");
	setenv("OTEL_EXPORTER_OTLP_COMPRESSION", "zstd", 1);
	assert_true(find("http://h"));
	assert_false(collector.is_compressed);
	assert_non_null(strstr(captured.text, "neither gzip nor none"));
	setenv("OTEL_EXPORTER_OTLP_COMPRESSION", "none", 1);
	assert_true(find("http://h"));
	assert_string_equal(captured.text, "");
}

static void it_may_be_disabled(void **state)
{
	static const struct {
		const char *value;
		bool disables, is_wrong;
	} cases[] = {
		{"true", true, false},   {"TRUE", true, false}, {"True", true, false},
		{"false", false, false}, {"", false, false},    {"False", false, false},
		{"1", false, true},      {"yes", false, true},  {"true ", false, true},
	};

	(void)state;
	assert_false(otel_environment_disables(&logger));
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		bool disables;

		setenv("OTEL_SDK_DISABLED", cases[i].value, 1);
		capture_begin(&captured);
		disables = otel_environment_disables(&logger);
		capture_end(&captured);
		assert_int_equal(disables, cases[i].disables);
		assert_int_equal(strstr(captured.text, "neither true nor false") != NULL,
				 cases[i].is_wrong);
	}
}

static int end(void **state)
{
	(void)state;
	otel_environment_release(&environment);
	return 0;
}

#define TEST(name) cmocka_unit_test_setup(name, clear)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(attributes_of_the_resource), TEST(the_trace),
		TEST(where_the_collector_is),     TEST(how_it_is_reached),
		TEST(wrong_values_are_left_out),  TEST(it_may_be_disabled),
	};

	return cmocka_run_group_tests(tests, NULL, end);
}
