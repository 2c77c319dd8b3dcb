/* SPDX-License-Identifier: MIT */
/*
 * Takes the stack of a launch in the launching thread, and returns a small id.
 *
 * Each distinct stack (with the launch function's name) is sent once; later launches only send its
 * id. A 64-bit hash of addresses distinguishes stacks. A cache of each thread answers nearly
 * always; one table of the process comes after it.
 *
 * Frames of CUPTI, the driver, a shared libcudart and this library are left out: the first address
 * is in the program. If libcudart is linked statically, it may be inside libcudart; the profiler
 * drops such frames by name. Python frames are where the interpreter evaluates them: see
 * python_stack.h. Open NVTX ranges are inside the functions that opened them: see nvtx.h. Stacks of
 * threads that work for another thread come below that thread's stack: see async_parent.h.
 *
 * A runtime call may be followed where it calls the driver. Its stack then has the frame of a
 * shared libcudart that is the function called by the program. The profiler ends the stack there,
 * by the frame's name, as with a static libcudart. A libcudart without symbols, such as those in
 * NVIDIA's math libraries, shows its frames and the driver's function.
 *
 * When code is unmapped, other code may be mapped at its addresses. Then all ids are forgotten, and
 * stacks are sent again. The next launch_stack_check_code detects that. The next launch does while
 * a library with device code is being unloaded.
 */
#ifndef CUPTI_TRACE_LAUNCH_LAUNCH_STACK_H
#define CUPTI_TRACE_LAUNCH_LAUNCH_STACK_H

#include <stdint.h>
#include "cupti_trace/core/sink.h"

/* Distinct stacks of a process until ids are forgotten; further ones get id 0. */
#define LAUNCH_STACKS_MAX (1u << 18)

/*
 * Returns the state of the calling thread, valid as long as the thread. Finding it takes a call of
 * the loader.
 */
struct launch_stack_thread *launch_stack_thread(void);

/*
 * Returns the id of the calling thread's stack now; 0 if it cannot be taken. `function` is the
 * launch function's name and must live forever. `frame` is the __builtin_frame_address(0) of the
 * caller, or of a calling function of the library: the stack begins outside that one. `context` is
 * CUPTI's number of the launch's context, or 0; it helps to find a worker's parent. A new stack is
 * in the sink before this returns.
 */
uint32_t launch_stack_capture(struct launch_stack_thread *me, struct sink *sink,
			      const char *function, const void *frame, uint32_t context);

/*
 * Returns the number of stacks of the process that were walked frame by frame, because they were
 * not recognized.
 */
uint64_t launch_stack_walks(void);

/*
 * Checks whether code was unmapped or mapped. Call first, and now and then. Any thread. `sink` may
 * be NULL (python_stack_look).
 */
void launch_stack_check_code(struct sink *sink);

/* Notes that device code is being unloaded, perhaps with the library that holds it. Any thread. */
void launch_stack_expect_unload(void);

/* Has stacks and code sent again: to another profiler. */
void launch_stack_start_over(void);

#endif
