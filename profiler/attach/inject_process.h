/* SPDX-License-Identifier: MIT */
/*
 * Brings a library into a process that already runs, and calls its entry point with a text.
 *
 * The library is written into unnamed memory of the process (memfd_create(2)), so it needs no path
 * that both see, and leaves none. The process loads it by its own dlopen, in one of its threads
 * (remote_call.h): one that sleeps in a system call which can be resumed, whose stack is known
 * to its beginning, and where nothing is under way that dlopen could meet: no loader, no
 * allocation, no fork or exit, no lock of the C library, no CUDA driver, no signal handler. Other
 * threads are looked at for a fraction of a millisecond, and go on undisturbed.
 *
 * The entry point gets the text, whose memory is gone when it returns, and should return at once.
 * What is loaded stays loaded. A copy of the same library that has left is used again; where there
 * is none, a new one comes, 64 at most.
 *
 * A profiler that is killed meanwhile leaves no thread stopped, and none with wrong registers. A
 * library may then be loaded that nobody has started.
 *
 * The process's memory and files may never answer: its pages may be of a file system that its user
 * serves, its locks may be held for ever. All that may wait for them has a deadline; what is late
 * is abandoned with the thread that waits (bounded_call.h). Files and memory are read by a thread
 * without capabilities (except root's). The thread that traces keeps CAP_SYS_PTRACE, also where it
 * is abandoned: in ptrace(2), pidfd_getfd(2), kcmp(2) and the opening of /proc/PID/mem, each of
 * which asks for that right, and may wait for a lock of the process.
 */
#ifndef PROFILER_ATTACH_INJECT_PROCESS_H
#define PROFILER_ATTACH_INJECT_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "symbolize/symbolizer.h"

enum inject_result {
	INJECT_DONE,
	INJECT_GONE,      /* the process has ended */
	INJECT_DENIED,    /* the user may not trace it, or somebody else does */
	INJECT_UNSUITED,  /* it cannot load libraries, or must not be made to */
	INJECT_ALREADY,   /* a copy of the library is at work in it */
	INJECT_NO_THREAD, /* none was where it could be borrowed, for INJECT_SEARCH_NS */
	INJECT_FAILED,    /* it does not take the library */
	INJECT_LATE,      /* its loader is busy; the library may come later */
	INJECT_STUCK,     /* its memory or its files do not answer */
};

#define INJECT_SEARCH_NS 1000000000u  /* to find a thread */
#define INJECT_TIMEOUT_NS 2000000000u /* for all that is called in it then */
#define INJECT_SLEEP_MS 600u          /* for memory and files that do not answer, in all */
#define INJECT_TEXT_MAX 12288u        /* bytes of settings, with their end */

struct inject_request {
	pid_t pid;
	const void *library; /* its file's bytes */
	size_t library_size;
	const char *entry; /* name of an exported function: void entry(const char *text) */
	const char *text;
	/* a copy that is there may be called again: it maps `mark` in this call, or has not begun
	 */
	bool begins_again;
	/* the search for a thread ends when this becomes true, and calls do soon; NULL: never. It
	 * has to stay after INJECT_STUCK */
	const _Atomic bool *called_off;
	/* where the search begins, among the process's threads; and where another one should */
	uint32_t first_thread;
	/* NULL, or that of an earlier call: then files that both map are read once. It belongs to
	 * the call meanwhile; NULL afterwards if a file did not answer */
	struct symbolizer *symbolizer;
	const char *mark; /* of unnamed memory that a process maps as long as a copy is at work */
	/* of the library's file in programs that were started with it, which have it at work for
	 * good */
	const char *file_name;
};

#define INJECT_MESSAGE_MAX 400

/*
 * `message`, of INJECT_MESSAGE_MAX bytes, says in one line why it was not done, and names the
 * process. Blocks for a few milliseconds, usually; in a thread of its own, so that the caller's
 * children are left alone. `library`, `entry`, `mark` and `file_name` have to stay after
 * INJECT_STUCK.
 */
enum inject_result inject_process(struct inject_request *request, char *message);

#endif
