/* SPDX-License-Identifier: MIT */
/*
 * Calls that may block for ever, each with a deadline.
 *
 * A file of the target's may lie on a file system that its user serves (FUSE), and then open(2) and
 * read(2) return when that user pleases. So such calls run on a worker thread. Where one does not
 * return in time it is abandoned: it keeps the worker and all that it works on, and the next call
 * gets a new worker. A process cannot end as long as the kernel holds one of its threads, so who
 * must not hang does not wait for this process.
 *
 * One worker serves all calls, one after the other; a call costs some 10 us. It blocks all signals
 * and, unless it is root's, has no capabilities. How often and how long may be waited in vain is
 * limited (budget.h); past that every call is refused at once.
 *
 * Not thread-safe: one thread makes the calls.
 */
#ifndef SYMBOLIZE_BOUNDED_CALL_H
#define SYMBOLIZE_BOUNDED_CALL_H

#include <stdint.h>
#include "symbolize/budget.h"

/*
 * What is to be done. Allocated by the caller, usually as the first member of a larger structure
 * with arguments and results: `run` must touch nothing else that others change or free.
 */
struct bounded_job {
	/* Does it, on the worker. */
	void (*run)(struct bounded_job *job);
	/* NULL, or: takes note that it is late, on the caller's thread, while `run` still runs. */
	void (*abandon)(struct bounded_job *job);
	/* Frees it and its results, on the worker, where `run` returned too late. */
	void (*discard)(struct bounded_job *job);
};

struct bounded_caller;

/*
 * `run_ms`: for how long all calls together may be waited for, normally BOUNDED_CALL_RUN_MS. NULL
 * when out of memory. No thread is started before the first call.
 */
struct bounded_caller *bounded_caller_new(unsigned int run_ms);

/* Ends the worker. Abandoned calls stay, until they return or the process ends. NULL is allowed. */
void bounded_caller_free(struct bounded_caller *c);

/*
 * Runs `job` and waits for at most `timeout_ms`. 0: it ran. -ETIMEDOUT: it is late, and no longer
 * the caller's: it will be discarded, with all it holds. -EBUSY: it did not run, the budget is
 * spent; -EAGAIN: it did not run, no thread could be started.
 */
int bounded_call(struct bounded_caller *c, struct bounded_job *job, unsigned int timeout_ms);

/* Counts the calls that were abandoned, and those that were refused. */
uint64_t bounded_caller_count_abandoned(const struct bounded_caller *c);
uint64_t bounded_caller_count_refused(const struct bounded_caller *c);

#endif
