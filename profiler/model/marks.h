/* SPDX-License-Identifier: MIT */
/*
 * Texts of frames that are not functions but describe the stack they are in. Their meaning for
 * users: docs/time-accounting.md.
 */
#ifndef PROFILER_MODEL_MARKS_H
#define PROFILER_MODEL_MARKS_H

#include <stdbool.h>
#include <string.h>

#define MARK_TRUNCATED "[truncated]" /* outermost: the stack is cut there */
#define MARK_NO_STACK "[stack not captured]"
#define MARK_NO_PROGRAM "[process]"  /* whose name is not known */
#define MARK_NO_ACCESS "[no access]" /* the user may not look into the process */
#define MARK_NOT_SAMPLED "[not sampled]"
#define MARK_NO_LAUNCH "[launch not captured]"
#define MARK_KERNEL_LAUNCH "[launched by a kernel]"
#define MARK_EARLIER "[launched before recording]"
#define MARK_SKIPPED "[stack not sampled]"
#define MARK_CAPTURED "[graph node captured at]"
#define MARK_CAPTURE_UNSEEN "[graph node, capture not seen]"
#define MARK_WAITING "[waiting for GPU]"
#define MARK_SPINNING "[spinning for GPU]"           /* a thread that waits for it on a CPU */
#define MARK_WAITING_FOR_PAGES "[waiting for pages]" /* of kernels */
#define MARK_WAITING_FOR_RANK "[waiting for rank "   /* of kernels: the rank and "]" */
#define MARK_BLOCKED "[blocked: "                    /* a thread off the CPU, by what, and "]" */
#define MARK_RUNNABLE "[runnable]"                   /* a thread that waits for a CPU */
#define MARK_IDLE_START "["                          /* a device that is idle: its label, */
#define MARK_IDLE_END " idle]"                       /* and this */
#define MARK_BEFORE_FIRST "[before the first operation]"
#define MARK_AFTER_LAST "[after the last operation]"
#define MARK_NOT_BEGUN "[launched, not begun]"
#define MARK_NO_THREAD "[before the thread existed]"
#define MARK_THREAD_ENDED "[thread has ended]"
#define MARK_STALL "[stall: "      /* of a kernel's warps, followed by the reason and "]" */
#define MARK_SELECTED "[selected]" /* likewise: an instruction was issued */
#define MARK_OTHER_STALLS "[other stalls]"
#define MARK_LAUNCHED "launched at"
#define MARK_CALL "[CUDA call, wall time]"       /* followed by the kernel's name, if known */
#define MARK_HANDED_TO "[handed to %s]"          /* a thread that works for the one above */
#define MARK_THREAD_STARTED "[started a thread]" /* what follows is that thread's stack */
/* what a sample has of the library in the program, and all that it calls */
#define MARK_LIBRARY "[profile's library]"
/* all that is off the CPU of threads that are not the program's own: by what, below it */
#define MARK_THREADS_OF_PROFILE "[threads of profile]"
#define MARK_THREADS_OF_DRIVER "[threads of CUPTI and the driver]"
/* threads that only wait for work, there: may be followed by " of" and their name, and "]" */
#define MARK_IDLE_THREADS "[idle threads"
#define MARK_TOO_MANY_STACKS "[too many stacks]"

/* The meaning of a frame for code; most frames mean something to people alone. */
enum frame_mark {
	SAYS_NOTHING,
	SAYS_SPINNING,       /* MARK_SPINNING */
	SAYS_THREAD_STARTED, /* MARK_THREAD_STARTED */
	SAYS_NO_OWN_STACK,   /* MARK_NO_STACK, MARK_THREADS_OF_PROFILE, MARK_THREADS_OF_DRIVER */
	SAYS_RUNNABLE,       /* MARK_RUNNABLE */
	SAYS_BLOCKED,        /* MARK_BLOCKED, and by what */
	SAYS_IDLE_THREADS,   /* MARK_IDLE_THREADS, and whose */
};

/* Returns what a text says, of a frame that is a mark or a wait. */
enum frame_mark frame_mark_of(const char *text);

/* Returns whether the frame says that a thread, or a kernel, waits. */
static inline bool is_wait_mark(const char *text)
{
	return strcmp(text, MARK_WAITING) == 0 || strcmp(text, MARK_WAITING_FOR_PAGES) == 0 ||
	       strcmp(text, MARK_RUNNABLE) == 0 ||
	       strncmp(text, MARK_BLOCKED, sizeof(MARK_BLOCKED) - 1) == 0;
}

/* Returns whether the frame says that a device is idle: the outermost one of such stacks. */
static inline bool is_idle_mark(const char *text)
{
	size_t length = strlen(text);

	return length >= sizeof(MARK_IDLE_END) &&
	       strncmp(text, MARK_IDLE_START "GPU", sizeof(MARK_IDLE_START "GPU") - 1) == 0 &&
	       strcmp(text + length - (sizeof(MARK_IDLE_END) - 1), MARK_IDLE_END) == 0;
}

#endif
