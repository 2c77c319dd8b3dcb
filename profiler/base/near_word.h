/* SPDX-License-Identifier: MIT */
/*
 * Computes the edit distance of words, to suggest the word that was meant.
 *
 * An edit is an insertion, a deletion, a substitution, or a transposition of two neighbours.
 */
#ifndef PROFILER_BASE_NEAR_WORD_H
#define PROFILER_BASE_NEAR_WORD_H

#include <stdbool.h>

/* Length limit. Longer words match nothing. */
#define NEAR_WORD_MAX 63

/*
 * Returns the edit distance of two words, ignoring case and reading '_' as '-'. Returns UINT_MAX if
 * a word is longer than NEAR_WORD_MAX.
 */
unsigned int near_word_slips(const char *typed, const char *word);

/* Returns the edits tolerated for this text: 0 up to two letters, 1 up to five, else 2. */
unsigned int near_word_limit(const char *typed);

#endif
