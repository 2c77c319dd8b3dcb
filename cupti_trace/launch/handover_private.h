/* SPDX-License-Identifier: MIT */
/*
 * What handover.c knows of workers and candidates, for its test: this steps through a launch, and
 * changes the candidates as other threads do.
 */
#ifndef CUPTI_TRACE_LAUNCH_HANDOVER_PRIVATE_H
#define CUPTI_TRACE_LAUNCH_HANDOVER_PRIVATE_H

#include <linux/perf_event.h>
#include "cupti_trace/core/thread_runs.h"
#include "cupti_trace/launch/handover.h"
#include "cupti_trace/python/python_waiters.h"

#define HANDOVER_NAME_BYTES 16 /* as the kernel has it */

/* A candidate, as a worker has seen it. */
struct handover_sight {
	uint64_t self;
	uint64_t cpu_ns; /* its CPU clock then; 0: not known */
	bool waits;
	struct thread_runs runs; /* where clocks cannot be relied on */
};

/*
 * What a launch looks at while a sole candidate waits: its answer holds until the thread runs, the
 * candidates change or it is time to look at all threads.
 */
struct handover_answer {
	const volatile struct perf_event_mmap_page *page; /* of the thread's event; NULL: none */
	uint64_t head;                                    /* of its records, as it was */
	uint32_t changes, visit;
	uint32_t stack;
	uint64_t ticks; /* when it was found */
};

/* In a child made by fork all bits are 0, for it has not the pages of the events. */
struct handover_worker {
	_Alignas(64) struct handover_answer answer;
	bool is_busy;  /* against signals' handlers that launch */
	bool is_wiped; /* in such a child; else answers are not kept */
	char name[HANDOVER_NAME_BYTES];
	uint32_t number;
	uint64_t self;
	uint64_t last_ns;               /* of the last launch */
	uint64_t list_ns, list_cost_ns; /* the last look at all threads; what one took */
	uint32_t fruitless;             /* such looks, one behind the other */
	uint32_t visit;                 /* in which what follows was found */
	bool trusts_clocks;             /* of other threads */
	uint64_t context;               /* of the launch, as in launchers */
	uint32_t waiter;                /* among the candidates; HANDOVER_CANDIDATES: none */
	uint32_t stack;                 /* its id */
	struct handover_sight sights[HANDOVER_CANDIDATES];
	struct handover_stack stacks[2], *read, *again;
	uint32_t holds;                          /* the candidate whose stack is in `read` */
	struct python_pieces pieces, all_pieces; /* of the candidates; of all threads */
};

/* The candidates, and how often they have changed, counted after each change. */
extern struct handover_launcher handover_launchers[HANDOVER_CANDIDATES];
extern _Atomic uint32_t handover_changes;

/* Frees a candidate's place, if it is still this thread's. */
void handover_free_launcher(struct handover_launcher *launcher, uint64_t self);

#endif
