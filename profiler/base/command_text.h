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

#include <stddef.h>

#define COMMAND_TEXT_BYTES 4096 /* longer texts are cut */

/*
 * Returns the text of the NULL-terminated `words`. The caller frees it. Returns NULL if memory is
 * exhausted.
 */
char *command_text(char *const *words);

/*
 * Returns the text of words that each end with a NUL, as in proc_pid_cmdline(5): `size` bytes, and
 * a NUL after them. Words after the first 1024 are left out. The caller frees the text. Returns
 * NULL if there are no words, or memory is exhausted.
 */
char *command_text_packed(char *packed, size_t size);

/*
 * Splits a text of command_text into NULL-terminated words. The caller frees the returned array,
 * which holds the words too. If the text was cut, so is its last word. Returns NULL if memory is
 * exhausted.
 */
char **command_words(const char *text);

#endif
