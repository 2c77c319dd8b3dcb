/* SPDX-License-Identifier: MIT */
/*
 * What was meant by an option that profile does not have: a slip of the keyboard, or an option of
 * another profiler.
 *
 *   --nvtxx   did you mean --nvtx?
 *   -g        stacks are always taken: leave it out
 */
#ifndef PROFILER_COMMANDS_SLIPS_H
#define PROFILER_COMMANDS_SLIPS_H

#include <stdbool.h>

#define SLIP_TEXT_BYTES 256

/*
 * Writes what to do in place of this word, which has its dashes and maybe a value; a single letter
 * has one dash. "": nothing is like it.
 */
void slip_hint(const char *word, char text[SLIP_TEXT_BYTES]);

/*
 * Returns whether this word with two dashes would pass as the beginning of an option that does
 * something else than the word says: --gpu is not -gpu-only.
 */
bool slip_misleads(const char *word);

/* How many options begin as this word does; and which, "--metrics or --metrics-kernels". */
int slip_candidates(const char *word, char text[SLIP_TEXT_BYTES]);

/* The hyphen that a word processor has made of "-" at the word's start: its bytes. 0: none. */
int slip_hyphen(const char *word);

#endif
