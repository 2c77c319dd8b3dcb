/* SPDX-License-Identifier: MIT */
/* What a user types is what is shown. */
#include "unit.h"
#include "profiler/base/command_text.h"

static void expect(const char *const *words, const char *expected)
{
	char *text = command_text((char *const *)words);

	assert_string_equal(text, expected);
	free(text);
}

#define EXPECT_TEXT(expected, ...) expect((const char *const[]){__VA_ARGS__, NULL}, expected)

static void words_are_quoted_where_a_shell_needs_it(void **state)
{
	(void)state;
	EXPECT_TEXT("./train.py --lr=1e-3 a/b,c:d", "./train.py", "--lr=1e-3", "a/b,c:d");
	EXPECT_TEXT("sh -c 'echo \"$HOME\"; ls'", "sh", "-c", "echo \"$HOME\"; ls");
	EXPECT_TEXT("x '' 'it'\\''s'", "x", "", "it's");
	expect((const char *const[]){NULL}, "");
}

static void nothing_controls_a_terminal(void **state)
{
	(void)state;
	EXPECT_TEXT("'a?b' '?[31m'", "a\nb", "\x1b[31m");
}

static void long_ones_are_cut(void **state)
{
	static char word[3 * COMMAND_TEXT_BYTES];
	char *text;

	(void)state;
	memset(word, 'a', sizeof(word) - 1);
	text = command_text((char *const[]){word, word, NULL});
	assert_int_equal(strlen(text), COMMAND_TEXT_BYTES);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(words_are_quoted_where_a_shell_needs_it),
		cmocka_unit_test(nothing_controls_a_terminal),
		cmocka_unit_test(long_ones_are_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
