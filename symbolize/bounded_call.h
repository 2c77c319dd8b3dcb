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
 * limited (budget.h); past that every call is refused at once. So is every further call for a place
 * where one was abandoned.
 *
 * Not thread-safe: one thread makes the calls.
 */
#ifndef SYMBOLIZE_BOUNDED_CALL_H
#define SYMBOLIZE_BOUNDED_CALL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "symbolize/budget.h"

/*
 * What is to be done: the first member of a larger structure with copies of the arguments, and room
 * for results. `run` must touch nothing else that others change or free.
 */
struct bounded_job {
	void (*run)(struct bounded_job *job);     /* does it, on the worker */
	void (*discard)(struct bounded_job *job); /* NULL, or: frees results that come too late */
	_Atomic uint64_t place; /* 0, or what may be stuck, which `run` may change: see below */
	int fd; /* -1, or a descriptor that is the worker's to close if it is late */
	struct budget_share share; /* what it may take; opened by the call */
};

/* What may be stuck: a device as /proc/PID/maps has it (major << 32 | minor), or */
#define BOUNDED_PLACE_CLOSING (UINT64_C(1) << 63) /* close(2) */
#define BOUNDED_PLACE_PROCESS (UINT64_C(1) << 62) /* a process's memory; and the pid */

/* A job of `bytes` in all, the rest of them 0; NULL when out of memory. To be freed by free(3). */
void *bounded_job_new(size_t bytes, void (*run)(struct bounded_job *job),
		      void (*discard)(struct bounded_job *job));

struct bounded_caller;

/*
 * `run_ms`: for how long all calls together may be waited for, normally BOUNDED_CALL_RUN_MS. NULL
 * when out of memory. No thread is started before the first call.
 */
struct bounded_caller *bounded_caller_new(unsigned int run_ms);

/* Ends the worker. Abandoned calls stay, until they return or the process ends. NULL is allowed. */
void bounded_caller_free(struct bounded_caller *c);

/*
 * Runs `job` and waits for at most `timeout_ms`. 0: it ran; what it has taken of its share is to be
 * settled (budget_settle) and the job to be freed. Else the job is no longer the caller's:
 * -ETIMEDOUT: it is late, and with it go its descriptor and what it has taken of the budget;
 * -EBUSY: it did not run, as the limits are reached, its place is stuck or no thread could be
 * started.
 */
int bounded_call(struct bounded_caller *c, struct bounded_job *job, unsigned int timeout_ms);

/*
 * Closes a descriptor of a file of others: close(2) can block as read(2) does, FUSE waits for an
 * answer there, too. Where it has blocked once, descriptors stay open: this process may hang when
 * it ends, but not before.
 */
void bounded_close(struct bounded_caller *c, int fd);

/* Whether a call for this place was abandoned. */
bool bounded_is_stuck(const struct bounded_caller *c, uint64_t place);

/* The run's budget, from which all jobs' shares come. */
struct budget *bounded_caller_budget(struct bounded_caller *c);

/* How many calls were abandoned, or refused, but for those to a place that is stuck. */
uint64_t bounded_caller_count_stuck(const struct bounded_caller *c);

#endif
