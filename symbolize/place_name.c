/* SPDX-License-Identifier: MIT */
#include "symbolize/place_name.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "symbolize/util/text.h"

char *place_name(const char *path, const uint64_t *start)
{
	const char *base = base_name(path);
	char *text;
	int written = start ? asprintf(&text, "[%s+0x%" PRIx64 "]", base, *start)
			    : asprintf(&text, "[%s]", base);

	return written < 0 ? NULL : text;
}

size_t place_name_file(const char *name)
{
	const char *plus = name[0] == '[' ? strrchr(name, '+') : NULL;
	size_t digits;

	if (!plus || !starts_with(plus, "+0x"))
		return 0;
	digits = strspn(plus + 3, "0123456789abcdef");
	return digits > 0 && strcmp(plus + 3 + digits, "]") == 0 ? (size_t)(plus - name) : 0;
}
