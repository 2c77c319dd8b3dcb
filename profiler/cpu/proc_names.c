// SPDX-License-Identifier: MIT
#include "profiler/cpu/proc_names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "profiler/base/process_names.h"
#include "symbolize/util/proc_file.h"
#include "symbolize/util/text.h"

#define COMM_SIZE 64
#define CMDLINE_MAX 4095 /* bytes read */
#define NAME_BYTES 256   /* size of a program's name; longer names are cut */

/* Reads the kernel's name of a task, or "". */
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

/* Returns true if the kernel's (truncated) process name is that of a file. */
static bool is_name_of(const char *comm, const char *path)
{
	return strncmp(comm, base_name(path), PROCESS_COMM_BYTES - 1) == 0;
}

/* Copies the name of the script or program that is run, cut; "" if there is none. */
static void put_program(const struct process_names *names, char out[NAME_BYTES])
{
	snprintf(out, NAME_BYTES, "%.*s", (int)names->program_bytes,
		 names->program ? names->program : "");
}

void proc_names_process(struct bounded_caller *calls, pid_t pid, const char *comm,
			const char *program, char *out, size_t size)
{
	bool is_new = comm && comm[0] && !(program && strcmp(comm, program) == 0);
	struct process_names names = {.program = NULL};
	char read[COMM_SIZE], script[NAME_BYTES], *cmdline = NULL;
	size_t length;

	if (!comm) {
		read_comm(pid, pid, read);
		comm = read;
	}
	if (proc_file_read(calls, pid, "cmdline", CMDLINE_MAX, &cmdline, &length) == 0)
		process_names_find(&names, comm, "", cmdline, length, false);
	put_program(&names, script);
	if (script[0] && is_new && !is_name_of(comm, cmdline) && !is_name_of(comm, script))
		script[0] = '\0';
	put_name(script[0] ? script : comm, "process", pid, out, size);
	free(cmdline);
}

bool proc_names_loaded(struct bounded_caller *calls, pid_t pid, const char *comm,
		       char out[PROCESS_COMM_BYTES])
{
	struct process_names names = {.program = NULL};
	char program[NAME_BYTES], *cmdline;
	size_t length;

	if (!process_names_is_loader(comm) ||
	    proc_file_read(calls, pid, "cmdline", CMDLINE_MAX, &cmdline, &length) != 0)
		return false;
	if (is_name_of(comm, cmdline)) /* otherwise the process runs another program by now */
		process_names_find(&names, comm, "", cmdline, length, false);
	put_program(&names, program);
	snprintf(out, PROCESS_COMM_BYTES, "%.*s", PROCESS_COMM_BYTES - 1, program);
	free(cmdline);
	return out[0] != '\0';
}

void proc_names_comm(pid_t pid, pid_t tid, char out[PROCESS_COMM_BYTES])
{
	char read[COMM_SIZE];

	read_comm(pid, tid, read);
	snprintf(out, PROCESS_COMM_BYTES, "%.*s", PROCESS_COMM_BYTES - 1, read);
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
