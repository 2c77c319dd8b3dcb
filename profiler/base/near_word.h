/* SPDX-License-Identifier: MIT */
/*
 * Which word was meant where another one was typed.
 *
 * A slip is a letter too many, one that is missing, a wrong one, or two that changed places.
 */
#ifndef PROFILER_BASE_NEAR_WORD_H
#define PROFILER_BASE_NEAR_WORD_H

#include <stdbool.h>

/* Longer words are near none. */
#define NEAR_WORD_MAX 63

/*
 * How many slips lead from one word to the other. Case does not count, and an underscore is a
 * hyphen. Words that are longer than NEAR_WORD_MAX: more than any other.
 */
unsigned int near_word_slips(const char *typed, const char *word);

/* How many slips a word of this text may have: none up to two letters, two from six on. */
unsigned int near_word_limit(const char *typed);

#endif
