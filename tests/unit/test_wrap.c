/* SPDX-License-Identifier: MIT */
/* Lines broken at words: widths, indents, long words, and lack of room. */
#include "unit.h"
#include <stdlib.h>
#include <string.h>
#include "profiler/base/wrap.h"

static char wrapped[4096];

static const char *wrap(const char *line, unsigned int width)
{
	size_t length = wrap_line(line, width, wrapped, sizeof(wrapped));

	assert_int_equal(length, strlen(wrapped));
	return wrapped;
}

static void lines_break_at_words(void **state)
{
	(void)state;
	assert_string_equal(wrap("one two three four five", 23), "one two three four five");
	assert_string_equal(wrap("one two three four five", 22), "one two three four\n  five");
	assert_string_equal(wrap("  one two three four fives six seven eight", 20),
			    "  one two three four\n    fives six seven\n    eight");
	assert_string_equal(wrap("", 20), "");
	assert_string_equal(wrap("                                ", 20), "");
}

/* Some lines stay whole, also if the width is unknown. */
static void some_lines_stay_whole(void **state)
{
	const char *line = "one two three four five six seven eight nine";

	(void)state;
	for (unsigned int width = 0; width < WRAP_WIDTH_MIN; width++)
		assert_string_equal(wrap(line, width), line);
}

static void long_words_stay_whole(void **state)
{
	(void)state;
	assert_string_equal(wrap("/a/path/of/more/columns/than/there/are x", 20),
			    "/a/path/of/more/columns/than/there/are\n  x");
	assert_string_equal(wrap("see /a/path/of/more/columns/than/there/are", 20),
			    "see\n  /a/path/of/more/columns/than/there/are");
}

/* Unless nothing else stands before it on the line. */
static void numbers_stay_with_their_units(void **state)
{
	(void)state;
	assert_string_equal(wrap("profile; memory 76.4 MiB, pipe", 20),
			    "profile; memory\n  76.4 MiB, pipe");
	assert_string_equal(wrap("took 5.4 s (71.5 %), 3 more", 18 + 2),
			    "took 5.4 s (71.5 %),\n  3 more");
	assert_string_equal(wrap("took 25.4 s (71.5 %), 3 more", 20),
			    "took 25.4 s\n  (71.5 %), 3 more");
	assert_string_equal(wrap("launches: 12345678901 kernels", 22),
			    "launches: 12345678901\n  kernels");
	assert_string_equal(wrap("11111111111111111111111 ms x", 20),
			    "11111111111111111111111\n  ms x");
}

static void a_character_is_one_column(void **state)
{
	(void)state;
	assert_string_equal(
		wrap("\xc3\xa9\xc3\xa9\xc3\xa9 \xe2\x80\xa6\xe2\x80\xa6 abcdefghijklm", 20),
		"\xc3\xa9\xc3\xa9\xc3\xa9 \xe2\x80\xa6\xe2\x80\xa6 abcdefghijklm");
	assert_string_equal(
		wrap("\xc3\xa9\xc3\xa9\xc3\xa9 \xe2\x80\xa6\xe2\x80\xa6 abcdefghijklmn", 20),
		"\xc3\xa9\xc3\xa9\xc3\xa9 \xe2\x80\xa6\xe2\x80\xa6\n  abcdefghijklmn");
}

static void wide_characters_are_two_columns(void **state)
{
	(void)state;
	assert_string_equal(
		wrap("\xe6\xbc\xa2\xe5\xad\x97\xe6\xbc\xa2\xe5\xad\x97 abcdefghijk", 20),
		"\xe6\xbc\xa2\xe5\xad\x97\xe6\xbc\xa2\xe5\xad\x97 abcdefghijk");
	assert_string_equal(
		wrap("\xe6\xbc\xa2\xe5\xad\x97\xe6\xbc\xa2\xe5\xad\x97 abcdefghijkl", 20),
		"\xe6\xbc\xa2\xe5\xad\x97\xe6\xbc\xa2\xe5\xad\x97\n  abcdefghijkl");
}

/* All words of any text are kept in order. Nothing is written past the buffer. */
static void any_text_fits_into_its_room(void **state)
{
	char line[200], small[64], joined[sizeof(wrapped)];

	(void)state;
	srand(1);
	for (int round = 0; round < 20000; round++) {
		unsigned int length = (unsigned int)rand() % (sizeof(line) - 1);
		unsigned int width = (unsigned int)rand() % 60;
		char *word, *rest, *other, *other_rest;

		for (unsigned int i = 0; i < length; i++)
			line[i] = rand() % 4 ? 'a' + rand() % 26 : ' ';
		line[length] = '\0';
		memset(small, '#', sizeof(small));
		assert_true(wrap_line(line, width, small, sizeof(small) - 1) < sizeof(small) - 1);
		assert_int_equal(small[sizeof(small) - 1], '#');
		memcpy(joined, wrap(line, width), sizeof(joined));
		word = strtok_r(line, " ", &rest);
		other = strtok_r(joined, " \n", &other_rest);
		while (word && other) {
			assert_string_equal(word, other);
			word = strtok_r(NULL, " ", &rest);
			other = strtok_r(NULL, " \n", &other_rest);
		}
		assert_true(!word && !other);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_break_at_words),
		cmocka_unit_test(some_lines_stay_whole),
		cmocka_unit_test(long_words_stay_whole),
		cmocka_unit_test(numbers_stay_with_their_units),
		cmocka_unit_test(a_character_is_one_column),
		cmocka_unit_test(wide_characters_are_two_columns),
		cmocka_unit_test(any_text_fits_into_its_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
