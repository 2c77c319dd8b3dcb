// SPDX-License-Identifier: MIT
#include "profiler/collect/proc_names.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The beginning of a small file of /proc; NULs stay. Returns the length. */
static size_t read_small(const char *path, char *text, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, size - 1);

	if (fd >= 0)
		close(fd);
	text[n > 0 ? n : 0] = '\0';
	return n > 0 ? (size_t)n : 0;
}

static const char *base_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* Of Python's options, those whose value is an argument of its own. */
static bool takes_value(const char *option)
{
	return strcmp(option, "-W") == 0 || strcmp(option, "-X") == 0 ||
	       strcmp(option, "--check-hash-based-pycs") == 0;
}

/* An interpreter is known by its script: the first argument that is no option. */
static const char *script_of(const char *cmdline, size_t length)
{
	const char *name = base_of(cmdline), *at = cmdline + strlen(cmdline) + 1;

	if (strncmp(name, "python", 6) != 0)
		return NULL;
	while (at < cmdline + length && *at == '-') {
		bool skips_next = takes_value(at);

		if (strcmp(at, "-c") == 0 || strcmp(at, "-m") == 0)
			return NULL;
		at += strlen(at) + 1;
		if (skips_next && at < cmdline + length)
			at += strlen(at) + 1;
	}
	return at < cmdline + length && *at ? base_of(at) : NULL;
}

static void read_comm(pid_t pid, pid_t tid, char *out, size_t size)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/task/%d/comm", (int)pid, (int)tid);
	read_small(path, out, size);
	out[strcspn(out, "\n")] = '\0';
}

static void put_name(const char *name, const char *kind, pid_t id, char *out, size_t size)
{
	if (name[0])
		snprintf(out, size, "%.200s %d", name, (int)id);
	else
		snprintf(out, size, "[%s %d]", kind, (int)id);
}

void proc_names_process(pid_t pid, const char *comm, char *out, size_t size)
{
	char path[64], text[4096], read[64] = "";
	const char *script = NULL;
	size_t n;

	if (!comm) {
		read_comm(pid, pid, read, sizeof(read));
		comm = read;
	}
	snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)pid);
	n = read_small(path, text, sizeof(text));
	script = n ? script_of(text, n) : NULL;
	put_name(script ? script : comm, "process", pid, out, size);
}

void proc_names_thread(pid_t pid, pid_t tid, const char *comm, char *out, size_t size)
{
	char read[64] = "";

	if (!comm) {
		read_comm(pid, tid, read, sizeof(read));
		comm = read;
	}
	put_name(comm, "thread", tid, out, size);
}
