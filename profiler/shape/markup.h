/* SPDX-License-Identifier: MIT */
/*
 * Writes names of the profiled program into XML and JSON.
 *
 * Names are untrusted: any bytes, any length. The output is well-formed UTF-8 without control
 * characters. It can neither end the text around it nor start markup or script.
 */
#ifndef PROFILER_SHAPE_MARKUP_H
#define PROFILER_SHAPE_MARKUP_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/*
 * Returns the character at `*text`, and moves `*text` behind it. Returns 0 at the end. Returns
 * U+FFFD for bytes that are not UTF-8, and for characters that XML does not allow. Control
 * characters become U+FFFD, too: C0, C1, bidirectional, line separators.
 */
uint32_t markup_next(const char **text);

/* Returns the columns of a character in a monospaced font: 0, 1 or 2; a guess beyond ASCII. */
unsigned int markup_columns(uint32_t character);

/* Writes one character, as XML text or in an attribute. */
void markup_put_xml(FILE *out, uint32_t character);

/* Writes XML text, or an attribute; cuts it behind `limit` characters, with an ellipsis. */
void markup_xml(FILE *out, const char *text, size_t limit);

/*
 * Writes a JSON string with its quotes, cut behind `limit` characters, with an ellipsis. Characters
 * with a meaning in XML or HTML are escaped, so the string may stand in a <script>.
 */
void markup_json(FILE *out, const char *text, size_t limit);

#endif
