/* SPDX-License-Identifier: MIT */
/*
 * Measures text in terminal columns.
 *
 * Text is clean UTF-8 (clean_text in symbolize/util/text.h). Wide characters (East Asian, emoji)
 * take two columns, combining ones none. The ranges are those of Unicode 15; terminals differ in a
 * few of them.
 */
#ifndef PROFILER_BASE_COLUMNS_H
#define PROFILER_BASE_COLUMNS_H

#include <stddef.h>

unsigned int columns_of(const char *text);

/*
 * Returns the bytes of `text`, in whole characters, that fit into `columns`. Sets `*taken` to the
 * columns of these bytes.
 */
size_t columns_fit(const char *text, unsigned int columns, unsigned int *taken);

/* Returns the width of the terminal `fd`, or 0 if `fd` is no terminal or its width is unknown. */
unsigned int columns_of_terminal(int fd);

#endif
