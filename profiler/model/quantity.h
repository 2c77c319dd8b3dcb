/* SPDX-License-Identifier: MIT */
/* Formats times, sizes and numbers for people: "1.234 ms", "12.3 GiB", "42.50". */
#ifndef PROFILER_MODEL_QUANTITY_H
#define PROFILER_MODEL_QUANTITY_H

#include <stdint.h>
#include "profiler/model/result.h"

#define QUANTITY_BYTES 24

/* Returns the share in percent, or 0 if `whole` is 0. */
static inline double percent_of(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0;
}

/* Returns the share in thousandths, rounded, or 0 if `whole` is 0. */
static inline uint64_t permille_of(uint64_t part, uint64_t whole)
{
	return whole ? (uint64_t)(((unsigned __int128)part * 1000 + whole / 2) / whole) : 0;
}

/* All functions return `text`. */
const char *time_text(char text[QUANTITY_BYTES], double ns);
/* With few digits: "6.5 s", "31.0 ms", "250 us". */
const char *brief_time_text(char text[QUANTITY_BYTES], double ns);
const char *bytes_text(char text[QUANTITY_BYTES], uint64_t bytes);
const char *number_text(char text[QUANTITY_BYTES], double number);
/* Formats an amount in the weight's unit: "12.34 M sector". */
const char *weight_text(char text[QUANTITY_BYTES], const struct weight *weight, uint64_t amount);

#endif
