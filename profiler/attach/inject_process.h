/* SPDX-License-Identifier: MIT */
/*
 * Injects a library into a running process, and calls its entry point with a text.
 *
 * The library is written to a memfd of the process (memfd_create(2)). So it needs no path that both
 * see, and leaves none. The process loads it with its own dlopen, in a borrowed thread
 * (remote_call.h). That thread sleeps in a system call that can be resumed. Its stack is known to
 * its beginning, and dlopen conflicts with nothing on it: no loader, allocator, fork, exit, C
 * library lock, CUDA driver or signal handler. Other threads stop for a fraction of a millisecond
 * while they are inspected.
 *
 * The entry point must return at once; the text is freed then. A loaded library is never unloaded.
 * A copy of the library that is inactive is reused. A process takes 64 copies at most.
 *
 * A profiler that is killed meanwhile leaves no thread stopped and no registers wrong. The library
 * may then be loaded and not started.
 *
 * The process's memory and files may block forever: a user may serve its pages by FUSE, or hold
 * its locks. All that may block has a deadline, and is abandoned with its thread (bounded_call.h).
 * A thread without capabilities reads files and memory (except as root). The tracing thread keeps
 * CAP_SYS_PTRACE, even when abandoned. It needs that for ptrace(2), pidfd_getfd(2),
 * kcmp(2) and opening /proc/PID/mem. These may wait for a lock of the process.
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
	INJECT_DENIED,    /* the user may not trace it, or another tracer does */
	INJECT_UNSUITED,  /* it cannot load libraries, or must not be made to */
	INJECT_ALREADY,   /* a copy of the library is active in it */
	INJECT_NO_THREAD, /* no thread could be borrowed within INJECT_SEARCH_NS */
	INJECT_FAILED,    /* it rejected the library */
	INJECT_LATE,      /* its loader is busy; the library may come later */
	INJECT_STUCK,     /* its memory or files do not answer */
};

#define INJECT_SEARCH_NS 1000000000u  /* timeout of the search for a thread */
#define INJECT_TIMEOUT_NS 2000000000u /* timeout of all calls in the thread */
#define INJECT_SLEEP_MS 600u          /* total limit for memory and files that do not answer */
#define INJECT_TEXT_MAX 12288u        /* bytes of the text, with NUL */

struct inject_request {
	pid_t pid;
	const void *library; /* content of its file */
	size_t library_size;
	const char *entry; /* name of an exported function: void entry(const char *text) */
	const char *text;
	/* reuse a copy if it maps `mark` in this call, or has not begun */
	bool begins_again;
	/* true ends the search for a thread, and calls soon after; NULL: never; must stay valid
	 * after INJECT_STUCK */
	const _Atomic bool *called_off;
	/* in: index of the first thread to try; out: index for the next search */
	uint32_t first_thread;
	/* NULL, or from an earlier call, so that common files are read once; owned by the call;
	 * afterwards NULL if a file did not answer */
	struct symbolizer *symbolizer;
	const char *mark; /* name of the memfd that an active copy maps */
	/* name of the library's file in programs started with it, which stay active for good */
	const char *file_name;
};

#define INJECT_MESSAGE_MAX 400

/*
 * Injects the library. On failure, `message` (INJECT_MESSAGE_MAX bytes) holds the reason in one
 * line with the pid. Usually blocks for a few milliseconds. Works in a thread of its own, so the
 * caller's children are not waited for. `library`, `entry`, `mark` and `file_name` must stay valid
 * after INJECT_STUCK.
 */
enum inject_result inject_process(struct inject_request *request, char *message);

#endif
