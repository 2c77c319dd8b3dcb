/* SPDX-License-Identifier: MIT */
/*
 * Which stack created each thread (--thread-origin): what a thread does is below it.
 *
 *   creator's stack; [started a thread]; the thread's own stack
 *
 * The creator's stack is itself below the one that created its thread, up to
 * THREAD_ORIGINS_DEPTH threads in all; the next one begins anew. A thread that was created out of
 * sight, or that there is no room for, has no origin, and its stacks are as they are.
 *
 * Threads are kept until their process is forgotten, because their launches may come late: 50
 * bytes each, from the quota. Threads that reuse a number replace the one that had it.
 */
#ifndef PROFILER_CPU_THREAD_ORIGINS_H
#define PROFILER_CPU_THREAD_ORIGINS_H

#include <stdbool.h>
#include <stdint.h>
#include "profiler/base/quota.h"
#include "profiler/model/id_remap.h"
#include "profiler/model/stack_table.h"
#include "symbolize/util/record_set.h"

#define THREAD_ORIGINS_DEPTH 8
#define THREAD_ORIGINS_MAX (1u << 20)      /* threads */
#define THREAD_ORIGINS_MEMO_MAX (1u << 16) /* composed stacks remembered */

/* Zero-initialise, then set the first two. */
struct thread_origins {
	struct stack_table *stacks; /* borrowed */
	struct quota *quota;        /* borrowed; NULL: no limit */
	RECORD_SET(struct origin_thread) threads;
	RECORD_SET(struct origin_memo) memo;
};

void thread_origins_release(struct thread_origins *origins);

/* Thread `creator` of the process has created `tid`, with this stack. 0, -ENOMEM or -ENOSPC. */
int thread_origins_add(struct thread_origins *origins, uint32_t process, uint32_t creator,
		       uint32_t tid, struct stack_id stack);

/*
 * Returns whether the thread is heard of for the first time: its creation may have been overlooked.
 */
bool thread_origins_ask(struct thread_origins *origins, uint32_t process, uint32_t tid);

/* A stack of this thread, below the one that created it. */
struct stack_id thread_origins_below(struct thread_origins *origins, uint32_t process, uint32_t tid,
				     struct stack_id stack);

/* Shows the numbers in use. */
void thread_origins_visit(struct thread_origins *origins, const struct id_visitor *visitor);

/* The process has ended. */
void thread_origins_forget(struct thread_origins *origins, uint32_t process);

#endif
