/* SPDX-License-Identifier: MIT */
/* Wraps a line of text at spaces, so that a terminal does not break words. */
#ifndef PROFILER_BASE_WRAP_H
#define PROFILER_BASE_WRAP_H

#include <stddef.h>

#define WRAP_WIDTH_MIN 20u

/*
 * Copies `line` (UTF-8, no newline), and replaces spaces by newlines to fit `width` columns
 * (columns.h). Continuation lines are indented by two more columns. A number stays with its unit. A
 * word wider than a line stays whole.
 *
 * If the result exceeds `size`, or `width` is below WRAP_WIDTH_MIN (0: unknown), the line is copied
 * unwrapped and cut to `size`. Returns the length without the NUL.
 */
size_t wrap_line(const char *line, unsigned int width, char *wrapped, size_t size);

#endif
