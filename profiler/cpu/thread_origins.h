/* SPDX-License-Identifier: MIT */
/*
 * Keeps the stack that created each thread (--thread-origin), and puts the thread's stacks below
 * it.
 *
 *   creator's stack; [started a thread]; the thread's own stack
 *
 * The creator's stack is itself below the one that created its thread. A chain has at most
 * THREAD_ORIGINS_DEPTH threads; the next one starts a new chain. A thread whose creation was not
 * seen, or is over the quota, has no origin, and its stacks are unchanged.
 *
 * Threads are kept until their process is forgotten, because their launches may come late. Each
 * takes 50 bytes of the quota. A thread that reuses an id replaces the previous one.
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
#define THREAD_ORIGINS_MAX (1u << 20)      /* limit of threads */
#define THREAD_ORIGINS_MEMO_MAX (1u << 16) /* composed stacks remembered */

/* Zero-initialise, then set the first two members. */
struct thread_origins {
	struct stack_table *stacks; /* borrowed */
	struct quota *quota;        /* borrowed; NULL: no limit */
	RECORD_SET(struct origin_thread) threads;
	RECORD_SET(struct origin_memo) memo;
};

void thread_origins_release(struct thread_origins *origins);

/*
 * Notes that thread `creator` of the process has created `tid`, with this stack. Returns 0, -ENOMEM
 * or -ENOSPC.
 */
int thread_origins_add(struct thread_origins *origins, uint32_t process, uint32_t creator,
		       uint32_t tid, struct stack_id stack);

/*
 * Returns true if the thread is seen for the first time, so that its creation may have been missed.
 */
bool thread_origins_ask(struct thread_origins *origins, uint32_t process, uint32_t tid);

/* Returns the stack of this thread, below the one that created it. */
struct stack_id thread_origins_below(struct thread_origins *origins, uint32_t process, uint32_t tid,
				     struct stack_id stack);

/* Passes the numbers in use to the visitor. */
void thread_origins_visit(struct thread_origins *origins, const struct id_visitor *visitor);

/* Forgets a process that has ended. */
void thread_origins_forget(struct thread_origins *origins, uint32_t process);

#endif
