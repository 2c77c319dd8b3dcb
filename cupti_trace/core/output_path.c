// SPDX-License-Identifier: MIT
#include "cupti_trace/core/output_path.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int output_path(const char *name, char *path, size_t size)
{
	const char *mark = strstr(name, "%p");
	char folder[PATH_MAX] = "", pid[24] = "";
	const char *slash = "";
	int n;

	if (!name[0])
		return -ENOENT;
	if (name[0] != '/') {
		/* that of a folder that cannot be reached from the root does not begin with a slash
		 */
		if (!getcwd(folder, sizeof(folder)))
			return -errno;
		if (folder[0] != '/')
			return -ENOENT;
		slash = "/";
	}
	if (mark)
		snprintf(pid, sizeof(pid), "%d", (int)getpid());
	n = snprintf(path, size, "%s%s%.*s%s%s", folder, slash,
		     mark ? (int)(mark - name) : (int)strlen(name), name, pid,
		     mark ? mark + 2 : "");
	return n < 0 || (size_t)n >= size ? -ENAMETOOLONG : 0;
}
