// SPDX-License-Identifier: MIT
#include "unit.h"
#include "profiler/send/http_headers.h"

static void fields_are_decoded(void **state)
{
	struct http_headers headers = {.count = 0};

	(void)state;
	assert_null(http_headers_add(&headers, NULL));
	assert_null(http_headers_add(&headers, " , "));
	assert_int_equal(headers.count, 0);
	assert_null(http_headers_add(
		&headers, "Authorization=Bearer%20a%3Db, X-Scope-OrgID = team=1 ,empty="));
	assert_int_equal(headers.count, 3);
	assert_string_equal(headers.lines[0], "Authorization: Bearer a=b");
	assert_string_equal(headers.lines[1], "X-Scope-OrgID: team=1");
	assert_string_equal(headers.lines[2], "empty;");
	http_headers_release(&headers);
}

static void what_would_make_other_fields_is_refused(void **state)
{
	static const char *const wrong[] = {"name",    "=value", "na me=value", "a=b%0d%0ac",
					    "a=b%00c", "a:b=c",  "a=b\nc",      "x=1,a=%7f,y=2"};
	struct http_headers headers = {.count = 0};
	char many[5 * HTTP_HEADERS_MAX + 5] = "";

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_non_null(http_headers_add(&headers, wrong[i]));
	http_headers_release(&headers);
	for (int i = 0; i <= HTTP_HEADERS_MAX; i++)
		memcpy(many + 4 * i, "a=b,", 5);
	assert_non_null(http_headers_add(&headers, many));
	assert_int_equal(headers.count, HTTP_HEADERS_MAX);
	http_headers_release(&headers);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fields_are_decoded),
		cmocka_unit_test(what_would_make_other_fields_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
