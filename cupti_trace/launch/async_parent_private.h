/* SPDX-License-Identifier: MIT */
/*
 * What bench_async_parent.c knows of workers and candidates, for its test: this steps through a
 * launch, and changes the candidates as other threads do.
 */
#ifndef CUPTI_TRACE_LAUNCH_ASYNC_PARENT_PRIVATE_H
#define CUPTI_TRACE_LAUNCH_ASYNC_PARENT_PRIVATE_H

#include <linux/perf_event.h>
#include "cupti_trace/core/thread_runs.h"
#include "cupti_trace/launch/async_parent.h"
#include "cupti_trace/python/python_waiters.h"

#define ASYNC_PARENT_NAME_BYTES 16 /* as the kernel has it */

/* A candidate, as a worker has seen it. */
struct async_parent_sight {
	uint64_t self;
	uint64_t cpu_ns; /* its CPU clock then; 0: not known */
	bool waits;
	struct thread_runs runs; /* where clocks cannot be relied on */
};

/*
 * What a launch looks at while a sole candidate waits: its answer holds until the thread runs, the
 * candidates change or it is time to look at all threads.
 */
struct async_parent_answer {
	const volatile struct perf_event_mmap_page *page; /* of the thread's event; NULL: none */
	uint64_t head;                                    /* of its records, as it was */
	uint32_t changes, visit;
	uint32_t stack;
	uint64_t ticks; /* when it was found */
};

/* In a child made by fork all bits are 0, for it has not the pages of the events. */
struct async_parent_worker {
	_Alignas(64) struct async_parent_answer answer;
	bool is_busy;  /* against signals' handlers that launch */
	bool is_wiped; /* in such a child; else answers are not kept */
	char name[ASYNC_PARENT_NAME_BYTES];
	uint32_t number;
	uint64_t self;
	uint64_t last_ns;               /* of the last launch */
	uint64_t list_ns, list_cost_ns; /* the last look at all threads; what one took */
	uint32_t fruitless;             /* such looks, one behind the other */
	uint32_t visit;                 /* in which what follows was found */
	bool trusts_clocks;             /* of other threads */
	uint64_t context;               /* of the launch, as in launchers */
	uint32_t waiter;                /* among the candidates; ASYNC_PARENT_CANDIDATES: none */
	uint32_t stack;                 /* its id */
	struct async_parent_sight sights[ASYNC_PARENT_CANDIDATES];
	struct async_parent_stack stacks[2], *read, *again;
	uint32_t holds;                          /* the candidate whose stack is in `read` */
	struct python_pieces pieces, all_pieces; /* of the candidates; of all threads */
};

/* The candidates, and how often they have changed, counted after each change. */
extern struct async_parent_launcher async_parent_launchers[ASYNC_PARENT_CANDIDATES];
extern _Atomic uint32_t async_parent_changes;

/* Frees a candidate's place, if it is still this thread's. */
void async_parent_free_launcher(struct async_parent_launcher *launcher, uint64_t self);

#endif
