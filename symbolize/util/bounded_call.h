/* SPDX-License-Identifier: MIT */
/*
 * Calls that may block for ever, with a deadline.
 *
 * A file of the target may be on a file system served by its user (FUSE); open(2) and read(2) then
 * return when that user pleases. So such calls run on a worker thread. A call that does not return
 * in time is abandoned with its worker and all that it works on; the next call gets a new worker. A
 * process cannot exit while the kernel holds one of its threads, so a caller that must not hang
 * should not wait for this process.
 *
 * One worker runs all calls in sequence; a call costs about 10 us. It blocks all signals and,
 * except as root, has no capabilities. The number and total time of abandoned calls are limited
 * (table_quota.h); beyond the limits every call is refused at once. So is every further call for a
 * place where one was abandoned, unless that was busy computing: this says nothing of the place.
 *
 * A timeout leaves a large file on a slow disk its time. Where the caller has little itself, it
 * also limits how long calls may sleep without a moment of CPU time in between
 * (bounded_caller_limit_sleep): a disk answers every few milliseconds, one who never will does not.
 *
 * Not thread-safe: one thread makes the calls.
 */
#ifndef SYMBOLIZE_UTIL_BOUNDED_CALL_H
#define SYMBOLIZE_UTIL_BOUNDED_CALL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "symbolize/util/table_quota.h"

/*
 * A job: the first member of a larger structure with copies of the arguments, and room for results.
 * `run` must not touch anything else that others change or free.
 */
struct bounded_job {
	void (*run)(struct bounded_job *job);     /* runs on the worker */
	void (*discard)(struct bounded_job *job); /* frees results that come too late; or NULL */
	_Atomic uint64_t place; /* 0, or the place that may be stuck; `run` may change it */
	int fd;                 /* -1, or a descriptor that the worker closes if the job is late */
	_Atomic bool is_late;   /* nobody waits for it any more: `run` may end early */
	struct quota_share share; /* its part of the budget; opened by the call */
};

/* A place that may be stuck: a device as in /proc/PID/maps (major << 32 | minor), or */
#define BOUNDED_PLACE_CLOSING (UINT64_C(1) << 63) /* close(2) */
#define BOUNDED_PLACE_PROCESS (UINT64_C(1) << 62) /* a process's memory; with the pid */

/*
 * Allocates a job of `bytes` in all, the rest zeroed; NULL when out of memory. Free with free(3).
 */
void *bounded_job_new(size_t bytes, void (*run)(struct bounded_job *job),
		      void (*discard)(struct bounded_job *job));

struct bounded_caller;

/*
 * `run_ms`: limit of the time to wait for all calls together, normally BOUNDED_CALL_RUN_MS. NULL
 * when out of memory. No thread is started before the first call.
 */
struct bounded_caller *bounded_caller_new(unsigned int run_ms);

/*
 * Ends the worker. In a child of fork(2) a caller goes on with a worker of the child's own.
 * Abandoned calls remain until they return or the process ends. NULL is allowed.
 */
void bounded_caller_free(struct bounded_caller *c);

/*
 * Abandons calls that sleep: all calls together may for `ms`, one for half of what is left. Sleeps
 * of less than BOUNDED_CALL_NAP_MS do not count.
 */
void bounded_caller_limit_sleep(struct bounded_caller *c, unsigned int ms);
#define BOUNDED_CALL_NAP_MS 100

/*
 * Lets workers keep the capabilities of the thread that makes the first call: for system calls that
 * need them. What may block should be done on another worker where it needs none.
 */
void bounded_caller_keep_capabilities(struct bounded_caller *c);

/* How often, while a call is waited for. */
#define BOUNDED_CALL_MEANWHILE_MS 2

/*
 * While this process waits for a call it calls `meanwhile` again and again, so that something else
 * need not wait, too; it must not make calls itself. NULL: no longer.
 */
void bounded_caller_do_meanwhile(struct bounded_caller *c, void (*meanwhile)(void *context),
				 void *context);

/*
 * Runs `job` and waits for at most `timeout_ms`. 0: it ran; the caller must settle its share
 * (table_quota_settle) and free the job. Otherwise the caller no longer owns the job: -ETIMEDOUT:
 * it is late, and keeps its descriptor and its part of the budget; -EBUSY: it did not run, because
 * the limits are reached, its place is stuck or no thread could be started.
 */
int bounded_call(struct bounded_caller *c, struct bounded_job *job, unsigned int timeout_ms);

/*
 * For jobs that must not use root's power over others' files: the worker has no capabilities from
 * then on. False: it still may.
 */
bool bounded_drop_capabilities(void);

/*
 * Closes a descriptor of another user's file: close(2) can block like read(2), since FUSE waits for
 * its server there too. After one close has blocked, descriptors stay open: this process may hang
 * when it ends, but not before.
 */
void bounded_close(struct bounded_caller *c, int fd);

/* Returns whether a call for this place was abandoned. */
bool bounded_is_stuck(const struct bounded_caller *c, uint64_t place);

/* The run's budget, the source of all jobs' shares. */
struct table_quota *bounded_caller_budget(struct bounded_caller *c);

/* The number of calls that were abandoned or refused, except those for a place that is stuck. */
uint64_t bounded_caller_count_stuck(const struct bounded_caller *c);

/* Returns whether a call was abandoned, and may still work on what it was given. */
bool bounded_caller_has_abandoned(const struct bounded_caller *c);

#endif
