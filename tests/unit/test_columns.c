/* SPDX-License-Identifier: MIT */
/* Widths of text on a terminal. */
#include "unit.h"
#include "profiler/base/columns.h"

static void characters_have_their_widths(void **state)
{
	(void)state;
	assert_int_equal(columns_of(""), 0);
	assert_int_equal(columns_of("gemm<float>"), 11);
	assert_int_equal(columns_of("\xc3\xa9t\xc3\xa9"), 3);
	assert_int_equal(columns_of("e\xcc\x81"), 1);                /* a combining accent */
	assert_int_equal(columns_of("\xe6\xbc\xa2\xe5\xad\x97"), 4); /* CJK */
	assert_int_equal(columns_of("\xed\x95\x9c"), 2);             /* Hangul */
	assert_int_equal(columns_of("\xf0\x9f\x9a\x80"), 2);         /* a rocket */
	assert_int_equal(columns_of("\xe2\x80\xa6"), 1);             /* an ellipsis */
	assert_int_equal(columns_of("\xef\xbb\xbf"), 0);     /* no-break space without width */
	assert_int_equal(columns_of("\xf0\x90\x80\x80"), 1); /* Linear B */
}

static void only_whole_characters_fit(void **state)
{
	unsigned int taken;

	(void)state;
	assert_int_equal(columns_fit("abc", 2, &taken), 2);
	assert_int_equal(taken, 2);
	assert_int_equal(columns_fit("abc", 10, &taken), 3);
	assert_int_equal(taken, 3);
	/* half of a wide character does not fit */
	assert_int_equal(columns_fit("a\xe6\xbc\xa2", 2, &taken), 1);
	assert_int_equal(taken, 1);
	/* an accent goes with its letter */
	assert_int_equal(columns_fit("e\xcc\x81x", 1, &taken), 3);
	assert_int_equal(taken, 1);
	assert_int_equal(columns_fit("x", 0, &taken), 0);
	/* bytes that are no text take one column each, and end */
	assert_int_equal(columns_fit("\xff\xe6\xbc", 5, &taken), 3);
	assert_int_equal(taken, 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(characters_have_their_widths),
		cmocka_unit_test(only_whole_characters_fit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
