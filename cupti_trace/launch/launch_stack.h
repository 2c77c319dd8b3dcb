/* SPDX-License-Identifier: MIT */
/*
 * The stack of a launch, taken in the launching thread and known by a small id.
 *
 * Each distinct stack (with the launch function's name) is sent once; later launches from there
 * only name its id. Stacks are distinguished by a 64-bit hash of their addresses. A cache of each
 * thread answers nearly always; behind it is one table of the process. The frames of CUPTI, the
 * driver, a shared libcudart and this library are left out: the first address is one in the
 * program, or, where libcudart is linked statically, inside it; the profiler drops those by name.
 * Python frames are where the interpreter evaluates them: see python_stack.h. Open NVTX ranges are
 * inside the functions that opened them: see nvtx.h. Stacks of threads that work for another one
 * come below the stack of that one: see async_parent.h.
 *
 * A call of the runtime may be seen where that calls the driver. Its stack then has the frame of a
 * shared libcudart that is the function the program called: the profiler ends the stack there, by
 * the frame's name, as it does in a libcudart that is linked statically. A copy of libcudart
 * without symbols, as NVIDIA's math libraries have it in them, shows its frames and the driver's
 * function.
 *
 * When code is unmapped, other code may be mapped at the same addresses: then all ids are
 * forgotten, and stacks are sent again. That is noticed at the next check
 * (launch_stack_check_code), but by the next launch while a library with device code is being
 * unloaded.
 */
#ifndef CUPTI_TRACE_LAUNCH_LAUNCH_STACK_H
#define CUPTI_TRACE_LAUNCH_LAUNCH_STACK_H

#include <stdbool.h>
#include <stdint.h>
#include "cupti_trace/core/sink.h"

/* Distinct stacks of a process until ids are forgotten; further ones get id 0. */
#define LAUNCH_STACKS_MAX (1u << 18)

/*
 * Returns what is kept of the calling thread, as long as it lives. Finding it takes a call of the
 * loader.
 */
struct launch_stack_thread *launch_stack_thread(void);

/*
 * The id of the calling thread's stack now; 0 when it cannot be taken. `function` is the launch
 * function's name and must live forever. `frame` is the __builtin_frame_address(0) of the caller,
 * or of a function of the library that it was called from: the stack begins outside that one.
 * `context` is CUPTI's number of the context that is used, or 0: whose work a thread does may
 * follow from it. A new stack is in the sink before this returns.
 */
uint32_t launch_stack_capture(struct launch_stack_thread *me, struct sink *sink,
			      const char *function, const void *frame, uint32_t context);

/* How many stacks of the process were walked frame by frame, for they were not recognized. */
uint64_t launch_stack_walks(void);

/*
 * To be called first, and now and then: notices whether code was unmapped or mapped. Any thread.
 * `sink` may be NULL (python_stack_look).
 */
void launch_stack_check_code(struct sink *sink);

/* Device code is being unloaded, perhaps with the library that holds it. Any thread. */
void launch_stack_expect_unload(void);

/* Stacks and code that were sent are sent again: to another profiler. */
void launch_stack_start_over(void);

#endif
