/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "symbolize/place_name.h"

static void expect_name(const char *path, const uint64_t *start, const char *expected)
{
	char *name = place_name(path, start);

	assert_non_null(name);
	assert_string_equal(name, expected);
	/* the name's file part is found again */
	assert_int_equal(place_name_file(name), start ? strrchr(expected, '+') - expected : 0);
	free(name);
}

static void names_are_the_file_and_where_the_function_begins(void **state)
{
	static const uint64_t starts[] = {0, 0x1a2b0, UINT64_MAX};

	(void)state;
	expect_name("/usr/lib/libfoo.so.1", NULL, "[libfoo.so.1]");
	expect_name("/usr/lib/libfoo.so.1", &starts[1], "[libfoo.so.1+0x1a2b0]");
	expect_name("app", &starts[0], "[app+0x0]");
	expect_name("/a/", &starts[2], "[+0xffffffffffffffff]");
	expect_name("/opt/libstdc++.so.6", NULL, "[libstdc++.so.6]");
	expect_name("/opt/libstdc++.so.6", &starts[1], "[libstdc++.so.6+0x1a2b0]");
}

static void other_names_are_not_taken_for_them(void **state)
{
	static const char *const names[] = {
		"",
		"[",
		"[]",
		"[app]",
		"app+0x10]",
		"[app+]",
		"[app+0x]",
		"[app+0x10",
		"[app+0x10] ",
		"[app+0x1g]",
		"[app+10]",
		"[kernel]",
		"[app+0x10]+0x20",
		"[app+0X10]",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (place_name_file(names[i]) != 0)
			fail_msg("%s", names[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_are_the_file_and_where_the_function_begins),
		cmocka_unit_test(other_names_are_not_taken_for_them),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
