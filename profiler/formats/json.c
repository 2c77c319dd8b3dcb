// SPDX-License-Identifier: MIT
#include "profiler/formats/json.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "symbolize/util/text.h"

struct json json_begin(FILE *out)
{
	return (struct json){.out = out};
}

/* Empties the buffer, which is there because a stdio call costs more than most pieces. */
static void flush(struct json *j)
{
	fwrite_unlocked(j->text, 1, j->length, j->out);
	j->passed += j->length;
	j->length = 0;
}

static void put_byte(struct json *j, char byte)
{
	if (j->length == sizeof(j->text))
		flush(j);
	j->text[j->length++] = byte;
}

static void put_bytes(struct json *j, const void *bytes, size_t length)
{
	if (length > sizeof(j->text) - j->length)
		flush(j);
	if (length > sizeof(j->text)) {
		fwrite_unlocked(bytes, 1, length, j->out);
		j->passed += length;
		return;
	}
	memcpy(j->text + j->length, bytes, length);
	j->length += (unsigned int)length;
}

void json_end(struct json *j)
{
	put_byte(j, '\n');
	flush(j);
}

/* Returns the length of the leading text that needs no escape. */
static size_t count_plain(const unsigned char *text)
{
	const unsigned char *at = text;
	size_t n;

	for (;; at += n) {
		while (*at >= 0x20 && *at < 0x80 && *at != '"' && *at != '\\')
			at++;
		n = *at < 0x80 ? 0 : count_utf8_bytes(at);
		/* U+2028, U+2029 */
		if (n == 0 || (n == 3 && at[0] == 0xe2 && at[1] == 0x80 && (at[2] & 0xfe) == 0xa8))
			return (size_t)(at - text);
	}
}

/* Writes the escape of one character. Returns the length of the character. */
static size_t put_escaped(struct json *j, const unsigned char *at)
{
	char text[8];

	if (*at == '"' || *at == '\\') {
		put_byte(j, '\\');
		put_byte(j, (char)*at);
	} else if (*at < 0x20) {
		put_bytes(j, text, (size_t)snprintf(text, sizeof(text), "\\u%04x", *at));
	} else if (count_utf8_bytes(at) == 3) {
		put_bytes(j, text, (size_t)snprintf(text, sizeof(text), "\\u20%02x", at[2] & 0x3f));
		return 3;
	} else {
		put_byte(j, '?');
	}
	return 1;
}

static void put_string(struct json *j, const char *text)
{
	const unsigned char *at = (const unsigned char *)text;

	put_byte(j, '"');
	for (;;) {
		size_t plain = count_plain(at);

		put_bytes(j, at, plain);
		at += plain;
		if (!*at)
			break;
		at += put_escaped(j, at);
	}
	put_byte(j, '"');
}

/* Begins a value, and puts its key if it has one. */
static void begin(struct json *j, const char *key)
{
	if (j->needs_comma)
		put_byte(j, ',');
	j->needs_comma = true;
	if (!key)
		return;
	put_string(j, key);
	put_byte(j, ':');
}

/* Puts a value of plain characters. */
static void put_value(struct json *j, const char *key, const char *at, const char *end)
{
	begin(j, key);
	put_bytes(j, at, (size_t)(end - at));
}

static void open_with(struct json *j, const char *key, char bracket)
{
	begin(j, key);
	put_byte(j, bracket);
	j->needs_comma = false;
}

static void close_with(struct json *j, char bracket)
{
	put_byte(j, bracket);
	j->needs_comma = true;
}

void json_open_object(struct json *j, const char *key)
{
	open_with(j, key, '{');
}

void json_open_line(struct json *j, const char *key)
{
	json_break_line(j);
	json_open_object(j, key);
}

void json_close_object(struct json *j)
{
	close_with(j, '}');
}

void json_open_array(struct json *j, const char *key)
{
	open_with(j, key, '[');
}

void json_close_array(struct json *j)
{
	close_with(j, ']');
}

void json_raw(struct json *j, const char *text, size_t length)
{
	put_value(j, NULL, text, text + length);
}

void json_text(struct json *j, const char *key, const char *text)
{
	if (!text)
		return;
	begin(j, key);
	put_string(j, text);
}

/* Writes digits that end before `end`. Returns where they begin. */
static char *put_digits(char *end, uint64_t value)
{
	do {
		*--end = (char)('0' + value % 10);
		value /= 10;
	} while (value);
	return end;
}

void json_uint(struct json *j, const char *key, uint64_t value)
{
	char digits[20], *end = digits + sizeof(digits), *at = put_digits(end, value);

	put_value(j, key, at, end);
}

void json_uint_text(struct json *j, const char *key, uint64_t value)
{
	char text[24];
	int length = snprintf(text, sizeof(text), "\"%" PRIu64 "\"", value);

	put_value(j, key, text, text + length);
}

void json_real(struct json *j, const char *key, double value)
{
	char text[40] = "null";

	for (int digits = 15; isfinite(value) && digits <= 17; digits++) {
		snprintf(text, sizeof(text), "%.*g", digits, value);
		if (strtod(text, NULL) == value)
			break;
	}
	put_value(j, key, text, text + strlen(text));
}

void json_thousandths(struct json *j, const char *key, uint64_t thousandths)
{
	char digits[24], *end = digits + sizeof(digits);
	char *at = put_digits(end, 1000 + thousandths % 1000);

	*at = '.'; /* instead of the 1 */
	at = put_digits(at, thousandths / 1000);
	while (end[-1] == '0')
		end--;
	end -= end[-1] == '.';
	put_value(j, key, at, end);
}

void json_int(struct json *j, const char *key, int64_t value)
{
	char text[24];
	int length = snprintf(text, sizeof(text), "%" PRId64, value);

	put_value(j, key, text, text + length);
}

void json_bool(struct json *j, const char *key, bool value)
{
	begin(j, key);
	put_bytes(j, value ? "true" : "false", value ? 4 : 5);
}

void json_break_line(struct json *j)
{
	if (j->needs_comma)
		put_byte(j, ',');
	j->needs_comma = false;
	put_byte(j, '\n');
}
