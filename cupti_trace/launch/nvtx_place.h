/* SPDX-License-Identifier: MIT */
/*
 * Notes the place in its thread's stack where an NVTX range was opened, and finds it in a launch's
 * stack.
 *
 * A range belongs inside the innermost function that ran when it was opened and still runs. The
 * frame that called NVTX is often another one, a wrapper that has returned: the constructor of a
 * C++ guard, torch.cuda.nvtx.range_push, the C code below ctypes. Other calls of that function may
 * use its place on the stack by now. So neither the stack pointer nor the depth at that time is
 * enough. A few frames from there outwards are kept instead, and compared:
 *
 *  - Native: return address and stack pointer. The innermost pair that both stacks have is a call
 *    that still goes on: the function that it called is the wanted one.
 *  - Python: code object and instruction, by depth counted from the outermost frame. (One loop of
 *    the interpreter runs several Python functions, so native frames cannot distinguish them.) Up
 *    to the first frame that differs both stacks are equal. If that frame runs its former code at
 *    another instruction, it is the wanted one, otherwise the one outside it.
 *
 * If any Python frame differs, the calls below it have returned, and the range goes directly inside
 * the Python function. Native frames would not do: that C code may have been called again, at its
 * old place of the stack, for the launch (ctypes is). If all Python frames are unchanged, the
 * native frames decide: a C function below the innermost one opened the range.
 *
 * Frames outside the kept ones are assumed unchanged. If nothing fits, as on the stack of another
 * coroutine, the range goes outermost.
 */
#ifndef CUPTI_TRACE_LAUNCH_NVTX_PLACE_H
#define CUPTI_TRACE_LAUNCH_NVTX_PLACE_H

#include <stdbool.h>
#include <stdint.h>
#include "cupti_trace/unwind/unwind_thread.h"
#include "cupti_trace/python/python_stack.h"
#include "symbolize/python_frames.h"

#define NVTX_PLACE_FRAMES 8     /* kept of each chain */
#define NVTX_PLACE_OWN_FRAMES 4 /* limit of our frames above the program's */

struct nvtx_place {
	uint32_t native_count;
	uint32_t python_count;
	uint32_t python_depth; /* number of all Python frames */
	bool native_is_whole;  /* the kept frames reach the thread's start */
	bool python_is_whole;  /* python_depth is right */
	struct {
		uint64_t pc, sp;
	} natives[NVTX_PLACE_FRAMES]; /* innermost first */
	struct {
		uint64_t code, mark, place;
	} pythons[NVTX_PLACE_FRAMES];
};

/* Room for taking a place: too large for the program's stacks. */
struct nvtx_place_room {
	struct unwind_stack native;
	uint64_t sps[NVTX_PLACE_FRAMES + NVTX_PLACE_OWN_FRAMES];
	struct python_stack python; /* large: python_stack_read sets the relevant part */
};

/*
 * Notes the calling thread's place. `sp` is the stack pointer of its code after the call that led
 * here: frames inside of that are ours.
 */
void nvtx_place_take(struct nvtx_place *place, uint64_t sp, struct nvtx_place_room *room);

/* Returns a hash of everything that a place is found by. */
uint64_t nvtx_place_hash(const struct nvtx_place *place);

/*
 * Returns the native frame that the range belongs into, by its index in the launch's stack (not
 * empty). Returns the outermost if nothing fits. `sps` are the frames' stack pointers.
 */
uint32_t nvtx_place_native(const struct nvtx_place *place, const struct unwind_stack *stack,
			   const uint64_t *sps);

/*
 * Returns the Python frame that the range belongs into; the number of frames if it belongs into
 * none. *is_unchanged: all Python frames are unchanged, so that native ones count.
 */
uint32_t nvtx_place_python(const struct nvtx_place *place, const struct python_stack *stack,
			   bool *is_unchanged);

#endif
