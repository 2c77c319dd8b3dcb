/* SPDX-License-Identifier: MIT */
/*
 * Finds the Python thread that waits for work that it handed to another thread: the async parent.
 *
 * PyTorch's backward pass runs on threads of its own, "pt_autograd_0" for the first device and so
 * on: workers. A worker's launches belong below the stack of the Python thread that waits for it
 * (python_waiters.h). This module returns that stack at each launch of a worker.
 *
 * The parent: if exactly one thread waits, it is the parent. If several do, it is the one that has
 * itself launched in the worker's context, because a backward pass retraces its thread's launches.
 * If several have, or one has launched nothing, the parent is unknown. Then the launch has a stack
 * of its own. A worker that itself waits for a nested backward pass is no parent: all of that work
 * belongs to one thread in the end. A cancelled thread does not wait, although its frames say so.
 * Before Python 3.11 such a thread still counts if it has launched nothing, because its kernel id
 * is unknown. Candidates are the Python threads that have launched, as nearly all that call
 * backward have. While there are more than ASYNC_PARENT_CANDIDATES, the parent is unknown. Other
 * threads are looked for if no candidate waits, and every 10 ms if one does.
 *
 * Examining a thread: a thread that has not run since has unchanged frames and NVTX ranges.
 * Its perf event tells whether it has run (thread_runs.h), by a load. Without events CPU clocks are
 * compared, one system call for each candidate. If clocks are unreliable (stolen_time.h), the
 * number of its runs is read. A sole candidate without an event is left unexamined for
 * ASYNC_PARENT_STILL_NS after the worker's last launch. To wait elsewhere by then, the worker would
 * have to run out of work. The thread would have to wake up, run Python and wake the worker. Only
 * the stack of a thread that has run is read again. It counts if the thread did not run meanwhile,
 * or if a second reading is equal.
 *
 * The stack: the candidate's Python frames and open NVTX ranges, below the outer frames of its own
 * last launch.
 *
 * No locks, except launch_stack's for a new stack. Memory of a thread is reused, never freed,
 * because other threads may look at it.
 */
#ifndef CUPTI_TRACE_LAUNCH_ASYNC_PARENT_H
#define CUPTI_TRACE_LAUNCH_ASYNC_PARENT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include "cupti_trace/core/sink.h"
#include "cupti_trace/launch/nvtx.h"
#include "cupti_trace/python/python_stack.h"

#define ASYNC_PARENT_CANDIDATES 16
#define ASYNC_PARENT_STILL_NS 3000

/* A Python thread that launches: a candidate. */
struct async_parent_launcher {
	_Atomic uint64_t self; /* its pthread_self(); 0: free */
	_Atomic uint64_t thread;
	_Atomic uint32_t tid;
	_Atomic uint64_t contexts;   /* contexts of its launches, a bit each; 0: none */
	_Atomic uint32_t last_stack; /* stack id of its last launch; 0: none */
	_Atomic bool is_found;       /* found by a worker: it has launched nothing yet */
};

struct async_parent_worker;

/*
 * Creates the state of the calling thread as a worker. Returns NULL if it is none, by its name.
 * Free at the thread's end.
 */
struct async_parent_worker *async_parent_worker_new(void);
void async_parent_worker_free(struct async_parent_worker *worker);

/* Returns its name, and a number that distinguishes workers by their names. */
const char *async_parent_worker_name(const struct async_parent_worker *worker);
uint32_t async_parent_worker_number(const struct async_parent_worker *worker);

/*
 * Makes the calling thread, which has Python frames and is no worker, a candidate. Free at the
 * thread's end.
 */
struct async_parent_launcher *async_parent_launcher_new(void);
void async_parent_launcher_free(struct async_parent_launcher *launcher);

/*
 * Returns the bit of a context's number; 0: unknown. Contexts share bits if there are more than 64.
 */
static inline uint64_t async_parent_context(uint32_t context)
{
	return context ? UINT64_C(1) << context % 64 : 0;
}

/* Notes that the thread has launched in this context, with this stack. Nearly free. */
static inline void async_parent_launcher_note(struct async_parent_launcher *launcher,
					      uint32_t context, uint32_t stack)
{
	uint64_t known = atomic_load_explicit(&launcher->contexts, memory_order_relaxed);

	if (unlikely(async_parent_context(context) & ~known))
		atomic_fetch_or(&launcher->contexts, async_parent_context(context));
	atomic_store_explicit(&launcher->last_stack, stack, memory_order_relaxed);
}

/* Stack of a thread that waits. */
struct async_parent_stack {
	struct python_stack python;
	struct nvtx_ranges ranges;
	uint32_t last_stack; /* copy of the launcher's */
};

/* Sends a stack if it is new, and returns its id; 0: it cannot be kept. */
typedef uint32_t (*async_parent_name)(struct sink *sink, const struct async_parent_stack *stack);

/*
 * Returns the stack id of the thread that waits for the calling worker now. The worker launches in
 * `context`. Returns 0 if it is unknown, or in a signal handler that interrupts this function.
 */
uint32_t async_parent_find(struct async_parent_worker *worker, uint32_t context, struct sink *sink,
			   async_parent_name name);

#endif
