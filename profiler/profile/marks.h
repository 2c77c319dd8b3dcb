/* SPDX-License-Identifier: MIT */
/*
 * Texts of frames that are not functions but describe the stack they are in. Their meaning for
 * users: docs/time-accounting.md.
 */
#ifndef PROFILER_PROFILE_MARKS_H
#define PROFILER_PROFILE_MARKS_H

#define MARK_TRUNCATED "[truncated]" /* outermost: the stack is cut there */
#define MARK_NO_STACK "[stack not captured]"
#define MARK_NO_PROGRAM "[process]" /* whose name is not known */
#define MARK_NOT_SAMPLED "[not sampled]"
#define MARK_NO_LAUNCH "[launch not captured]"
#define MARK_KERNEL_LAUNCH "[launched by a kernel]"
#define MARK_SKIPPED "[stack not sampled]"
#define MARK_CAPTURED "[graph node captured at]"
#define MARK_CAPTURE_UNSEEN "[graph node, capture not seen]"
#define MARK_WAITING "[waiting for GPU]"
#define MARK_WAITING_FOR_PAGES "[waiting for pages]" /* of kernels */
#define MARK_LAUNCHED "launched at"
#define MARK_CALL "[CUDA call, wall time]"       /* followed by the kernel's name, if known */
#define MARK_HANDED_TO "[handed to %s]"          /* a thread that works for the one above */
#define MARK_THREAD_STARTED "[started a thread]" /* what follows is that thread's stack */
#define MARK_TOO_MANY_STACKS "[too many stacks]"

#endif
