/* SPDX-License-Identifier: MIT */
/*
 * Brings the injection library into processes that already run, on threads of its own:
 * inject_process blocks for a second where a process is busy or does not answer, and processes do
 * not wait for each other.
 *
 * A process without a thread that could be borrowed is reported as such after the first attempt,
 * and tried again for some seconds: it may be reported a second time, then as done. The pipe must
 * be reachable from the process by the path that it is given: one that sees other files, or runs as
 * another user, is refused.
 */
#ifndef PROFILER_ATTACH_INJECT_QUEUE_H
#define PROFILER_ATTACH_INJECT_QUEUE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include "profiler/attach/inject_process.h"
#include "profiler/attach/payload.h"

#define INJECT_QUEUE_MESSAGE_MAX INJECT_MESSAGE_MAX

struct injected {
	uint32_t id; /* of struct process: tells programs in one process apart */
	pid_t pid;
	enum inject_result result;
	bool hides_calls; /* the kernel shows probes nothing of it: it has no first thread */
	char message[INJECT_QUEUE_MESSAGE_MAX]; /* why it is not there; names the process */
};

struct inject_queue;

/*
 * `text`, the library's settings, is copied; `payload` is borrowed. The threads have the
 * capabilities of the caller. NULL: out of memory.
 */
struct inject_queue *inject_queue_new(const struct payload *payload, const char *text);

/*
 * Waits for the processes that are under way, for two seconds at most. What is stuck in the kernel
 * remains until the process ends. NULL is allowed.
 */
void inject_queue_free(struct inject_queue *a);

/* Puts a process at the end of the queue. 0 or -errno. */
int inject_queue_add(struct inject_queue *a, uint32_t id, pid_t pid);

/* The next process that was dealt with. False: none by now. NULL is allowed. */
bool inject_queue_next(struct inject_queue *a, struct injected *injected);

/*
 * Returns whether the library has come into a process and cannot begin there: its thread is stopped
 * or has ended, or looks for CUPTI's files and sleeps without a moment of CPU time. To be asked
 * again and again; true after INJECT_QUEUE_STUCK_NS of that at the earliest.
 */
bool inject_queue_is_stuck(struct inject_queue *a, uint32_t id, pid_t pid);
#define INJECT_QUEUE_STUCK_NS 600000000u
#define INJECT_QUEUE_LOOK_NS 100000000u /* between two looks at one */

/*
 * Leaves alone those that still wait, and reports them as gone. So are those whose threads are
 * being looked at; where the library is being loaded, that goes on. NULL is allowed.
 */
void inject_queue_stop(struct inject_queue *a);

/* Returns whether a process waits, or is under way. NULL is allowed. */
bool arrivals_are_busy(struct inject_queue *a);

#endif
