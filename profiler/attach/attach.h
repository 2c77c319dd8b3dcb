/* SPDX-License-Identifier: MIT */
/*
 * Which processes that already run are profiled: those asked for, and their descendants.
 *
 * A process is followed first, so that what it starts from then on is known; then /proc is read for
 * what it had started before, again and again until there is nothing new. Whoever is there when the
 * last reading begins is followed, whatever starts and ends meanwhile. Descendants are found by
 * their parents: one whose parent has ended before is another's child by then.
 *
 * Never among them: profile itself and what it has started, threads of the kernel, processes that
 * have ended, and those that the user may not look into.
 */
#ifndef PROFILER_ATTACH_ATTACH_H
#define PROFILER_ATTACH_ATTACH_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include "profiler/attach/process_scan.h"
#include "profiler/base/log.h"
#include "symbolize/util/bounded_call.h"

#define ATTACH_PIDS_MAX 1024

/* What the command line says. Strings are borrowed. One of the three kinds, or several. */
struct attach_request {
	uint32_t pids[ATTACH_PIDS_MAX];
	uint32_t pid_count;
	const char *name; /* an extended regular expression; NULL: none */
	/* a folder below /sys/fs/cgroup, or a path as in /proc/PID/cgroup; NULL: none */
	const char *cgroup;
	uint64_t delay_ns, duration_ns; /* before, and for how long; 0: at once, to the end */
};

/*
 * "process 1234", "processes 12, 34, ...", "processes named 'x'", "cgroup /a": what is profiled, in
 * place of a command. To be freed; NULL: out of memory.
 */
char *attach_text(const struct attach_request *request);

/* What is done with a process; the first argument is `context`. */
struct attach_steps {
	void *context;
	pid_t own[2]; /* profile's own: these, and what they have started, are left out */
	/* whether the user may look into it: 0, -EACCES or -EPERM, -ESRCH */
	int (*may_follow)(void *context, pid_t pid);
	/* from now on its children are followed, too. 0 or -errno */
	int (*follow)(void *context, pid_t pid);
	/* it was another process's pid by then */
	void (*forget)(void *context, pid_t pid);
	/* takes in what the kernel has reported up to now, children of known processes above all */
	void (*catch_up)(void *context);
	bool (*knows)(void *context, pid_t pid);
	/* 0; -ESRCH: it has ended meanwhile; or another error */
	int (*add)(void *context, const struct scanned_process *process);
};

struct attachment;

/*
 * Reads the request and what processes there are; `calls` reads their command lines. NULL after
 * logging what is wrong with it: no such process, one that may not be profiled, nothing that
 * matches.
 */
struct attachment *attachment_new(const struct attach_request *request,
				  const struct attach_steps *steps, struct bounded_caller *calls,
				  struct log *log);
void attachment_free(struct attachment *a);

/* Returns whether none is left of those asked for, and of their descendants of then. */
bool attachment_has_ended(const struct attachment *a);

/* Follows all of them. 0 or -errno; -ESRCH: none is left. */
int attachment_follow(struct attachment *a);

/* How many were added so far, and the first of them; 0: none. */
uint32_t attachment_count(const struct attachment *a);
pid_t attachment_first(const struct attachment *a);

/* Returns whether some process was left out since the user may not look into it. */
bool attachment_was_refused(const struct attachment *a);

#endif
