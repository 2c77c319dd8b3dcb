/* SPDX-License-Identifier: MIT */
/*
 * The memory of another process: its bytes, what is mapped where, and the functions that its
 * libraries export, read from the tables that its loader uses. No file is opened, so it does not
 * matter in which mount namespace the process is, or whether its libraries were replaced on disk.
 *
 * All of this is untrusted: work is bounded, and a wrong answer is an address in that process.
 * Whoever may not trace the process cannot read it (ptrace(2), PTRACE_MODE_ATTACH).
 */
#ifndef PROFILER_SESSION_REMOTE_MEMORY_H
#define PROFILER_SESSION_REMOTE_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* All `size` bytes at `address`; false: some cannot be read. */
bool remote_read(pid_t pid, uint64_t address, void *bytes, size_t size);

/* As many of them as can be read from the first on. */
size_t remote_read_some(pid_t pid, uint64_t address, void *bytes, size_t size);

struct remote_mapping {
	uint64_t start, end, offset, inode;
	bool is_writable, is_executable;
	const char *path; /* "": none */
};

/*
 * The next line of a /proc/PID/maps in `*text`, which is rewritten; the path points into it. False:
 * no more.
 */
bool remote_mapping_next(char **text, struct remote_mapping *mapping);

/*
 * The address of a function that the library exports whose first page is mapped at `base`; 0: it
 * exports none of that name, or cannot be read.
 */
uint64_t remote_function(pid_t pid, uint64_t base, const char *name);

#endif
