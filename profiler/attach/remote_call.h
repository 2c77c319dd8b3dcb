/* SPDX-License-Identifier: MIT */
/*
 * Borrows a sleeping thread of another process to call functions there, and gives it back
 * unchanged.
 *
 * ptrace(2) stops the thread in its system call. A call gets a stack frame below the used stack,
 * and blocks all signals except those of faults. The function returns to the C library's
 * rt_sigreturn. There lies a signal frame with the thread's own registers, vectors and signal mask.
 * So even if the profiler is killed during a call, the program goes on: the kernel releases the
 * thread, the function ends, and rt_sigreturn restores the thread. Normally we stop the thread at
 * rt_sigreturn and restore its registers. Then the kernel resumes the interrupted system call with
 * the remaining time and without EINTR, as after any stop. (Without us the call would restart with
 * its full time.)
 *
 * Some system calls end at a stop (epoll_wait, sigtimedwait). They are restarted here, which is
 * right only if they wait without a timeout: remote_call_is_fit.
 *
 * ptrace requires that one thread of ours does all of this for a borrowed thread. If our thread
 * ends, the kernel releases the borrowed one. But a thread that waits for a page of the process
 * cannot end. So another thread reads memory (remote_memory.h), and we write only to memory just
 * read.
 */
#ifndef PROFILER_ATTACH_REMOTE_CALL_H
#define PROFILER_ATTACH_REMOTE_CALL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/user.h>
#include "profiler/attach/remote_memory.h"

#define BORROWED_ARGUMENTS 6
#define BORROWED_DATA_MAX 16384u        /* bytes of a call's data, on the thread's stack */
#define BORROWED_STACK_BYTES 65536u     /* bytes of stack for the called function */
#define BORROWED_XSTATE_MAX (64u << 10) /* bytes of extended state: vectors and others */

struct remote_call {
	const struct remote_memory *memory; /* the process's memory; set by the caller */
	const _Atomic bool *hurries;        /* true shortens the timeout of calls; or NULL */
	pid_t pid, tid;
	uint64_t restorer;                 /* return address of calls: rt_sigreturn */
	struct user_regs_struct registers; /* the thread's own */
	uint64_t signals;                  /* the thread's signal mask */
	size_t xstate_size;
	_Alignas(64) uint8_t xstate[BORROWED_XSTATE_MAX];
	uint64_t resumed, resumed_pc, resumed_sp; /* system call of the last borrowed thread */
	pid_t resumed_tid;
	bool is_returned;     /* stopped at rt_sigreturn after a call */
	uint64_t frame, data; /* addresses in the process, of the last call */
	uint64_t system_call; /* the last one made during a call */
	int64_t system_result;
};

/*
 * Returns true if a thread sleeps in a system call that can be resumed transparently. Reads /proc
 * only, without disturbing the thread.
 */
bool remote_call_is_fit(pid_t pid, pid_t tid);

/*
 * Stops the thread. `thread` is zero-initialised before the first call, except members that the
 * caller sets. Returns 0; -EAGAIN if the thread was in no suitable system call, and runs on;
 * -EPERM; -ESRCH; or -ETIMEDOUT if it does not stop, and is released when our thread ends.
 */
int remote_call_take(struct remote_call *thread, pid_t pid, pid_t tid);

/*
 * Returns the address of rt_sigreturn's code within [start, end) of the C library's code, or 0.
 */
uint64_t remote_call_find_restorer(const struct remote_memory *memory, uint64_t start,
				   uint64_t end);

struct borrowed_call {
	uint64_t function;
	/* data on the stack; an argument BORROWED_DATA + n becomes the address of byte n */
	const void *data;
	size_t data_size;
	uint64_t arguments[BORROWED_ARGUMENTS];
	uint64_t timeout_ns;
};
#define BORROWED_DATA UINT64_C(0xb0770da7a0000000)

/*
 * Returns the lowest stack address that calls may write. Read-only pages above are not refused:
 * writes go through as a debugger's do.
 */
uint64_t remote_call_lowest(const struct remote_call *thread);

/*
 * Calls a function. Afterwards system_call and system_result describe the function's last system
 * call, and its data is still on the stack. Returns:
 *   0
 *   -ENOBUFS    no room on the stack
 *   -EFAULT     a fault signal ended the function
 *   -ETIMEDOUT  the function goes on by itself (see above); the thread is not borrowed any more
 *   -EAGAIN     the function did not begin in time (frozen process); the thread was given back
 *   -ESRCH      the thread has ended
 */
int remote_call_run(struct remote_call *thread, const struct borrowed_call *call);

/* Gives the thread back unchanged. Not allowed after -ETIMEDOUT, -EAGAIN or -ESRCH. */
void remote_call_release(struct remote_call *thread);

#endif
