// SPDX-License-Identifier: MIT
#include "cupti_trace/launch/nvtx_fold.h"

#include <ctype.h>
#include <stdint.h>
#include <string.h>

static size_t count_hexadecimal(const char *at)
{
	size_t n = 0;

	while (isxdigit((unsigned char)at[n]))
		n++;
	return n;
}

/* Returns the length of a UUID that begins here; 0: none does. */
static size_t uuid_at(const char *at)
{
	static const uint8_t groups[] = {8, 4, 4, 4, 12};
	size_t length = 0;

	for (size_t i = 0; i < sizeof(groups); i++) {
		if (count_hexadecimal(at + length) != groups[i])
			return 0;
		length += groups[i];
		if (i + 1 < sizeof(groups) && at[length++] != '-')
			return 0;
	}
	return isalnum((unsigned char)at[length]) ? 0 : length;
}

/* Returns the length of a word that is a number as a whole; 0: it is none. */
static size_t number_at(const char *at)
{
	size_t prefix = at[0] == '0' && (at[1] == 'x' || at[1] == 'X') ? 2 : 0;
	size_t digits = count_hexadecimal(at + prefix), uuid = uuid_at(at);

	if (uuid)
		return uuid;
	if (isalnum((unsigned char)at[prefix + digits]) || digits < (prefix ? 1 : 8))
		return 0;
	/* "facade" and the like may be words */
	return prefix || strcspn(at, "0123456789") < digits ? prefix + digits : 0;
}

bool nvtx_fold(const char *text, size_t length, char out[NVTX_TEXT_MAX + 1], size_t *size)
{
	char copy[NVTX_TEXT_MAX + 1];
	bool found = false;
	size_t n = 0;

	memcpy(copy, text, length);
	copy[length] = '\0';
	for (size_t i = 0; i < length;) {
		bool is_start = i == 0 || !isalnum((unsigned char)copy[i - 1]);
		size_t number = is_start ? number_at(copy + i) : 0;

		if (number == 0)
			number = strspn(copy + i, "0123456789");
		found |= number > 0;
		out[n++] = number ? 'N' : copy[i];
		i += number ? number : 1;
	}
	out[n] = '\0';
	*size = n;
	return found;
}
