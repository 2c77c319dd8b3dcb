// SPDX-License-Identifier: MIT
#include "profiler/tables/layer_name.h"

#include <stdlib.h>
#include <string.h>

#define BORDERS "[].:"

char *layer_kind(const char *name)
{
	char *text = malloc(strlen(name) + 1), *to = text;

	if (!text)
		return NULL;
	while (*name) {
		size_t length = strcspn(name, BORDERS);

		if (length > 0 && strspn(name, "0123456789") == length)
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
