/* SPDX-License-Identifier: MIT */
/*
 * The memory of another process: its bytes, what is mapped where, and the functions that its
 * libraries export, read from the tables that its loader uses. No file is opened, so it does not
 * matter in which mount namespace the process is, or whether its libraries were replaced on disk.
 *
 * All of this is untrusted: work is bounded, and a wrong answer is an address in that process.
 * Whoever may not trace the process cannot open its memory (ptrace(2), PTRACE_MODE_ATTACH). What is
 * open stays that of the program that ran then.
 *
 * A page may be of a file that never answers, or of one whose faults the program serves itself. So
 * reads run on another thread, which has a deadline and needs no capabilities (bounded_call.h).
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

/* By the thread that has the right to. `calls` is borrowed. 0 or -errno; close it in any case. */
int remote_memory_open(struct remote_memory *memory, pid_t pid, struct bounded_caller *calls);
void remote_memory_close(struct remote_memory *memory);

/* Returns whether a read was abandoned: no further ones are made. */
bool remote_memory_is_stuck(const struct remote_memory *memory);

/* All `size` bytes at `address`; false: some cannot be read. */
bool remote_read(const struct remote_memory *memory, uint64_t address, void *bytes, size_t size);

/* As many of them as can be read from the first on. */
size_t remote_read_some(const struct remote_memory *memory, uint64_t address, void *bytes,
			size_t size);

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
uint64_t remote_function(const struct remote_memory *memory, uint64_t base, const char *name);

#endif
