// SPDX-License-Identifier: MIT
#include "symbolize/util/proc_thread.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "symbolize/util/file_io.h"

bool proc_thread_read(pid_t pid, pid_t tid, const char *file, char *text, size_t size)
{
	char path[96], *read;
	size_t length;
	int fd, err;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/%s", (int)pid, (int)tid, file);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	err = read_to_end(fd, size - 1, &read, &length);
	close(fd);
	if (err)
		return false;
	memcpy(text, read, length + 1);
	free(read);
	return true;
}

char proc_thread_state(pid_t pid, pid_t tid)
{
	char text[512];
	const char *state;

	if (!proc_thread_read(pid, tid, "stat", text, sizeof(text)))
		return '\0';
	state = strrchr(text, ')');
	return state && state[1] ? state[2] : '\0';
}
