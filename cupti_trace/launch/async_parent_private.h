/* SPDX-License-Identifier: MIT */
/*
 * Exposes the state of workers and candidates to the tests of async_parent. bench_async_parent.c
 * steps through a launch, and changes candidates as other threads do.
 */
#ifndef CUPTI_TRACE_LAUNCH_ASYNC_PARENT_PRIVATE_H
#define CUPTI_TRACE_LAUNCH_ASYNC_PARENT_PRIVATE_H

#include <linux/perf_event.h>
#include "cupti_trace/core/thread_runs.h"
#include "cupti_trace/launch/async_parent.h"
#include "cupti_trace/python/python_waiters.h"

#define ASYNC_PARENT_NAME_BYTES 16 /* limit of the kernel */

/* A candidate as a worker has last seen it. */
struct async_parent_sight {
	uint64_t self;
	uint64_t cpu_ns; /* its CPU clock then; 0: unknown */
	bool waits;
	struct thread_runs runs; /* used if clocks are unreliable */
};

/*
 * Cached answer for launches while a sole candidate waits. Valid until the thread runs, the
 * candidates change, or it is time to look at all threads.
 */
struct async_parent_answer {
	/* page of the thread's event; NULL: none */
	const volatile struct perf_event_mmap_page *page;
	uint64_t head; /* its `data_head` at that time */
	uint32_t changes, epoch;
	uint32_t stack;
	uint64_t ticks; /* time of the answer */
};

/* In a child made by fork all bits are 0, because it does not have the events' pages. */
struct async_parent_worker {
	_Alignas(64) struct async_parent_answer answer;
	bool is_busy;  /* fork wipes this memory in the child; otherwise answers are not kept */
	bool is_wiped; /* such a child zeroes it; otherwise answers are not kept */
	char name[ASYNC_PARENT_NAME_BYTES];
	uint32_t number;
	uint64_t self;
	uint64_t last_ns;               /* time of the last launch */
	uint64_t list_ns, list_cost_ns; /* time and cost of the last look at all threads */
	uint32_t fruitless;             /* such looks in a row */
	uint32_t epoch;                 /* epoch of the members below */
	bool trusts_clocks;             /* CPU clocks of other threads are reliable */
	uint64_t context;               /* the launch's, as in launchers */
	uint32_t waiter; /* index of the waiting candidate; ASYNC_PARENT_CANDIDATES: none */
	uint32_t stack;  /* id of its stack */
	struct async_parent_sight sights[ASYNC_PARENT_CANDIDATES];
	struct async_parent_stack stacks[2], *read, *again;
	uint32_t holds; /* index of the candidate whose stack is in `read` */
	struct python_pieces pieces, all_pieces; /* pieces of candidates, and of all threads */
};

/* The candidates, and a counter that is incremented after each change of them. */
extern struct async_parent_launcher async_parent_launchers[ASYNC_PARENT_CANDIDATES];
extern _Atomic uint32_t async_parent_changes;

/* Frees a candidate's place if it still belongs to this thread. */
void async_parent_free_launcher(struct async_parent_launcher *launcher, uint64_t self);

#endif
