/* SPDX-License-Identifier: MIT */
/*
 * Formats a command line for display on one line.
 *
 * Words are quoted for a shell. Control characters are removed.
 *
 *   ./train.py --name 'a b'
 */
#ifndef PROFILER_BASE_COMMAND_TEXT_H
#define PROFILER_BASE_COMMAND_TEXT_H

#define COMMAND_TEXT_BYTES 4096 /* longer texts are cut */

/*
 * Returns the text of the NULL-terminated `words`. The caller frees it. Returns NULL if memory is
 * exhausted.
 */
char *command_text(char *const *words);

/*
 * Splits a text of command_text into NULL-terminated words. The caller frees the returned array,
 * which holds the words too. If the text was cut, so is its last word. Returns NULL if memory is
 * exhausted.
 */
char **command_words(const char *text);

#endif
