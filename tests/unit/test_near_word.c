/* SPDX-License-Identifier: MIT */
/* Guesses of misspelt words. */
#include "unit.h"
#include <limits.h>
#include "profiler/base/near_word.h"

static void slips_are_counted(void **state)
{
	static const struct {
		const char *typed, *word;
		unsigned int slips;
	} cases[] = {
		{"", "", 0},
		{"", "abc", 3},
		{"abc", "", 3},
		{"nvtx", "nvtx", 0},
		{"nvtxx", "nvtx", 1},
		{"nvt", "nvtx", 1},
		{"nvdx", "nvtx", 1},
		{"pyhton3", "python3", 1},
		{"wiats", "waits", 1},
		{"ba", "ab", 1},
		{"GPU_only", "gpu-only", 0},
		{"kitten", "sitting", 3},
		{"a-b-c-d", "dcba", 6},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_int_equal(near_word_slips(cases[i].typed, cases[i].word), cases[i].slips);
}

static void long_words_are_near_none(void **state)
{
	char longest[NEAR_WORD_MAX + 2];

	(void)state;
	memset(longest, 'x', sizeof(longest));
	longest[NEAR_WORD_MAX] = '\0';
	assert_int_equal(near_word_slips(longest, longest), 0);
	assert_int_equal(near_word_slips(longest, "x"), NEAR_WORD_MAX - 1);
	longest[NEAR_WORD_MAX] = 'x';
	longest[NEAR_WORD_MAX + 1] = '\0';
	assert_int_equal(near_word_slips(longest, longest), UINT_MAX);
	assert_int_equal(near_word_slips("x", longest), UINT_MAX);
}

static void short_words_have_no_slips(void **state)
{
	(void)state;
	assert_int_equal(near_word_limit("ab"), 0);
	assert_int_equal(near_word_limit("abc"), 1);
	assert_int_equal(near_word_limit("nvtxx"), 1);
	assert_int_equal(near_word_limit("kernls"), 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(slips_are_counted),
		cmocka_unit_test(long_words_are_near_none),
		cmocka_unit_test(short_words_have_no_slips),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
