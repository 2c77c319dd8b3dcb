// SPDX-License-Identifier: MIT
#include "profiler/formats/markdown_text.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include "profiler/base/columns.h"
#include "profiler/shape/markup.h"
#include "symbolize/util/text.h"

#define ELLIPSIS 0x2026u

/* ---- home folders ---- */

/* Returns whether a path can begin behind this character. */
static bool is_before_path(char c)
{
	return c == '\0' || strchr(" \t\"'`=:,;([{<|", c);
}

/* Returns the length of a folder of homes that the text begins with, and of the home's name. */
static size_t home_length(const char *text)
{
	static const char *const folders[] = {"/home/", "/Users/", "/var/home/", "/export/home/"};
	size_t name;

	if (starts_with(text, "/root") && (text[5] == '/' || is_before_path(text[5])))
		return 5;
	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
		if (!starts_with(text, folders[i]))
			continue;
		name = strcspn(text + strlen(folders[i]), "/ \t\"'`:,;)]}>|");
		return name ? strlen(folders[i]) + name : 0;
	}
	return 0;
}

/* ---- characters ---- */

static bool is_word(uint32_t c)
{
	return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
	       c == '_';
}

/* Returns whether viewers make a link of an "@": a mention, or an address of mail. */
static bool is_mention(uint32_t before, const char *next)
{
	size_t length = 0;

	while (is_word((unsigned char)next[length]) || next[length] == '-')
		length++;
	/* behind a word it is an address, if a domain follows */
	return length && (!is_word(before) || next[length] == '.');
}

/*
 * Writes one character. `before` is the one before it, `next` the rest of the text. A backslash
 * before a colon or a dot breaks a link that viewers would make of plain text. Viewers find
 * mentions after backslashes are gone, so a space breaks them.
 */
static void put_character(FILE *out, uint32_t c, uint32_t before, const char *next)
{
	char bytes[4];

	if (c == '&')
		fputs("&amp;", out);
	else if (c == '<')
		fputs("&lt;", out);
	else if (c == '>')
		fputs("&gt;", out);
	else if (c == '@' && is_mention(before, next))
		fputs("\\@ ", out);
	else if ((c < 0x80 && c && strchr("\\`*_[]#!~|@$", (int)c)) || (c == ':' && *next == '/') ||
		 (c == '.' && (before == 'w' || before == 'W')))
		fprintf(out, "\\%c", (int)c);
	else
		fwrite(bytes, 1, put_utf8(c, bytes), out);
}

/* Returns the columns that a character takes; at least 1, so that the bytes are bounded. */
static unsigned int width_of(uint32_t c)
{
	char bytes[5];
	unsigned int columns;

	bytes[put_utf8(c, bytes)] = '\0';
	columns = columns_of(bytes);
	return columns ? columns : 1;
}

/* Reads the next character. A home folder is the character '~'. */
static uint32_t next_character(const char **text, char before)
{
	size_t home = is_before_path(before) ? home_length(*text) : 0;

	if (home) {
		*text += home;
		return '~';
	}
	if (**text == '\n' || **text == '\r' || **text == '\t') {
		(*text)++;
		return ' ';
	}
	return markup_next(text);
}

/* Returns whether the rest of a text fits. */
static bool fits(const char *text, char before, unsigned int columns)
{
	uint32_t c;

	while ((c = next_character(&text, before)) != 0) {
		if (width_of(c) > columns)
			return false;
		columns -= width_of(c);
		before = text[-1];
	}
	return true;
}

void markdown_text(FILE *out, const char *text, unsigned int columns)
{
	bool is_cut = !fits(text, '\0', columns);
	uint32_t c, last = 0;
	char before = '\0';

	columns -= is_cut && columns > 0;
	while ((c = next_character(&text, before)) != 0 && width_of(c) <= columns) {
		put_character(out, c, last, text);
		columns -= width_of(c);
		before = text[-1];
		last = c;
	}
	if (is_cut)
		put_character(out, ELLIPSIS, last, "");
}
