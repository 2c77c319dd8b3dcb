/* SPDX-License-Identifier: MIT */
/*
 * Defines the texts of frames that are not functions, but describe their stack.
 *
 * docs/time-accounting.md explains them to users.
 */
#ifndef PROFILER_MODEL_PSEUDO_FRAMES_H
#define PROFILER_MODEL_PSEUDO_FRAMES_H

#include <stdbool.h>
#include <string.h>

#define PSEUDO_TRUNCATED "[truncated]" /* outermost: the stack is cut there */
#define PSEUDO_NO_STACK "[stack not captured]"
#define PSEUDO_NO_PROGRAM "[process]"  /* a process without a known name */
#define PSEUDO_NO_ACCESS "[no access]" /* no permission to read the process */
#define PSEUDO_NOT_SAMPLED "[not sampled]"
#define PSEUDO_NO_LAUNCH "[launch not captured]"
#define PSEUDO_KERNEL_LAUNCH "[launched by a kernel]"
#define PSEUDO_EARLIER "[launched before recording]"
#define PSEUDO_SKIPPED "[stack not sampled]"
#define PSEUDO_CAPTURED "[graph node captured at]"
#define PSEUDO_CAPTURE_UNSEEN "[graph node, capture not seen]"
#define PSEUDO_WAITING "[waiting for GPU]"
#define PSEUDO_SPINNING "[spinning for GPU]"           /* a thread that busy-waits */
#define PSEUDO_WAITING_FOR_PAGES "[waiting for pages]" /* kernels */
#define PSEUDO_WAITING_FOR_RANK "[waiting for rank "   /* kernels: the rank and "]" follow */
#define PSEUDO_BLOCKED "[blocked: "  /* a thread off the CPU: the reason and "]" follow */
#define PSEUDO_RUNNABLE "[runnable]" /* a thread waiting for a CPU */
#define PSEUDO_IDLE_START "["        /* an idle device: its label follows, */
#define PSEUDO_IDLE_END " idle]"     /* and then this */
#define PSEUDO_BEFORE_FIRST "[before the first operation]"
#define PSEUDO_AFTER_LAST "[after the last operation]"
#define PSEUDO_NOT_BEGUN "[launched, not begun]"
#define PSEUDO_NO_THREAD "[before the thread existed]"
#define PSEUDO_THREAD_ENDED "[thread has ended]"
#define PSEUDO_STALL "[stall: "      /* warps of a kernel: the reason and "]" follow */
#define PSEUDO_SELECTED "[selected]" /* warps of a kernel that issued an instruction */
#define PSEUDO_OTHER_STALLS "[other stalls]"
#define PSEUDO_LAUNCHED "launched at"
#define PSEUDO_CALL "[CUDA call, wall time]"       /* the kernel's name follows, if known */
#define PSEUDO_HANDED_TO "[handed to %s]"          /* a thread that works for the one above */
#define PSEUDO_THREAD_STARTED "[started a thread]" /* the new thread's stack follows */
/* frames in the injection library, and in all that it calls */
#define PSEUDO_RANGE \
	"nvtx:" /* an NVTX range: its domain and a colon, if any, and its message follow */
#define PSEUDO_OPERATOR "op:" /* an operator of PyTorch: its name follows */
#define PSEUDO_LAYER "["      /* a module of a model: its path follows, and then this */
#define PSEUDO_LAYER_END "]"
#define PSEUDO_AUTOTUNING "[autotuning]" /* trials of variants of a kernel (compile_marks.h) */
#define PSEUDO_COMPILING "[compiling]"
#define PSEUDO_LIBRARY "[profile's library]"
/* time off the CPU in threads that are not the program's; reasons are below */
#define PSEUDO_THREADS_OF_PROFILE "[threads of profile]"
#define PSEUDO_THREADS_OF_DRIVER "[threads of CUPTI and the driver]"
/* threads that only wait for work; " of" and their name may follow, then "]" */
#define PSEUDO_IDLE_THREADS "[idle threads"
#define PSEUDO_TOO_MANY_STACKS "[too many stacks]"

/* Meaning of a frame for code; most frames have none. */
enum pseudo_kind {
	PSEUDO_KIND_NOTHING,
	PSEUDO_KIND_SPINNING,       /* PSEUDO_SPINNING */
	PSEUDO_KIND_THREAD_STARTED, /* PSEUDO_THREAD_STARTED */
	PSEUDO_KIND_NO_OWN_STACK,   /* PSEUDO_NO_STACK, PSEUDO_THREADS_OF_PROFILE,
				       PSEUDO_THREADS_OF_DRIVER */
	PSEUDO_KIND_RUNNABLE,       /* PSEUDO_RUNNABLE */
	PSEUDO_KIND_BLOCKED,        /* PSEUDO_BLOCKED and a reason */
	PSEUDO_KIND_IDLE_THREADS,   /* PSEUDO_IDLE_THREADS and their name */
};

/* Returns the meaning of the text of a mark or wait. */
enum pseudo_kind pseudo_kind_of(const char *text);

/* Returns whether the frame is a wait of a thread or kernel. */
static inline bool is_wait_mark(const char *text)
{
	return strcmp(text, PSEUDO_WAITING) == 0 || strcmp(text, PSEUDO_WAITING_FOR_PAGES) == 0 ||
	       strcmp(text, PSEUDO_RUNNABLE) == 0 ||
	       strncmp(text, PSEUDO_BLOCKED, sizeof(PSEUDO_BLOCKED) - 1) == 0;
}

/* Returns whether the frame is an idle device: the outermost frame of such stacks. */
static inline bool is_idle_mark(const char *text)
{
	size_t length = strlen(text);

	return length >= sizeof(PSEUDO_IDLE_END) &&
	       strncmp(text, PSEUDO_IDLE_START "GPU", sizeof(PSEUDO_IDLE_START "GPU") - 1) == 0 &&
	       strcmp(text + length - (sizeof(PSEUDO_IDLE_END) - 1), PSEUDO_IDLE_END) == 0;
}

#endif
