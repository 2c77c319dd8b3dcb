/* SPDX-License-Identifier: MIT */
/*
 * Where in its thread's stack an NVTX range was opened, and where that is in the stack of a launch.
 *
 * A range belongs inside the innermost function that was running when it was opened and is running
 * still. The frame that called NVTX is often not that one: it is a wrapper (the constructor of a
 * C++ guard, torch.cuda.nvtx.range_push, the C code below ctypes) that has returned, and other
 * calls of the same function may use its place on the stack by now. So neither the stack pointer
 * nor the depth at that time is enough; a few frames from there outwards are kept instead, and
 * compared:
 *
 *  - Native: return address and stack pointer. The innermost pair that both stacks have is a call
 *    that still goes on: the function that it called is the wanted one.
 *  - Python: code object and instruction, by depth counted from the outermost frame (one loop of
 *    the interpreter runs several Python functions, so native frames cannot distinguish them). Up
 * to the first frame that differs both stacks are the same. If that frame runs the same code at
 *    another instruction, it is the wanted one, or else the one outside it.
 *
 * Where any Python frame differs, whatever it had called has returned, and the range goes directly
 * inside the Python function: the same C code may have been called again meanwhile, at the same
 * place of the stack, for the launch (ctypes is). Where all of them are as they were, a C function
 * that the innermost had called opened the range, and the native frames decide.
 *
 * Frames outside the kept ones are taken to be unchanged. Where nothing fits, as on the stack of
 * another coroutine, the range goes outermost.
 */
#ifndef CUPTI_TRACE_LAUNCH_NVTX_PLACE_H
#define CUPTI_TRACE_LAUNCH_NVTX_PLACE_H

#include <stdbool.h>
#include <stdint.h>
#include "cupti_trace/unwind/unwind_thread.h"
#include "symbolize/python_frames.h"

#define NVTX_PLACE_FRAMES 8 /* kept of each chain */

struct nvtx_place {
	uint32_t native_count;
	uint32_t python_count;
	uint32_t python_depth; /* Python frames in all */
	bool native_is_whole;  /* the kept ones go down to the thread's start */
	bool python_is_whole;  /* python_depth is right */
	struct {
		uint64_t pc, sp;
	} natives[NVTX_PLACE_FRAMES]; /* innermost first */
	struct {
		uint64_t code, mark, place;
	} pythons[NVTX_PLACE_FRAMES];
};

/*
 * The place of the calling thread's code whose stack pointer, after the call that led here, is
 * `sp`: frames inside of that are ours.
 */
void nvtx_place_take(struct nvtx_place *place, uint64_t sp);

/*
 * The native frame that the range belongs into, by its index in the launch's stack, which has one
 * at least; the outermost if nothing fits. `sps` are the frames' stack pointers.
 */
uint32_t nvtx_place_native(const struct nvtx_place *place, const struct unwind_stack *stack,
			   const uint64_t *sps);

/*
 * Does the same for its Python frame; the number of frames if it belongs into none. *is_unchanged:
 * all Python frames are as they were, so that native ones count.
 */
uint32_t nvtx_place_python(const struct nvtx_place *place, const struct python_stack *stack,
			   bool *is_unchanged);

#endif
