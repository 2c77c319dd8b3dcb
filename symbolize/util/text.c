// SPDX-License-Identifier: MIT
#include "symbolize/util/text.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

size_t count_utf8_bytes(const unsigned char *s)
{
	size_t n = s[0] < 0x80                   ? 1
		   : s[0] >= 0xc2 && s[0] < 0xe0 ? 2
		   : (s[0] & 0xf0) == 0xe0       ? 3
		   : s[0] >= 0xf0 && s[0] < 0xf5 ? 4
						 : 0;

	for (size_t i = 1; i < n; i++)
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) ||
	    (s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f))
		return 0;
	return n;
}

size_t fit_utf8(const char *text, size_t limit)
{
	size_t length = strnlen(text, limit + 1);

	return length > limit ? cut_text(text, limit) : length;
}

size_t put_utf8(uint32_t c, char *out)
{
	static const unsigned char first_byte[] = {[1] = 0, [2] = 0xc0, [3] = 0xe0, [4] = 0xf0};
	size_t n;

	if (c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
		c = 0xfffd;
	n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
	out[0] = (char)(first_byte[n] | c >> 6 * (n - 1));
	for (size_t i = 1; i < n; i++)
		out[i] = (char)(0x80 | (c >> 6 * (n - 1 - i) & 0x3f));
	return n;
}

/* Returns whether the character changes the order of the text. */
static bool is_bidirectional_control(const unsigned char *s)
{
	if (s[0] == 0xd8)
		return s[1] == 0x9c;
	if (s[0] != 0xe2)
		return false;
	if (s[1] == 0x80)
		return s[2] == 0x8e || s[2] == 0x8f || (s[2] >= 0xaa && s[2] <= 0xae);
	return s[1] == 0x81 && s[2] >= 0xa6 && s[2] <= 0xa9;
}

/* Returns whether the well-formed character at `s` is a control character. */
static bool is_control(const unsigned char *s)
{
	return s[0] < 0x20 || s[0] == 0x7f || (s[0] == 0xc2 && s[1] < 0xa0) ||
	       is_bidirectional_control(s);
}

void clean_text(char *text)
{
	unsigned char *from = (unsigned char *)text, *to = from;

	while (*from) {
		size_t n = count_utf8_bytes(from);

		if (n == 0 || is_control(from))
			*to++ = '?';
		else
			to = (unsigned char *)memmove(to, from, n) + n;
		from += n ? n : 1;
	}
	*to = '\0';
}

void append_text(char *text, size_t size, const char *format, ...)
{
	size_t used = strlen(text);
	va_list args;

	va_start(args, format);
	vsnprintf(text + used, size - used, format, args);
	va_end(args);
}
