// SPDX-License-Identifier: MIT
#include "profiler/base/wrap.h"

#include <stdbool.h>
#include <string.h>
#include "profiler/base/columns.h"

static size_t copy(const char *line, char *wrapped, size_t size)
{
	size_t length = strnlen(line, size - 1);

	memcpy(wrapped, line, length);
	wrapped[length] = '\0';
	return length;
}

/* Returns true if the word ending at `end` is a number and the next word its unit. */
static bool parts_unit(const char *text, size_t end)
{
	static const char *const units[] = {"ns",  "us",  "ms",  "s",   "%", "B",
					    "KiB", "MiB", "GiB", "TiB", "x"};
	const char *next = text + end + strspn(text + end, " ");
	size_t length = strcspn(next, " ,;:)(");

	if (text[end - 1] < '0' || text[end - 1] > '9')
		return false;
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (strlen(units[i]) == length && memcmp(next, units[i], length) == 0)
			return true;
	return false;
}

/* Returns the end of the word before the one that ends at `end`. */
static size_t end_before(const char *text, size_t end)
{
	while (text[end] != ' ')
		end--;
	while (text[end - 1] == ' ')
		end--;
	return end;
}

/* Returns the end of the words that fit into `width` columns, at least the first word. */
static size_t end_of_words(const char *text, unsigned int width)
{
	unsigned int taken;
	size_t first = strspn(text, " "), end = columns_fit(text, width, &taken);

	first += strcspn(text + first, " ");
	if (!text[end] || end <= first)
		return text[end] ? first : end;
	end = end_before(text, end);
	while (end > first && parts_unit(text, end))
		end = end_before(text, end - 1);
	return end;
}

size_t wrap_line(const char *line, unsigned int width, char *wrapped, size_t size)
{
	size_t indent = strspn(line, " "), used = 0, at = 0;
	size_t hanging = indent + 2 < width / 2 ? indent + 2 : width / 2;

	if (width < WRAP_WIDTH_MIN || columns_of(line) <= width)
		return copy(line, wrapped, size);
	while (line[at] && line[at + strspn(line + at, " ")]) {
		size_t before = at > 0 ? hanging + 1 : 0; /* newline and indent */
		size_t length, left;

		at += at > 0 ? strspn(line + at, " ") : 0;
		left = at > 0 ? width - hanging : width;
		length = end_of_words(line + at, (unsigned int)left);
		if (used + before + length >= size)
			return copy(line, wrapped, size);
		if (before > 0) {
			wrapped[used] = '\n';
			memset(wrapped + used + 1, ' ', hanging);
		}
		memcpy(wrapped + used + before, line + at, length);
		used += before + length;
		at += length;
	}
	wrapped[used] = '\0';
	return used;
}
