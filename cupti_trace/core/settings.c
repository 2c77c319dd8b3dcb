// SPDX-License-Identifier: MIT
#include "cupti_trace/core/settings.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "symbolize/util/text.h"

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
	return lines ? variable_in(lines, name) : getenv(name);
}
