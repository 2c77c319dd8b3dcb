// SPDX-License-Identifier: MIT
#include "profiler/cpu/pid_namespace.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>
#include "symbolize/util/proc_file.h"

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
		found = (struct pid_namespace){st.st_ino, proc_pid_inside(pid)};
	else if (errno == EACCES || errno == EPERM)
		found.id = PID_NAMESPACE_HIDDEN;
	return found;
}
