/* SPDX-License-Identifier: MIT */
/*
 * Handles UTF-8, makes untrusted text safe to display, and matches parts of texts.
 *
 * A name from a file, a path or a line of a perf map may contain any byte. On a terminal, control
 * characters move the cursor and worse; a newline breaks line-based formats. Some terminals also
 * interpret the C1 controls: U+0080 to U+009F, and the bytes 0x80 to 0x9f outside UTF-8.
 * Bidirectional controls reorder a line as it is shown, so that a name can look like the text
 * around it.
 *
 * Does not allocate or lock: the injected library shares this file.
 */
#ifndef SYMBOLIZE_UTIL_TEXT_H
#define SYMBOLIZE_UTIL_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline bool starts_with(const char *text, const char *prefix)
{
	return strncmp(text, prefix, strlen(prefix)) == 0;
}

static inline bool starts_with_any(const char *text, const char *const *prefixes, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (starts_with(text, prefixes[i]))
			return true;
	return false;
}

static inline bool ends_with(const char *text, const char *end)
{
	size_t length = strlen(text), n = strlen(end);

	return length >= n && strcmp(text + length - n, end) == 0;
}

/* Returns the value in "NAME=VALUE"; NULL: the line is another variable, or none. */
static inline const char *variable_value(const char *line, const char *name)
{
	size_t length = strlen(name);

	return strncmp(line, name, length) == 0 && line[length] == '=' ? line + length + 1 : NULL;
}

/*
 * Returns the value of the first variable with this name; NULL: there is none. `list`: texts with a
 * NUL each, ended by an empty text.
 */
static inline const char *variable_in(const char *list, const char *name)
{
	const char *value = NULL;

	for (; *list && !value; list += strlen(list) + 1)
		value = variable_value(list, name);
	return value;
}

/* Returns the value of a lower-case hexadecimal digit, or -1. */
static inline int hex_digit(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Returns how many decimal digits the first `length` bytes of a text end with. */
static inline size_t count_last_digits(const char *text, size_t length)
{
	size_t digits = 0;

	while (digits < length && text[length - digits - 1] >= '0' &&
	       text[length - digits - 1] <= '9')
		digits++;
	return digits;
}

/* Returns the part behind the last slash; without one, all of it. */
static inline const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/*
 * Returns the length of the UTF-8 character at `s`, 1 to 4 bytes; 0 if it is not well-formed:
 * overlong forms, surrogates, values past U+10FFFF (RFC 3629). Stops at the NUL.
 */
size_t count_utf8_bytes(const unsigned char *s);

/*
 * Returns where to cut a text that is longer than `most` bytes: at most there, between characters.
 */
static inline size_t cut_text(const char *text, size_t most)
{
	while (most > 0 && ((unsigned char)text[most] & 0xc0) == 0x80)
		most--;
	return most;
}

/*
 * Writes a character as UTF-8 and returns its length, 1 to 4 bytes. An invalid character, such as a
 * lone surrogate, becomes U+FFFD.
 */
size_t put_utf8(uint32_t character, char *out);

/* Returns how many bytes of a text fit into `limit`, ending between characters. */
size_t fit_utf8(const char *text, size_t limit);

/*
 * Makes `text` safe, in place: replaces each control character and each byte of malformed UTF-8 by
 * '?'. Controls are C0, DEL, C1 and the bidirectional ones: U+061C, U+200E, U+200F, U+202A to
 * U+202E, U+2066 to U+2069. The result is never longer.
 */
void clean_text(char *text);

/* Appends to a text in a buffer of `size` bytes, as far as there is room. */
void append_text(char *text, size_t size, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

#endif
