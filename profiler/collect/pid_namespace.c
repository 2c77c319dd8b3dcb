// SPDX-License-Identifier: MIT
#include "profiler/collect/pid_namespace.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The last number of its NSpid line (proc(5)), or 0. */
static pid_t innermost_pid(pid_t pid)
{
	char path[64], line[512], *at, *end;
	pid_t inner = 0;
	FILE *status;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	status = fopen(path, "re");
	if (!status)
		return 0;
	while (inner == 0 && fgets(line, sizeof(line), status)) {
		if (strncmp(line, "NSpid:", strlen("NSpid:")) != 0)
			continue;
		for (at = line + strlen("NSpid:");; at = end) {
			long value = strtol(at, &end, 10);

			if (end == at)
				break;
			inner = (pid_t)value;
		}
	}
	fclose(status);
	return inner;
}

struct pid_namespace pid_namespace_own(void)
{
	struct stat st;

	if (stat("/proc/self/ns/pid", &st) != 0)
		return (struct pid_namespace){.inner = getpid()};
	return (struct pid_namespace){st.st_ino, getpid()};
}

struct pid_namespace pid_namespace_of(pid_t pid)
{
	struct pid_namespace found = {0};
	char path[64];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%d/ns/pid", (int)pid);
	if (stat(path, &st) == 0)
		found = (struct pid_namespace){st.st_ino, innermost_pid(pid)};
	else if (errno == EACCES || errno == EPERM)
		found.id = PID_NAMESPACE_HIDDEN;
	return found;
}
