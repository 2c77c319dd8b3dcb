/* SPDX-License-Identifier: MIT */
/*
 * Decides whether dlopen can be called on top of a sleeping thread's stack.
 *
 * dlopen must not meet itself, or a lock that the thread holds. So these make a
 * stack unsafe: the loader, the CUDA driver, CUPTI, an allocator, fork, exit, the creation of a
 * thread. A signal handler is unsafe, too: the interrupted code is unknown. So is the wait for a
 * mutex or for a lock of the C library.
 *
 * The stack and all names come from the process and are untrusted: a wrong answer harms that
 * process only. x86-64 only.
 */
#ifndef PROFILER_ATTACH_SAFE_STACK_H
#define PROFILER_ATTACH_SAFE_STACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/user.h>
#include "profiler/attach/remote_memory.h"
#include "symbolize/symbolizer.h"
#include "symbolize/unwind.h"

#define SAFE_STACK_BYTES (256u << 10) /* copied at most */
#define SAFE_STACK_FRAMES 256u

/* The copy of a stack, and scratch memory. Large: do not put it on a stack. */
struct safe_stack {
	struct user_regs_struct registers;
	size_t size;
	uint8_t bytes[SAFE_STACK_BYTES];
	struct unwind_frame frames[SAFE_STACK_FRAMES];
};

/* Copies the stack of a stopped thread with these registers, as far as it can be read. */
void safe_stack_copy(struct safe_stack *s, const struct remote_memory *memory,
		     const struct user_regs_struct *registers);

/*
 * Unwinds the copy; the thread may run meanwhile. Reads the unwind tables and symbols of the files
 * on the stack. Returns true if no frame is unsafe. `is_whole`: the stack must also be unwound to
 * its beginning.
 */
bool safe_stack_check(struct safe_stack *s, struct symbolizer *symbolizer,
		      struct address_space *space, bool is_whole);

/* Returns true if dlopen must not be called below this function of the library `path`. */
bool safe_stack_forbids(const char *path, const char *function);

#endif
