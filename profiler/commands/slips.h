/* SPDX-License-Identifier: MIT */
/*
 * Suggests an option for an unknown one: a typing error, or an option of another profiler.
 *
 *   --nvtxx   did you mean --nvtx?
 *   -g        stacks are always taken: leave it out
 */
#ifndef PROFILER_COMMANDS_SLIPS_H
#define PROFILER_COMMANDS_SLIPS_H

#include <stdbool.h>

#define SLIP_TEXT_BYTES 256

/*
 * Writes a hint for an unknown option. `word` has its dashes, and may have a value; a letter has
 * one dash. Writes "" without a suggestion.
 */
void slip_hint(const char *word, char text[SLIP_TEXT_BYTES]);

/*
 * Returns whether a word with two dashes abbreviates an option with another meaning: --gpu is not
 * -gpu-only.
 */
bool slip_misleads(const char *word);

/*
 * Counts the options that begin with the word, and lists them: "--counters or --counters-kernels".
 */
int slip_candidates(const char *word, char text[SLIP_TEXT_BYTES]);

/*
 * Returns the bytes of a typographic dash at the start of the word, as made by word processors.
 * Returns 0 if there is none.
 */
int slip_hyphen(const char *word);

#endif
