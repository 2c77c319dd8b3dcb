/* SPDX-License-Identifier: MIT */
/*
 * Injects the library into running processes, on threads of its own: processes must not wait for
 * each other. inject_process blocks for a second if a process is busy or does not answer.
 *
 * A process without a thread to borrow is reported after the first attempt, and retried for some
 * seconds. So it may be reported a second time, as done. The process must reach the pipe by its
 * path: a process with another root folder or user is refused.
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
	uint32_t
		id; /* process id (struct process): one per program, though a pid may run several */
	pid_t pid;
	enum inject_result result;
	bool hides_calls; /* its first thread has ended, so the kernel shows it to no probe */
	char message[INJECT_QUEUE_MESSAGE_MAX]; /* reason of a failure, with the pid */
};

struct inject_queue;

/*
 * Makes a queue. `text`, the library's settings, is copied; `payload` is borrowed. The threads have
 * the caller's capabilities. Returns NULL when out of memory.
 */
struct inject_queue *inject_queue_new(const struct payload *payload, const char *text);

/*
 * Frees the queue after waiting for active injections, two seconds at most. A thread that is stuck
 * in the kernel remains until the process ends. NULL is allowed.
 */
void inject_queue_free(struct inject_queue *a);

/* Appends a process. Returns 0 or -errno. */
int inject_queue_add(struct inject_queue *a, uint32_t id, pid_t pid);

/* Takes the next result. Returns false if there is none yet. NULL is allowed. */
bool inject_queue_next(struct inject_queue *a, struct injected *injected);

/*
 * Stops the queue: reports waiting processes as gone. Ends searches for a thread, too, but finishes
 * a load that has begun. NULL is allowed.
 */
void inject_queue_stop(struct inject_queue *a);

/* Returns true if a process waits or is being injected. NULL is allowed. */
bool inject_queue_is_busy(struct inject_queue *a);

#endif
