/* SPDX-License-Identifier: MIT */
/*
 * The names by which people know a process, as its command line has them.
 *
 *   /usr/bin/python3 -u exp/train.py --lr 1     python3, train.py, exp/train.py
 *   python3 -m torch.distributed.run            python3, torch.distributed.run
 *   ray::worker/3 (a title)                     ray::worker/3, 3
 *
 * The command line is the process's own to change: any bytes are taken.
 */
#ifndef PROFILER_SESSION_PROCESS_NAMES_H
#define PROFILER_SESSION_PROCESS_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PROCESS_NAMES_MAX 4

struct process_names {
	const char *list[PROCESS_NAMES_MAX]; /* in the command line */
	uint32_t count;
};

/*
 * `comm` is the kernel's name of the process, `exe` its program's without folders ("": unknown).
 * `cmdline` has `size` bytes, with a NUL behind each argument and another one at the end. The names
 * are what it was started as, or its title, and the script or module that an interpreter runs:
 * without folders, and also as it is written unless that is an absolute path. `with_paths`:
 * absolute paths, too.
 */
void process_names_find(struct process_names *names, const char *comm, const char *exe,
			const char *cmdline, size_t size, bool with_paths);

#endif
