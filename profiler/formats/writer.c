// SPDX-License-Identifier: MIT
#include "profiler/formats/writer.h"

#include <stddef.h>
#include <string.h>
#include <strings.h>

bool has_suffix(const char *path, const char *suffix)
{
	size_t length = strlen(path), n = suffix ? strlen(suffix) : 0;

	return suffix && length >= n && strcasecmp(path + length - n, suffix) == 0;
}

const char *path_extension(const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	const char *dot = strrchr(name, '.');

	return dot && dot > name && dot[1] ? dot : "";
}
