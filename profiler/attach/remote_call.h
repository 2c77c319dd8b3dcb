/* SPDX-License-Identifier: MIT */
/*
 * A thread of another process that sleeps in a system call, borrowed to call functions of that
 * process, and given back as it was.
 *
 * What is borrowed is stopped by ptrace(2). A call gets a stack frame of its own below what the
 * thread's stack holds, all signals but those of faults blocked. The function returns to the C
 * library's rt_sigreturn, with a signal's frame there that holds the thread's own registers, its
 * vectors and its signal mask. So whoever is killed in the midst of a call, the program goes on:
 * the kernel lets go of the thread, the function ends, and rt_sigreturn makes it what it was. We do
 * not let it come to that: at that system call the thread is stopped again, its registers are set
 * back, and the kernel resumes the system call that it slept in, as after any stop: with the time
 * that is left, no EINTR. (Without us it would begin again, with all of its time.)
 *
 * System calls that the kernel does not resume after a stop (epoll_wait, sigtimedwait) are made to
 * begin again here, which is right where they wait without a limit: remote_call_is_fit.
 *
 * One thread of ours does all of this for a borrowed thread: ptrace's rule. Where that ends, the
 * kernel lets go of what it has borrowed. A thread that waits for a page of the process cannot end;
 * so memory is read by another (remote_memory.h), and written only where it has just been read.
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
#define BORROWED_DATA_MAX 16384u        /* bytes for a call, on the thread's stack */
#define BORROWED_STACK_BYTES 65536u     /* that a called function may use */
#define BORROWED_XSTATE_MAX (64u << 10) /* bytes of vectors and the like */

struct remote_call {
	const struct remote_memory *memory; /* of its process; set by the caller */
	const _Atomic bool *hurries;        /* calls end soon when it becomes true; or NULL */
	pid_t pid, tid;
	uint64_t restorer;                 /* where a call returns to */
	struct user_regs_struct registers; /* what the thread goes on with */
	uint64_t signals;                  /* that it blocks */
	size_t xstate_size;
	_Alignas(64) uint8_t xstate[BORROWED_XSTATE_MAX];
	uint64_t resumed, resumed_pc, resumed_sp; /* the system call of the thread taken last */
	pid_t resumed_tid;
	bool is_returned;     /* stands at rt_sigreturn, a call behind it */
	uint64_t frame, data; /* of the last call: addresses in the process */
	uint64_t system_call; /* the last one that it made there */
	int64_t system_result;
};

/*
 * Returns whether a thread sleeps, by /proc and without disturbing it, in a system call that can be
 * resumed as if nothing had happened.
 */
bool remote_call_is_fit(pid_t pid, pid_t tid);

/*
 * Stops the thread. 0; -EAGAIN: not in such a system call by then, it runs on; -EPERM, -ESRCH;
 * -ETIMEDOUT: it does not stop, and is let go with the thread of ours that has asked.
 */
/* `thread` is zero-initialised before the first, but for what the caller sets. */
int remote_call_take(struct remote_call *thread, pid_t pid, pid_t tid);

/*
 * Returns where the code of rt_sigreturn is within [start, end) of the C library's code; 0:
 * nowhere.
 */
uint64_t remote_call_find_restorer(const struct remote_memory *memory, uint64_t start,
				   uint64_t end);

struct borrowed_call {
	uint64_t function;
	/* for the call; an argument that is BORROWED_DATA + n becomes the address of its byte n */
	const void *data;
	size_t data_size;
	uint64_t arguments[BORROWED_ARGUMENTS];
	uint64_t timeout_ns;
};
#define BORROWED_DATA UINT64_C(0xb0770da7a0000000)

/*
 * How far down its stack calls may write. What is not to be written to there is not refused: they
 * write as a debugger does.
 */
uint64_t remote_call_lowest(const struct remote_call *thread);

/*
 * Calls a function; system_call and system_result then are of the last system call in it, and its
 * data is still there. 0; -ENOBUFS: no room on the stack; -EFAULT: it failed by a signal, and was
 * given up; -ETIMEDOUT: it goes on by itself (above), the thread is no longer borrowed; -EAGAIN: it
 * has not begun in time, as in a frozen process, and the thread was given back as it was; -ESRCH:
 * the thread has ended.
 */
int remote_call_run(struct remote_call *thread, const struct borrowed_call *call);

/* Gives the thread back as it was. Not after -ETIMEDOUT, -EAGAIN or -ESRCH. */
void remote_call_release(struct remote_call *thread);

#endif
