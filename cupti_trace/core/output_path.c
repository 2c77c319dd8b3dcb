// SPDX-License-Identifier: MIT
#include "cupti_trace/core/output_path.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "cupti_trace/core/guest.h"
#include "cupti_trace/wire/gpu_wire.h"
#include "symbolize/util/guarded_path.h"

int output_path(const char *name, char *path, size_t size)
{
	const char *mark = strstr(name, "%p");
	char folder[PATH_MAX] = "", pid[24] = "";
	const char *slash = "";
	int n;

	if (!name[0])
		return -ENOENT;
	if (name[0] != '/') {
		/* not absolute if the folder cannot be reached from the root */
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

/*
 * Returns whether stderr is still the file of the first call. A program that closes stderr may open
 * a file under that number.
 */
static bool has_first_stderr(void)
{
	static struct stat first;
	static bool is_known;
	struct stat now = {0};
	bool is_open = fstat(STDERR_FILENO, &now) == 0;

	if (!is_known)
		first = now;
	is_known = true;
	return is_open && now.st_dev == first.st_dev && now.st_ino == first.st_ino;
}

/* Writes once, and raises no signal. Call between guest_enter and guest_leave. */
static void print(const char *line, size_t length)
{
	static const int signals[] = {SIGPIPE, SIGXFSZ};
	bool were_pending[] = {guest_is_pending(SIGPIPE), guest_is_pending(SIGXFSZ)};

	if (!has_first_stderr() || write(STDERR_FILENO, line, length) >= 0)
		return;
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		if (!were_pending[i])
			guest_take_back(signals[i]);
}

void output_path_complain(const char *variable, const char *path, int err)
{
	char line[GPU_WIRE_LINE_MAX];
	int n;

	if (path)
		n = snprintf(line, sizeof(line), "profile: cannot write %s %s: %s\n", variable,
			     path,
			     err == -EEXIST   ? "it exists and is not a trace"
			     : err == -EINVAL ? "it is not a regular file"
			     : err == -ESTALE ? "another file has its name now"
					      : guarded_error(-err));
	else
		n = snprintf(line, sizeof(line),
			     "profile: INJECTION_METRICS is set, but %s, the file for them, is "
			     "not\n",
			     variable);
	if (n > 0 && (size_t)n < sizeof(line))
		print(line, (size_t)n);
}

void output_path_note_stderr(void)
{
	has_first_stderr();
}
