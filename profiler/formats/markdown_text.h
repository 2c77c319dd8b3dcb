/* SPDX-License-Identifier: MIT */
/*
 * Writes untrusted text into Markdown (CommonMark, and GitHub's tables).
 *
 * The text shows as it is: it can neither begin markup of Markdown or HTML, nor end the line or the
 * cell of a table. It mentions nobody (@name) and links to no other site. Control characters, also
 * those of bidirectional text, and malformed UTF-8 become U+FFFD; line breaks become spaces.
 *
 * Home folders at the start of a path become "~": /home/ada/x.py is ~/x.py.
 */
#ifndef PROFILER_FORMATS_MARKDOWN_TEXT_H
#define PROFILER_FORMATS_MARKDOWN_TEXT_H

#include <stdio.h>

/*
 * Writes a text of at most `columns` columns (columns.h), the last one an ellipsis if it is longer.
 * Marks without width take a column each. So the text has at most 5 bytes per column.
 */
void markdown_text(FILE *out, const char *text, unsigned int columns);

#endif
