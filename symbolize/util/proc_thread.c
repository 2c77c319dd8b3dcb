// SPDX-License-Identifier: MIT
#include "symbolize/util/proc_thread.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "symbolize/util/proc_file.h"

bool proc_thread_read(pid_t pid, pid_t tid, const char *file, char *text, size_t size)
{
	char name[32], *read;
	size_t length;

	snprintf(name, sizeof(name), "task/%d/%s", (int)tid, file);
	if (proc_file_read(NULL, pid, name, size - 1, &read, &length) != 0)
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
