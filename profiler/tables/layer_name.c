// SPDX-License-Identifier: MIT
#include "profiler/tables/layer_name.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define BORDERS "[].:"

/* Returns true for a part that is a number, or stands for all (nvtx_fold.h). */
static bool is_number(const char *part, size_t length)
{
	return length > 0 &&
	       (strspn(part, "0123456789") == length || (length == 1 && *part == 'N'));
}

char *layer_kind(const char *name)
{
	char *text = malloc(strlen(name) + 1), *to = text;

	if (!text)
		return NULL;
	while (*name) {
		size_t length = strcspn(name, BORDERS);

		if (is_number(name, length))
			*to++ = '*';
		else
			to = (char *)memcpy(to, name, length) + length;
		name += length;
		if (*name)
			*to++ = *name++;
	}
	*to = '\0';
	return text;
}
