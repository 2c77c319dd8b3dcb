/* SPDX-License-Identifier: MIT */
/*
 * Text from outside, made safe to show.
 *
 * A name out of a file, a path or a line of a perf map may hold any byte. On a terminal control
 * characters move the cursor and worse, and a newline breaks formats that consist of lines. Some
 * terminals obey the C1 controls, too: U+0080 to U+009F, and the bytes 0x80 to 0x9f where they are
 * no UTF-8.
 *
 * Allocates nothing and takes no lock: the injected library shares this file.
 */
#ifndef SYMBOLIZE_TEXT_H
#define SYMBOLIZE_TEXT_H

#include <stddef.h>

/*
 * Counts the bytes of the UTF-8 character at `s`, 1 to 4; 0 if it is not well-formed: overlong
 * forms, surrogates and values past U+10FFFF are not (RFC 3629). Stops at the terminating NUL.
 */
size_t count_utf8_bytes(const unsigned char *s);

/*
 * Makes `text` safe, in place: each control character (C0, DEL, C1) and each byte that is not
 * well-formed UTF-8 becomes one '?'. All other text stays as it is. The result is never longer.
 */
void clean_text(char *text);

#endif
