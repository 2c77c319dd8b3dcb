/* SPDX-License-Identifier: MIT */
/*
 * How many columns text takes on a terminal, what of it fits, and how many the terminal has.
 *
 * For clean UTF-8 (clean_text in symbolize/util/text.h). Wide characters (East Asian, emoji) take
 * two columns and combining ones none, by ranges of Unicode 15; terminals differ in a few of them.
 */
#ifndef PROFILER_BASE_COLUMNS_H
#define PROFILER_BASE_COLUMNS_H

#include <stddef.h>

unsigned int columns_of(const char *text);

/* The number of bytes of `text`, in whole characters, that take at most `columns`; how many then.
 */
size_t columns_fit(const char *text, unsigned int columns, unsigned int *taken);

/* Returns the columns of the terminal that a descriptor is; 0: it is none, or they are not known.
 */
unsigned int columns_of_terminal(int fd);

#endif
