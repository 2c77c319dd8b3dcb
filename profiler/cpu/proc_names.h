/* SPDX-License-Identifier: MIT */
/* Reads names of living processes and threads from /proc. */
#ifndef PROFILER_CPU_PROC_NAMES_H
#define PROFILER_CPU_PROC_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include "profiler/cpu/process_event.h"
#include "symbolize/util/bounded_call.h"

/*
 * Writes a process's name and pid, "train.py 4711".
 *
 * The name is that of an interpreter's script or module, or of a dynamic loader's program
 * (process_names.h). Otherwise it is the kernel's name. `comm`: the kernel's name, or NULL if
 * unknown. `program`: the kernel's name when the program began, or NULL. A process that renamed
 * itself has its new name in place of its script's. "[process 4711]" stands for a process that is
 * gone and has no name.
 *
 * `calls` reads the arguments. If reading times out, the kernel's name is used.
 */
void proc_names_process(struct bounded_caller *calls, pid_t pid, const char *comm,
			const char *program, char *out, size_t size);

/*
 * Writes a thread's name and id, "loader 4712", or "[thread 4712]". `earlier`: an earlier name for
 * a thread that is gone, or NULL.
 */
void proc_names_thread(pid_t pid, pid_t tid, const char *comm, const char *earlier, char *out,
		       size_t size);

/* Copies the kernel's name of a thread, or "" if the thread is gone. */
void proc_names_comm(pid_t pid, pid_t tid, char out[PROCESS_COMM_BYTES]);

/*
 * Copies the name that the kernel would give to the program that a dynamic loader runs. `comm` is
 * the kernel's name of the process. Returns false if the process is no loader, or runs no program.
 */
bool proc_names_loaded(struct bounded_caller *calls, pid_t pid, const char *comm,
		       char out[PROCESS_COMM_BYTES]);

#endif
