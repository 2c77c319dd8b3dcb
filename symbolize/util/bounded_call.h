/* SPDX-License-Identifier: MIT */
/*
 * Runs calls that may block for ever on a worker thread, with a timeout.
 *
 * A file of the target may be on a file system that its user serves (FUSE). open(2) and read(2)
 * then return when that user pleases. A call that does not return in time is abandoned, together
 * with its worker and its data. The next call gets a new worker. A process cannot exit while the
 * kernel holds one of its threads. So a caller that must not hang should not wait for this process.
 *
 * One worker runs all calls in sequence; a call costs about 10 us. The worker blocks all signals
 * and, except as root, has no capabilities. The number and total time of abandoned calls are
 * limited (table_quota.h). Beyond these limits every call is refused at once. Calls for a place
 * where a call was abandoned are refused, too, unless that call was busy computing.
 *
 * A timeout leaves a large file on a slow disk its time. A caller with little time also limits how
 * long calls may sleep without using CPU time (bounded_caller_limit_sleep). A disk answers every
 * few milliseconds; a server that never answers does not.
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
 * A job: the first member of a larger structure, with copies of the arguments and room for results.
 * `run` must not touch anything else that other threads change or free.
 */
struct bounded_job {
	void (*run)(struct bounded_job *job);     /* runs on the worker */
	void (*discard)(struct bounded_job *job); /* frees late results; may be NULL */
	_Atomic uint64_t place; /* place that the call may be stuck at, or 0; `run` may change it */
	int fd;                 /* descriptor that the worker closes if the job is late; -1: none */
	_Atomic bool is_late;   /* the caller has abandoned the job: `run` may end early */
	struct quota_share share; /* share of the quota; opened by the call */
};

/* Places where a call may be stuck: a device as in /proc/PID/maps (major << 32 | minor), or */
#define BOUNDED_PLACE_CLOSING (UINT64_C(1) << 63) /* close(2) */
#define BOUNDED_PLACE_PROCESS (UINT64_C(1) << 62) /* memory of a process; | pid */

/*
 * Allocates a job of `bytes` in all, the rest zeroed. Returns NULL when out of memory. Free the job
 * with free(3).
 */
void *bounded_job_new(size_t bytes, void (*run)(struct bounded_job *job),
		      void (*discard)(struct bounded_job *job));

struct bounded_caller;

/*
 * Creates a caller whose calls may take `run_ms` together, normally BOUNDED_CALL_RUN_MS. Returns
 * NULL when out of memory. Starts no thread before the first call.
 */
struct bounded_caller *bounded_caller_new(unsigned int run_ms);

/*
 * Ends the worker and frees the caller, which may be NULL. Abandoned calls remain until they return
 * or the process ends. In a child of fork(2), a caller uses a worker of the child's own.
 */
void bounded_caller_free(struct bounded_caller *c);

/*
 * Abandons calls that sleep: all calls together may sleep for `ms`, one call for half of the rest.
 * Sleeps of less than BOUNDED_CALL_NAP_MS do not count.
 */
void bounded_caller_limit_sleep(struct bounded_caller *c, unsigned int ms);
#define BOUNDED_CALL_NAP_MS 100

/*
 * Lets workers keep the capabilities of the thread that makes the first call, for system calls that
 * need them. Calls that may block and need no capability belong on another caller's worker.
 */
void bounded_caller_keep_capabilities(struct bounded_caller *c);

/* interval of `meanwhile`, ms */
#define BOUNDED_CALL_MEANWHILE_MS 2

/*
 * Calls `meanwhile` every BOUNDED_CALL_MEANWHILE_MS while this process waits for a call, so that
 * other work goes on. `meanwhile` must not make calls itself; NULL: stops.
 */
void bounded_caller_do_meanwhile(struct bounded_caller *c, void (*meanwhile)(void *context),
				 void *context);

/*
 * Runs `job` and waits for at most `timeout_ms`. Returns 0 if the job ran: the caller must settle
 * its share (table_quota_settle) and free the job. Otherwise the caller no longer owns the job.
 * Returns -ETIMEDOUT if the job is late: it keeps its descriptor and its share of the quota.
 * Returns -EBUSY if the job did not run: the limits are reached, its place is stuck, or no thread
 * could be started.
 */
int bounded_call(struct bounded_caller *c, struct bounded_job *job, unsigned int timeout_ms);

/* Drops all capabilities of the calling thread. Returns false if the thread still has them. */
bool bounded_drop_capabilities(void);

/*
 * Closes a descriptor of another user's file on the worker: close(2) can block like read(2), since
 * FUSE waits for its server there too. After one close has blocked, further descriptors stay open.
 * This process may then hang when it ends, but not before.
 */
void bounded_close(struct bounded_caller *c, int fd);

/* Returns whether a call for this place was abandoned. */
bool bounded_is_stuck(const struct bounded_caller *c, uint64_t place);

/* Returns the quota of the run, from which all jobs get their shares. */
struct table_quota *bounded_caller_budget(struct bounded_caller *c);

/* Returns how many calls were abandoned or refused, except refusals because of a stuck place. */
uint64_t bounded_caller_count_stuck(const struct bounded_caller *c);

/* Returns whether any call was abandoned: it may still work on its data. */
bool bounded_caller_has_abandoned(const struct bounded_caller *c);

#endif
