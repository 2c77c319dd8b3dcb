// SPDX-License-Identifier: MIT
#include "profiler/session/exec_error.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "profiler/base/exit_status.h"
#include "symbolize/file_io.h"
#include "symbolize/text.h"

#define FIRST_LINE_MAX 256 /* the kernel looks no further (BINPRM_BUF_SIZE) */

/* The file that execvp tried to run. False: there is none. */
static bool find_file(const char *command, char *file, size_t size)
{
	const char *at = getenv("PATH");

	if (!command[0])
		return false;
	if (strchr(command, '/') || !at) {
		snprintf(file, size, "%s", command);
		return access(file, F_OK) == 0;
	}
	for (;;) {
		size_t length = strcspn(at, ":");

		snprintf(file, size, "%.*s%s%s", (int)length, at, length ? "/" : "", command);
		if (access(file, X_OK) == 0)
			return true;
		if (!at[length])
			return false;
		at += length + 1;
	}
}

/* What follows "#!", up to the first blank; "" for a file of another kind. */
static void read_interpreter(const char *file, char line[FIRST_LINE_MAX + 1])
{
	struct stat st;
	int fd = open_regular(file, SYMLINK_FOLLOW, &st);
	ssize_t n = fd < 0 ? 0 : read(fd, line, FIRST_LINE_MAX);
	size_t blanks;

	if (fd >= 0)
		close(fd);
	line[n > 0 ? n : 0] = '\0';
	if (!starts_with(line, "#!")) {
		line[0] = '\0';
		return;
	}
	blanks = 2 + strspn(line + 2, " \t");
	memmove(line, line + blanks, strlen(line + blanks) + 1);
	line[strcspn(line, " \t\n")] = '\0';
}

static void explain_missing_part(struct log *log, const char *command, const char *file)
{
	char interpreter[FIRST_LINE_MAX + 1];
	size_t length;

	read_interpreter(file, interpreter);
	length = strlen(interpreter);
	if (length == 0)
		log_error(log, "cannot run %s: the loader that it needs does not exist here",
			  command);
	else if (interpreter[length - 1] == '\r')
		log_error(log,
			  "cannot run %s: its first line ends in CR LF, as lines do on Windows; "
			  "save it with LF alone",
			  command);
	else
		log_error(log, "cannot run %s: its interpreter %s does not exist", command,
			  interpreter);
}

int exec_error_explain(struct log *log, const char *command, int err)
{
	char file[PATH_MAX];

	if (err != ENOENT) {
		log_error(log, "cannot run %s: %s", command, strerror(err));
		return EXIT_CANNOT_RUN;
	}
	if (!find_file(command, file, sizeof(file))) {
		log_error(log, "%s: command not found", command);
		return EXIT_NOT_FOUND;
	}
	explain_missing_part(log, command, file);
	return EXIT_CANNOT_RUN;
}
