// SPDX-License-Identifier: MIT
#include "profiler/output/json.h"

#include <string.h>
#include "symbolize/text.h"

struct json json_begin(FILE *out)
{
	return (struct json){.out = out};
}

void json_end(struct json *j)
{
	putc_unlocked('\n', j->out);
}

/* A value follows. */
static void separate(struct json *j)
{
	if (j->needs_comma)
		putc_unlocked(',', j->out);
	j->needs_comma = true;
}

static void open_with(struct json *j, char bracket)
{
	separate(j);
	putc_unlocked(bracket, j->out);
	j->needs_comma = false;
}

static void close_with(struct json *j, char bracket)
{
	putc_unlocked(bracket, j->out);
	j->needs_comma = true;
}

void json_open_object(struct json *j)
{
	open_with(j, '{');
}

void json_close_object(struct json *j)
{
	close_with(j, '}');
}

void json_open_array(struct json *j)
{
	open_with(j, '[');
}

void json_close_array(struct json *j)
{
	close_with(j, ']');
}

/* The length of the text that stands as it is; 0: its first character does not. */
static size_t count_plain(const unsigned char *text)
{
	size_t length = 0;

	for (;;) {
		const unsigned char *at = text + length;
		size_t n;

		if (*at < 0x20 || *at == '"' || *at == '\\')
			return length;
		n = *at < 0x80 ? 1 : count_utf8_bytes(at);
		/* U+2028, U+2029 */
		if (n == 0 || (n == 3 && at[0] == 0xe2 && at[1] == 0x80 && (at[2] & 0xfe) == 0xa8))
			return length;
		length += n;
	}
}

/* Writes one character that does not stand as it is: its length. */
static size_t put_escaped(FILE *out, const unsigned char *at)
{
	if (*at == '"' || *at == '\\') {
		putc_unlocked('\\', out);
		putc_unlocked(*at, out);
	} else if (*at < 0x20) {
		fprintf(out, "\\u%04x", *at);
	} else if (count_utf8_bytes(at) == 3) {
		fprintf(out, "\\u20%02x", at[2] & 0x3f);
		return 3;
	} else {
		putc_unlocked('?', out);
	}
	return 1;
}

static void put_string(FILE *out, const char *text)
{
	const unsigned char *at = (const unsigned char *)text;

	putc_unlocked('"', out);
	for (;;) {
		size_t plain = count_plain(at);

		fwrite_unlocked(at, 1, plain, out);
		at += plain;
		if (!*at)
			break;
		at += put_escaped(out, at);
	}
	putc_unlocked('"', out);
}

void json_key(struct json *j, const char *name)
{
	separate(j);
	put_string(j->out, name);
	putc_unlocked(':', j->out);
	j->needs_comma = false;
}

void json_text(struct json *j, const char *text)
{
	separate(j);
	put_string(j->out, text);
}

/* Writes digits in front of `end`: where they begin. */
static char *put_digits(char *end, uint64_t value)
{
	do {
		*--end = (char)('0' + value % 10);
		value /= 10;
	} while (value);
	return end;
}

void json_uint(struct json *j, uint64_t value)
{
	char digits[20], *end = digits + sizeof(digits), *at = put_digits(end, value);

	separate(j);
	fwrite_unlocked(at, 1, (size_t)(end - at), j->out);
}

void json_thousandths(struct json *j, uint64_t thousandths)
{
	char digits[24], *end = digits + sizeof(digits);
	char *at = put_digits(end, 1000 + thousandths % 1000);

	*at = '.'; /* instead of the 1 */
	at = put_digits(at, thousandths / 1000);
	while (end[-1] == '0')
		end--;
	end -= end[-1] == '.';
	separate(j);
	fwrite_unlocked(at, 1, (size_t)(end - at), j->out);
}

void json_int(struct json *j, int64_t value)
{
	char digits[21], *end = digits + sizeof(digits);
	char *at = put_digits(end, value < 0 ? -(uint64_t)value : (uint64_t)value);

	if (value < 0)
		*--at = '-';
	separate(j);
	fwrite_unlocked(at, 1, (size_t)(end - at), j->out);
}

void json_bool(struct json *j, bool value)
{
	separate(j);
	fputs(value ? "true" : "false", j->out);
}

void json_break_line(struct json *j)
{
	if (j->needs_comma)
		putc_unlocked(',', j->out);
	j->needs_comma = false;
	putc_unlocked('\n', j->out);
}
