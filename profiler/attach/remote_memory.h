/* SPDX-License-Identifier: MIT */
/*
 * Reads the memory of another process, and finds exported functions. Functions are found
 * by the tables of the loader. No file is opened, so the mount namespace does not matter, nor do
 * libraries replaced on disk.
 *
 * All data is untrusted: work is bounded, and a wrong result is an address in that process. Opening
 * the memory requires PTRACE_MODE_ATTACH (ptrace(2)). An open descriptor stays with the program
 * that ran then.
 *
 * A page may be backed by a file that never answers, or by userfaultfd. So reads run on another
 * thread, which has a deadline and no capabilities (bounded_call.h).
 */
#ifndef PROFILER_ATTACH_REMOTE_MEMORY_H
#define PROFILER_ATTACH_REMOTE_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "symbolize/util/bounded_call.h"

struct remote_memory {
	pid_t pid;
	int fd; /* /proc/PID/mem */
	struct bounded_caller *calls;
};

/*
 * Opens the memory, from a thread with the right to trace. `calls` is borrowed. Returns 0 or
 * -errno; close the memory in any case.
 */
int remote_memory_open(struct remote_memory *memory, pid_t pid, struct bounded_caller *calls);
void remote_memory_close(struct remote_memory *memory);

/* Returns true if a read was abandoned. Further reads fail at once. */
bool remote_memory_is_stuck(const struct remote_memory *memory);

/* Reads `size` bytes at `address`. Returns false if some cannot be read. */
bool remote_read(const struct remote_memory *memory, uint64_t address, void *bytes, size_t size);

/* Reads bytes up to the first unreadable one. Returns their number. */
size_t remote_read_some(const struct remote_memory *memory, uint64_t address, void *bytes,
			size_t size);

/*
 * Returns the address of an exported function of the library mapped at `base`. Returns 0 if there
 * is none of that name, or on error.
 */
uint64_t remote_function(const struct remote_memory *memory, uint64_t base, const char *name);

#endif
