// SPDX-License-Identifier: MIT
#include "profiler/shape/markup.h"

#include <stdbool.h>
#include <string.h>
#include "symbolize/util/text.h"

#define REPLACEMENT 0xfffdu
#define ELLIPSIS 0x2026u

static bool is_within(uint32_t c, uint32_t first, uint32_t last)
{
	return c >= first && c <= last;
}

/* Returns true for controls, bidirectional and line controls, and noncharacters. */
static bool is_unsafe(uint32_t c)
{
	return c < 0x20 || is_within(c, 0x7f, 0x9f) || c == 0x61c || c == 0x200e || c == 0x200f ||
	       is_within(c, 0x2028, 0x202e) || is_within(c, 0x2066, 0x2069) || c == 0xfeff ||
	       is_within(c, 0xfdd0, 0xfdef) || (c & 0xfffe) == 0xfffe;
}

uint32_t markup_next(const char **text)
{
	const unsigned char *s = (const unsigned char *)*text;
	size_t n = count_utf8_bytes(s);
	uint32_t c;

	if (!*s)
		return 0;
	if (n == 0) {
		(*text)++;
		return REPLACEMENT;
	}
	c = n == 1 ? s[0] : s[0] & (0x7fu >> n);
	for (size_t i = 1; i < n; i++)
		c = c << 6 | (s[i] & 0x3f);
	*text += n;
	return is_unsafe(c) ? REPLACEMENT : c;
}

unsigned int markup_columns(uint32_t c)
{
	if (is_within(c, 0x300, 0x36f) || is_within(c, 0x200b, 0x200d) ||
	    is_within(c, 0xfe00, 0xfe0f))
		return 0;
	/* box drawing and arrows are as wide as letters */
	return c < 0x590 || is_within(c, 0x1e00, 0x2bff) || c == REPLACEMENT ? 1 : 2;
}

static void put_character(FILE *out, uint32_t c)
{
	char bytes[4];

	fwrite(bytes, 1, put_utf8(c, bytes), out);
}

/* Returns the position of an ASCII character in `list`; -1 if the list does not have the character.
 */
static int find_character(uint32_t c, const char *list)
{
	const char *at = c > 0 && c < 0x80 ? strchr(list, (int)c) : NULL;

	return at ? (int)(at - list) : -1;
}

void markup_put_xml(FILE *out, uint32_t c)
{
	static const char *const entities[] = {"&amp;", "&lt;", "&gt;", "&quot;", "&#39;"};
	int entity = find_character(c, "&<>\"'");

	if (entity >= 0)
		fputs(entities[entity], out);
	else
		put_character(out, c);
}

/* Writes one character inside a JSON string. */
static void put_json(FILE *out, uint32_t c)
{
	if (find_character(c, "&<>\"'\\") >= 0)
		fprintf(out, "\\u%04x", c);
	else
		put_character(out, c);
}

static void put_text(FILE *out, const char *text, size_t limit, void (*put)(FILE *, uint32_t))
{
	for (uint32_t c; (c = markup_next(&text)) != 0; limit--) {
		if (limit == 0) {
			put(out, ELLIPSIS);
			return;
		}
		put(out, c);
	}
}

void markup_xml(FILE *out, const char *text, size_t limit)
{
	put_text(out, text, limit, markup_put_xml);
}

void markup_json(FILE *out, const char *text, size_t limit)
{
	fputc('"', out);
	put_text(out, text, limit, put_json);
	fputc('"', out);
}
