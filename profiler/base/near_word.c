// SPDX-License-Identifier: MIT
#include "profiler/base/near_word.h"

#include <limits.h>
#include <string.h>

static char plain(char c)
{
	if (c >= 'A' && c <= 'Z')
		return (char)(c - 'A' + 'a');
	return c == '_' ? '-' : c;
}

static unsigned int least(unsigned int a, unsigned int b)
{
	return a < b ? a : b;
}

/* Fills the table of the Damerau-Levenshtein distance, keeping three rows. */
unsigned int near_word_slips(const char *typed, const char *word)
{
	unsigned int rows[3][NEAR_WORD_MAX + 1];
	size_t m = strlen(typed), n = strlen(word);

	if (m > NEAR_WORD_MAX || n > NEAR_WORD_MAX)
		return UINT_MAX;
	for (size_t j = 0; j <= n; j++)
		rows[0][j] = (unsigned int)j;
	for (size_t i = 1; i <= m; i++) {
		unsigned int *row = rows[i % 3], *above = rows[(i - 1) % 3];
		const unsigned int *before = rows[(i + 1) % 3];

		row[0] = (unsigned int)i;
		for (size_t j = 1; j <= n; j++) {
			char a = plain(typed[i - 1]), b = plain(word[j - 1]);

			row[j] = least(above[j - 1] + (a != b), least(above[j], row[j - 1]) + 1);
			if (i > 1 && j > 1 && a == plain(word[j - 2]) && plain(typed[i - 2]) == b)
				row[j] = least(row[j], before[j - 2] + 1);
		}
	}
	return rows[m % 3][n];
}

unsigned int near_word_limit(const char *typed)
{
	size_t length = strlen(typed);

	return length < 3 ? 0 : length < 6 ? 1 : 2;
}
