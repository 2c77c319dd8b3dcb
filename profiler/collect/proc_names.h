/* SPDX-License-Identifier: MIT */
/*
 * What a living process or thread calls itself, as /proc has it now.
 */
#ifndef PROFILER_COLLECT_PROC_NAMES_H
#define PROFILER_COLLECT_PROC_NAMES_H

#include <stddef.h>
#include <sys/types.h>
#include "symbolize/bounded_call.h"

/*
 * "train.py 4711": the script of an interpreter, else the kernel's name of it. `comm`: that name
 * where it is known already, or NULL. "[process 4711]" when it is gone and has none. Arguments are
 * read by `calls`; where they do not come in time the name goes without them.
 */
void proc_names_process(struct bounded_caller *calls, pid_t pid, const char *comm, char *out,
			size_t size);

/* The same of a thread: "loader 4712", "[thread 4712]". */
void proc_names_thread(pid_t pid, pid_t tid, const char *comm, char *out, size_t size);

#endif
