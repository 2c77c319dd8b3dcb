/* SPDX-License-Identifier: MIT */
/*
 * The names by which people know a process, as its command line has them.
 *
 *   /usr/bin/python3 -u exp/train.py --lr 1     python3, train.py, exp/train.py
 *   python3 -m torch.distributed.run            python3, torch.distributed.run
 *   ld-linux-x86-64.so.2 ./app                  ld-linux-x86-64.so.2, app, ./app
 *   ray::worker/3 (a title)                     ray::worker/3, 3
 *
 * The command line is the process's own to change: any bytes are taken.
 */
#ifndef PROFILER_BASE_PROCESS_NAMES_H
#define PROFILER_BASE_PROCESS_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PROCESS_NAMES_MAX 6

struct process_names {
	const char *list[PROCESS_NAMES_MAX]; /* in the command line */
	uint32_t count;
	/*
	 * The best name: that of the program which an interpreter or a dynamic loader runs. It
	 * has `program_bytes` bytes in the command line, and no folders. NULL: the process is
	 * neither, or its program has no name.
	 */
	const char *program;
	size_t program_bytes;
};

/*
 * Tells whether a file name, or the kernel's name of a process, which is cut, is that of a dynamic
 * loader (ld.so(8)): it can be run with a program as an argument.
 */
bool process_names_is_loader(const char *name);

/* Tells whether a file name is that of an interpreter or a dynamic loader. */
bool process_names_is_interpreter(const char *name);

/*
 * `comm` is the kernel's name of the process, `exe` its program's without folders ("": unknown).
 * `cmdline` has `size` bytes, with a NUL behind each argument and another one at the end. The names
 * are what it was started as, or its title, and the script, module or program that an interpreter
 * or a dynamic loader runs: without folders, and also as it is written unless that is an absolute
 * path. `with_paths`: absolute paths, too.
 */
void process_names_find(struct process_names *names, const char *comm, const char *exe,
			const char *cmdline, size_t size, bool with_paths);

#endif
