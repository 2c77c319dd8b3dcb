/* SPDX-License-Identifier: MIT */
/*
 * Selects the running processes to profile: the requested ones and their descendants.
 *
 * A process is followed first, so that its later children are known. Then /proc is read for earlier
 * children, repeatedly until there are none. All that exist when the last reading begins are
 * followed, whatever starts and ends meanwhile. Descendants are found by parent. An orphan, whose
 * parent ended before, is not found.
 *
 * Never selected: profile and its children, kernel threads, ended processes, and those that the
 * user may not inspect.
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

/* The command line's request. Strings are borrowed. At least one of the three kinds is set. */
struct attach_request {
	uint32_t pids[ATTACH_PIDS_MAX];
	uint32_t pid_count;
	const char *name; /* an extended regular expression; NULL: none */
	/* a folder below /sys/fs/cgroup, or a path as in /proc/PID/cgroup; NULL: none */
	const char *cgroup;
	uint64_t delay_ns, duration_ns; /* 0: at once; to the end */
};

/*
 * Returns the profile's title in place of a command: "process 1234", "processes 12, 34, ...",
 * "processes named 'x'", "cgroup /a". Free the result. Returns NULL when out of memory.
 */
char *attach_text(const struct attach_request *request);

/* Operations on a process. The first argument is `context`. */
struct attach_steps {
	void *context;
	pid_t own[2]; /* profile's processes; skipped with their children */
	/* Checks that the user may inspect the process. Returns 0, -EACCES, -EPERM or -ESRCH. */
	int (*may_follow)(void *context, pid_t pid);
	/* Follows the process and its future children. Returns 0 or -errno. */
	int (*follow)(void *context, pid_t pid);
	/* Undoes `follow`: the pid had been reused by then. */
	void (*forget)(void *context, pid_t pid);
	/* Processes all kernel reports up to now, above all children of known processes. */
	void (*catch_up)(void *context);
	bool (*knows)(void *context, pid_t pid);
	/* Adds the process. Returns 0, -ESRCH if it has ended, or another -errno. */
	int (*add)(void *context, const struct scanned_process *process);
};

struct attachment;

/*
 * Checks the request and finds the processes. `calls` reads their command lines. Returns NULL after
 * logging the reason: no such process, one that may not be profiled, or no match.
 */
struct attachment *attachment_new(const struct attach_request *request,
				  const struct attach_steps *steps, struct bounded_caller *calls,
				  struct log *log);
void attachment_free(struct attachment *a);

/* Returns true if all requested processes, and their descendants found then, have ended. */
bool attachment_has_ended(const struct attachment *a);

/* Follows all selected processes. Returns 0, -ESRCH if none is left, or another -errno. */
int attachment_follow(struct attachment *a);

/*
 * Looks for processes that match the name or are in the group by now, and follows them with their
 * descendants. Command lines are read of processes alone that are new, or have a new comm. Returns
 * 0 or -errno. Does nothing without a name or a group.
 */
int attachment_look_again(struct attachment *a);

/* Return the number of processes added so far, and the first one's pid; 0 if none. */
uint32_t attachment_count(const struct attachment *a);
pid_t attachment_first(const struct attachment *a);

/* Returns true if a process was skipped because the user may not inspect it. */
bool attachment_was_refused(const struct attachment *a);

#endif
