/* SPDX-License-Identifier: MIT */
/*
 * Names of the profiled program inside XML and JSON.
 *
 * They are untrusted: any bytes, any length. What comes out is well-formed UTF-8 without control
 * characters, and can neither end the text that it is in nor start markup or script.
 */
#ifndef PROFILER_SHAPE_MARKUP_H
#define PROFILER_SHAPE_MARKUP_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/*
 * The character at `*text`, which moves behind it; 0 at the end. U+FFFD stands for a byte that is
 * not UTF-8, a control character (C0, C1, bidirectional, line separators), and what XML does not
 * allow.
 */
uint32_t markup_next(const char **text);

/* How many columns of a monospaced font a character takes: 0, 1 or 2; a guess beyond ASCII. */
unsigned int markup_columns(uint32_t character);

/* One character, as XML text or in an attribute. */
void markup_put_xml(FILE *out, uint32_t character);

/* The text as XML text or in an attribute; cut behind `limit` characters, with an ellipsis. */
void markup_xml(FILE *out, const char *text, size_t limit);

/*
 * The text as a JSON string with its quotes, cut in the same way. It has no character that XML or
 * HTML give a meaning: it may stand in a <script> as it is.
 */
void markup_json(FILE *out, const char *text, size_t limit);

#endif
