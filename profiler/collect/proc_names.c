// SPDX-License-Identifier: MIT
#include "profiler/collect/proc_names.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "profiler/collect/process_event.h"
#include "symbolize/proc_file.h"
#include "symbolize/text.h"

#define COMM_SIZE 64
#define CMDLINE_MAX 4095 /* bytes read */

/* Python's options that take their value as a separate argument. */
static bool takes_value(const char *option)
{
	return strcmp(option, "-W") == 0 || strcmp(option, "-X") == 0 ||
	       strcmp(option, "--check-hash-based-pycs") == 0;
}

/* An interpreter's script: the first argument that is not an option. */
static const char *script_of(const char *cmdline, size_t length)
{
	const char *name = base_name(cmdline), *at = cmdline + strlen(cmdline) + 1;

	if (!starts_with(name, "python"))
		return NULL;
	while (at < cmdline + length && *at == '-') {
		bool skips_next = takes_value(at);

		if (strcmp(at, "-c") == 0 || strcmp(at, "-m") == 0)
			return NULL;
		at += strlen(at) + 1;
		if (skips_next && at < cmdline + length)
			at += strlen(at) + 1;
	}
	return at < cmdline + length && *at ? base_name(at) : NULL;
}

/* A task's own name, or "". */
static void read_comm(pid_t pid, pid_t tid, char out[COMM_SIZE])
{
	char name[32], *text;
	size_t size;

	out[0] = '\0';
	snprintf(name, sizeof(name), "task/%d/comm", (int)tid);
	if (proc_file_read(NULL, pid, name, COMM_SIZE - 1, &text, &size) != 0)
		return;
	memcpy(out, text, size + 1);
	out[strcspn(out, "\n")] = '\0';
	free(text);
}

static void put_name(const char *name, const char *kind, pid_t id, char *out, size_t size)
{
	if (name[0])
		snprintf(out, size, "%.200s %d", name, (int)id);
	else
		snprintf(out, size, "[%s %d]", kind, (int)id);
}

/* Tells whether the kernel's name of a process is that of a file, which it cuts. */
static bool is_name_of(const char *comm, const char *path)
{
	return strncmp(comm, base_name(path), PROCESS_COMM_BYTES - 1) == 0;
}

void proc_names_process(struct bounded_caller *calls, pid_t pid, const char *comm,
			const char *program, char *out, size_t size)
{
	char read[COMM_SIZE], *cmdline = NULL;
	bool is_new = comm && comm[0] && !(program && strcmp(comm, program) == 0);
	const char *script = NULL;
	size_t length;

	if (!comm) {
		read_comm(pid, pid, read);
		comm = read;
	}
	if (proc_file_read(calls, pid, "cmdline", CMDLINE_MAX, &cmdline, &length) == 0)
		script = script_of(cmdline, length);
	if (script && is_new && !is_name_of(comm, cmdline) && !is_name_of(comm, script))
		script = NULL;
	put_name(script ? script : comm, "process", pid, out, size);
	free(cmdline);
}

void proc_names_thread(pid_t pid, pid_t tid, const char *comm, const char *earlier, char *out,
		       size_t size)
{
	char read[COMM_SIZE];

	if (!comm) {
		read_comm(pid, tid, read);
		comm = read[0] || !earlier ? read : earlier;
	}
	put_name(comm, "thread", tid, out, size);
}
