/* SPDX-License-Identifier: MIT */
/*
 * Finds the names by which people know a process in its command line.
 *
 *   /usr/bin/python3 -u exp/train.py --lr 1     python3, train.py, exp/train.py
 *   python3 -m torch.distributed.run            python3, torch.distributed.run
 *   ld-linux-x86-64.so.2 ./app                  ld-linux-x86-64.so.2, app, ./app
 *   ray::worker/3 (a title)                     ray::worker/3, 3
 *
 * A process may overwrite its command line, so all bytes are accepted.
 */
#ifndef PROFILER_BASE_PROCESS_NAMES_H
#define PROFILER_BASE_PROCESS_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PROCESS_NAMES_MAX 6

struct process_names {
	const char *list[PROCESS_NAMES_MAX]; /* pointers into the command line */
	uint32_t count;
	/*
	 * Name of the program that an interpreter or a dynamic loader runs; the best name. It has
	 * `program_bytes` bytes in the command line, and no folders. NULL if there is no such
	 * program, or it has no name.
	 */
	const char *program;
	size_t program_bytes;
};

/*
 * Returns true for the name of a dynamic loader (ld.so(8)), which can run a program given as
 * argument. Accepts file names and the kernel's truncated process names.
 */
bool process_names_is_loader(const char *name);

/* Returns true for the file name of an interpreter or a dynamic loader. */
bool process_names_is_interpreter(const char *name);

/*
 * Finds the names of a process. `comm` is the kernel's name, `exe` the base name of the executable
 * ("" if unknown). `cmdline` has `size` bytes, a NUL after each argument and a NUL at the end.
 *
 * The names are argv[0] or the process title, and the script, module or program that is run. Each
 * is listed by its base name, and as written unless that is an absolute path. `with_paths` includes
 * absolute paths.
 */
void process_names_find(struct process_names *names, const char *comm, const char *exe,
			const char *cmdline, size_t size, bool with_paths);

#endif
