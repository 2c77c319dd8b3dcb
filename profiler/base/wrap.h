/* SPDX-License-Identifier: MIT */
/* Breaks a line of text at its spaces, so that a terminal does not break it within words. */
#ifndef PROFILER_BASE_WRAP_H
#define PROFILER_BASE_WRAP_H

#include <stddef.h>

#define WRAP_WIDTH_MIN 20u

/*
 * Copies `line`, in UTF-8 and without a newline, and puts newlines in place of spaces so that no
 * line has more than `width` columns (columns.h). Lines after the first are indented by two
 * columns more than the first. A number stays with its unit. A word that is longer, as a path may
 * be, stays whole. Returns the length without the end; text that `size` has no room for, and a
 * width below WRAP_WIDTH_MIN, 0 for an unknown one included, leave the line as it is, cut to
 * `size`.
 */
size_t wrap_line(const char *line, unsigned int width, char *wrapped, size_t size);

#endif
