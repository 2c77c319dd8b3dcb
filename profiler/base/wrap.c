// SPDX-License-Identifier: MIT
#include "profiler/base/wrap.h"

#include <string.h>

static size_t columns_of(const char *text, size_t length)
{
	size_t columns = 0;

	for (size_t i = 0; i < length; i++)
		columns += ((unsigned char)text[i] & 0xc0) != 0x80;
	return columns;
}

static size_t copy(const char *line, char *wrapped, size_t size)
{
	size_t length = strnlen(line, size - 1);

	memcpy(wrapped, line, length);
	wrapped[length] = '\0';
	return length;
}

size_t wrap_line(const char *line, unsigned int width, char *wrapped, size_t size)
{
	size_t indent = strspn(line, " "), used = 0, columns = 0, at = 0;
	size_t hanging = indent + 2 < width / 2 ? indent + 2 : width / 2;

	if (width < WRAP_WIDTH_MIN || columns_of(line, strlen(line)) <= width)
		return copy(line, wrapped, size);
	while (line[at]) {
		size_t spaces = strspn(line + at, " ");
		size_t word = strcspn(line + at + spaces, " ");
		size_t length = columns_of(line + at + spaces, word);

		if (word == 0)
			break; /* spaces at the end */
		if (used + spaces + word + hanging + 2 > size)
			return copy(line, wrapped, size);
		if (at > 0 && columns + spaces + length > width) {
			wrapped[used++] = '\n';
			memset(wrapped + used, ' ', hanging);
			used += hanging;
			columns = hanging;
		} else {
			memset(wrapped + used, ' ', spaces);
			used += spaces;
			columns += spaces;
		}
		memcpy(wrapped + used, line + at + spaces, word);
		used += word;
		columns += length;
		at += spaces + word;
	}
	wrapped[used] = '\0';
	return used;
}
