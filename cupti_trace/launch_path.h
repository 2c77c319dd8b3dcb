/* SPDX-License-Identifier: MIT */
/*
 * How launches through libcudart look from the driver.
 *
 * A launch function of the runtime calls one of the driver, and CUPTI can call for either. For the
 * runtime's it takes three to five times as long as for the driver's (docs/performance.md, "What
 * being called costs"). But only the runtime's callback has the name that the program called, and a
 * stack in which nothing of libcudart stands inside of it. So the runtime's callbacks are on until
 * it is known what the driver's have to be made into, and then off (callback.c).
 *
 * While they are on, the first launch with a stack has it taken in both callbacks. From the
 * outermost frame on, the two are alike as far as the program reaches: that is the launch's user
 * stack. What is inside of it in the runtime's is a way, together with the function: there are as
 * many as launch functions in use in each copy of libcudart, a few.
 *
 * While they are off, libcudart goes another way inside, the same for each way. So what is inside
 * of a user stack that is known shows what the driver's callback sees of that one's way: a path.
 * From then on a stack that begins with a path has it replaced by the way, and becomes the one that
 * the runtime's callback would have taken.
 *
 * Other stacks of the driver's callback are of programs that call the driver themselves, which is
 * learned while the runtime's callbacks are on (the call is in no other), or through a copy of
 * libcudart that is new. Then the runtime's callbacks are needed again. The launches until they are
 * on, most often one, keep the stack that was taken: it ends in the driver's function, below
 * libcudart's.
 *
 * Any thread; a lock inside, taken only for stacks that a thread has not seen lately. Callers block
 * signals and cancellation (guest.h).
 */
#ifndef CUPTI_TRACE_LAUNCH_PATH_H
#define CUPTI_TRACE_LAUNCH_PATH_H

#include <stdbool.h>
#include <stdint.h>

#define LAUNCH_PATHS_MAX 64    /* as many ways */
#define LAUNCH_PATH_FRAMES 48  /* of each */
#define LAUNCH_PATH_USERS 1024 /* user stacks that are remembered, the last ones */
#define LAUNCH_PATH_DIRECT 256 /* places that call the driver themselves */
#define LAUNCH_PATH_RETURNS 64 /* how often the runtime's callbacks may come to be needed again */
#define LAUNCH_PATH_QUIET_NS UINT64_C(200000000)
#define LAUNCH_PATH_QUIET_LAUNCHES 1000
#define LAUNCH_PATH_UNDER_WAY_NS UINT64_C(50000000)

/*
 * A launch in both callbacks: the runtime's `function`, whose name lives forever, and the two
 * stacks, whole, as return addresses, innermost first, from CUPTI's on. now_ns: CLOCK_MONOTONIC.
 */
void launch_path_learn(const char *function, const uint64_t *runtime, uint32_t runtime_count,
		       const uint64_t *driver, uint32_t driver_count, uint64_t now_ns);

/*
 * A stack of the driver's callback, in no call of the runtime that callbacks are on for; its first
 * `before` frames are this library's. Whether its way is known; then it is changed in place, and
 * the function set. pcs[] and sps[] (NULL: there are none) have room for `max`.
 */
bool launch_path_replace(uint64_t *pcs, uint64_t *sps, uint32_t *count, uint32_t max,
			 uint32_t before, const char **function);

/*
 * A stack that was not replaced, by the return address of its innermost frame outside of CUDA's
 * libraries. True: the program calls the driver there. False: perhaps not, and the runtime's
 * callbacks are needed; the stack should be taken once more when it comes again.
 */
bool launch_path_is_direct(uint64_t call_site, uint64_t now_ns);

/* A launch through the runtime made no call of the driver: its callbacks stay on. */
void launch_path_is_missing(void);

/*
 * Whether the runtime's callbacks are to be on: they are at first, and until no new way was seen
 * for LAUNCH_PATH_QUIET_NS and LAUNCH_PATH_QUIET_LAUNCHES launches. What they see counts once
 * launch_path_runtime_is says that they are on.
 */
bool launch_path_wants_runtime(uint64_t now_ns);
void launch_path_runtime_is(bool on, uint64_t now_ns);

/* So many launches have been made. Any thread, at any time. */
void launch_path_launched(uint32_t count);

/* How many ways are known. */
uint32_t launch_path_count(void);

/* Code was unmapped: all is learned anew. */
void launch_path_forget(void);

#endif
