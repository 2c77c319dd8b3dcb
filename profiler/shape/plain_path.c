// SPDX-License-Identifier: MIT
#include "profiler/shape/plain_path.h"

#include <stdlib.h>
#include <string.h>

/* Appends a path's components to an absolute path. Returns the new length. */
static size_t append_path(char *to, size_t length, const char *path)
{
	while (*path) {
		size_t n = strcspn(path, "/");

		if (n == 2 && path[0] == '.' && path[1] == '.') {
			while (length > 0 && to[--length] != '/')
				;
		} else if (n > 0 && !(n == 1 && path[0] == '.')) {
			to[length++] = '/';
			memcpy(to + length, path, n);
			length += n;
		}
		path += n + (path[n] == '/');
	}
	to[length] = '\0';
	return length;
}

char *plain_path(const char *folder, const char *path)
{
	size_t room = strlen(path) + (folder ? strlen(folder) : 0) + 3;
	char *text = path[0] == '/' || folder ? malloc(room) : NULL;

	if (text)
		append_path(text, path[0] == '/' ? 0 : append_path(text, 0, folder), path);
	return text;
}
