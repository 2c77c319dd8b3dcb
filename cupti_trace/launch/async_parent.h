/* SPDX-License-Identifier: MIT */
/*
 * Work that a Python thread has handed to another thread, and waits for.
 *
 * PyTorch's backward pass runs on threads of its own, "pt_autograd_0" for the first device and so
 * on: workers. A worker's launches belong below the stack of the Python thread that waits for it
 * (python_waiters.h). At each launch of a worker this says whose stack that is.
 *
 * Who it is. Where exactly one thread waits, it. Where several do, the one that has itself
 * launched in the context that the worker launches in: a pass goes back over what its thread has
 * launched. Where several have, or one has launched nothing, the answer is unknown, and the
 * launch stands apart. A worker that waits itself, for a backward pass within its own, hands
 * nothing over: all of it is for the same thread in the end. A thread that was cancelled does not
 * wait, though its frames go on saying so; before Python 3.11 one that has launched nothing still
 * counts, as the kernel's id of it is not known. Candidates are the Python threads that
 * have launched something themselves, as nearly all that call backward have; while there are more
 * than ASYNC_PARENT_CANDIDATES, no answer is given. Others are looked for where no candidate waits,
 * else every 10 ms.
 *
 * When it is looked at. A thread that has not run since is as it was: its frames and its NVTX
 * ranges. Whether it has run, an event of it says (thread_runs.h), which is a load. Where there are
 * no events, CPU clocks are compared, one system call for each candidate; where clocks cannot be
 * relied on (stolen_time.h), how often it has run is read. Without an event a sole candidate is not
 * looked at within ASYNC_PARENT_STILL_NS of the worker's last launch: for it to wait elsewhere, the
 * worker has to run out of work, the thread to wake up, to run Python and to wake the worker. Only
 * the stack of one that has run is read again, and counts if the thread did not run meanwhile, or
 * if a second reading gives the same.
 *
 * The stack: the candidate's Python frames and open NVTX ranges, below what was below its Python
 * frames at its own last launch.
 *
 * No locks, except launch_stack's for a new stack. What a thread leaves behind is reused, never
 * freed, because others may look at it.
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
	_Atomic uint64_t contexts;   /* that it has launched in, a bit each; 0: none */
	_Atomic uint32_t last_stack; /* the id of its last launch's stack; 0: none */
	_Atomic bool is_found;       /* by a worker: it has launched nothing yet */
};

struct async_parent_worker;

/* The calling thread as a worker; NULL: it is none, by its name. To be freed when it ends. */
struct async_parent_worker *async_parent_worker_new(void);
void async_parent_worker_free(struct async_parent_worker *worker);

/* Its name, and a number that distinguishes workers by their names. */
const char *async_parent_worker_name(const struct async_parent_worker *worker);
uint32_t async_parent_worker_number(const struct async_parent_worker *worker);

/*
 * Makes the calling thread, which has Python frames and is no worker, a candidate. To be freed when
 * the thread ends.
 */
struct async_parent_launcher *async_parent_launcher_new(void);
void async_parent_launcher_free(struct async_parent_launcher *launcher);

/* By the number of a context; 0: not known. Contexts share bits where there are more than 64. */
static inline uint64_t async_parent_context(uint32_t context)
{
	return context ? UINT64_C(1) << context % 64 : 0;
}

/* The thread has launched in this context, with this stack. Nearly free. */
static inline void async_parent_launcher_note(struct async_parent_launcher *launcher,
					      uint32_t context, uint32_t stack)
{
	uint64_t known = atomic_load_explicit(&launcher->contexts, memory_order_relaxed);

	if (unlikely(async_parent_context(context) & ~known))
		atomic_fetch_or(&launcher->contexts, async_parent_context(context));
	atomic_store_explicit(&launcher->last_stack, stack, memory_order_relaxed);
}

/* The stack of a thread that waits. */
struct async_parent_stack {
	struct python_stack python;
	struct nvtx_ranges ranges;
	uint32_t last_stack; /* as in the launcher */
};

/* Sends a stack that is new, and returns its id; 0: it cannot be kept. */
typedef uint32_t (*async_parent_name)(struct sink *sink, const struct async_parent_stack *stack);

/*
 * The id of the stack of the thread that waits for the calling worker now, which launches in this
 * context; 0: it is not known, or this is a signal's handler that has interrupted the same.
 */
uint32_t async_parent_find(struct async_parent_worker *worker, uint32_t context, struct sink *sink,
			   async_parent_name name);

#endif
