/* SPDX-License-Identifier: MIT */
/* Commands are shown as the user typed them. */
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

/* Expects this text of `size` bytes of packed words; NULL: none. */
static void expect_packed(char *packed, size_t size, const char *expected)
{
	char *text = command_text_packed(packed, size);

	if (expected)
		assert_string_equal(text, expected);
	else
		assert_null(text);
	free(text);
}

static void packed_words_are_taken_apart(void **state)
{
	char many[2 * 1100 + 1] = "", empty[] = "", words[] = "a\0\0b c\0", cut[] = "a\0bc";
	char *text;

	(void)state;
	expect_packed(empty, 0, NULL);
	expect_packed(empty, 1, "''");
	expect_packed(words, sizeof(words) - 1, "a '' 'b c'");
	expect_packed(cut, sizeof(cut) - 1, "a bc");
	for (size_t i = 0; i < 1100; i++)
		many[2 * i] = 'x';
	text = command_text_packed(many, sizeof(many) - 1);
	assert_int_equal(strlen(text), 2 * 1024 - 1);
	free(text);
}

/* Splits a shown command again, and expects these words. */
static void expect_words(const char *text, const char *const *expected)
{
	char **words = command_words(text);
	size_t i;

	for (i = 0; expected[i]; i++) {
		assert_non_null(words[i]);
		assert_string_equal(words[i], expected[i]);
	}
	assert_null(words[i]);
	free(words);
}

#define EXPECT_WORDS(...)                                         \
	do {                                                      \
		const char *const given[] = {__VA_ARGS__, NULL};  \
		char *shown = command_text((char *const *)given); \
                                                                  \
		expect_words(shown, given);                       \
		free(shown);                                      \
	} while (0)

static void words_come_back(void **state)
{
	static char word[2 * COMMAND_TEXT_BYTES];
	char *text, **words;

	(void)state;
	EXPECT_WORDS("./train.py", "--lr=1e-3");
	EXPECT_WORDS("sh", "-c", "echo \"$HOME\"; ls -l", "it's", "''", "\\", "");
	EXPECT_WORDS("");
	expect_words("", (const char *const[]){NULL});
	expect_words("a 'b c", (const char *const[]){"a", "b c", NULL});
	expect_words("a b\\", (const char *const[]){"a", "b\\", NULL});
	memset(word, ' ', sizeof(word) - 1);
	text = command_text((char *const[]){word, NULL});
	words = command_words(text);
	assert_int_equal(strlen(words[0]), COMMAND_TEXT_BYTES - 1); /* without its quote */
	assert_null(words[1]);
	free(words);
	memset(text, 'a', COMMAND_TEXT_BYTES);
	for (size_t i = 1; i < COMMAND_TEXT_BYTES; i += 2)
		text[i] = ' ';
	words = command_words(text);
	for (size_t i = 0; i < COMMAND_TEXT_BYTES / 2; i++)
		assert_string_equal(words[i], "a");
	free(words);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(words_are_quoted_where_a_shell_needs_it),
		cmocka_unit_test(nothing_controls_a_terminal),
		cmocka_unit_test(long_ones_are_cut),
		cmocka_unit_test(packed_words_are_taken_apart),
		cmocka_unit_test(words_come_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
