/* SPDX-License-Identifier: MIT */
/*
 * A command line for display, in one line: words as a shell would read them, without control
 * characters.
 *
 *   ./train.py --name 'a b'
 */
#ifndef PROFILER_BASE_COMMAND_TEXT_H
#define PROFILER_BASE_COMMAND_TEXT_H

#define COMMAND_TEXT_BYTES 4096 /* of a longer one, the beginning */

/* The text of the NULL-terminated words, to be freed; NULL: out of memory. */
char *command_text(char *const *words);

/*
 * The words of such a text, NULL-terminated, to be freed in one piece; of a text that was cut, the
 * last one is cut too. NULL: out of memory.
 */
char **command_words(const char *text);

#endif
