// SPDX-License-Identifier: MIT
#include "cupti_trace/core/settings.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static char *lines; /* each ended by a NUL, the last one by two; NULL: the environment's */

int settings_use(const char *text)
{
	size_t size = strlen(text);
	char *copy = calloc(1, size + 2);

	if (!copy)
		return -ENOMEM;
	memcpy(copy, text, size);
	for (char *at = copy; (at = strchr(at, '\n')); at++)
		*at = '\0';
	free(lines); /* of a profiler that has gone */
	lines = copy;
	return 0;
}

const char *setting(const char *name)
{
	size_t length = strlen(name);

	if (!lines)
		return getenv(name);
	for (const char *line = lines; *line; line += strlen(line) + 1)
		if (strncmp(line, name, length) == 0 && line[length] == '=')
			return line + length + 1;
	return NULL;
}
