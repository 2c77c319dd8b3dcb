/* SPDX-License-Identifier: MIT */
/* Names of living processes and threads, from /proc. */
#ifndef PROFILER_CPU_PROC_NAMES_H
#define PROFILER_CPU_PROC_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include "profiler/cpu/process_event.h"
#include "symbolize/util/bounded_call.h"

/*
 * "train.py 4711": the script or module of an interpreter, or the program of a dynamic loader
 * (process_names.h), else the kernel's name of the process. `comm`: that name if it is known, or
 * NULL; `program`: what it was when the program began, or NULL. One that renamed itself has its own
 * name in place of its script's. "[process 4711]" if it is gone and has no name. `calls` reads the
 * arguments; if they do not come in time, the name omits them.
 */
void proc_names_process(struct bounded_caller *calls, pid_t pid, const char *comm,
			const char *program, char *out, size_t size);

/*
 * Likewise for a thread: "loader 4712", "[thread 4712]". `earlier`: a name that it has had, for
 * when it is gone, or NULL.
 */
void proc_names_thread(pid_t pid, pid_t tid, const char *comm, const char *earlier, char *out,
		       size_t size);

/* Copies the kernel's name of a thread; "": it is gone. */
void proc_names_comm(pid_t pid, pid_t tid, char out[PROCESS_COMM_BYTES]);

/*
 * Finds the program that a dynamic loader runs, and copies the name that the kernel would give
 * it. `comm` is the kernel's name of the process. False: the process is no loader, or runs none.
 */
bool proc_names_loaded(struct bounded_caller *calls, pid_t pid, const char *comm,
		       char out[PROCESS_COMM_BYTES]);

#endif
