/* SPDX-License-Identifier: MIT */
/*
 * Keeps the open NVTX ranges and PyTorch operators of each thread, for its launch stacks.
 *
 * Push and pop: each thread has one list of open ranges, in order of opening. In NVTX each domain
 * is a stack of its own. So pop takes the last range of its domain, wherever that is in the list.
 *
 * Start and end: a range may end on any thread; while open it counts as open on the thread that
 * started it. That thread drops an ended range when it next looks. So only the start and end of a
 * thread's use of NVTX, and new names, take a lock.
 *
 * Operators are ranges of local variables (torch_operators.h).
 *
 * A range remembers the place where it was opened (nvtx_place.h). A launch puts the open ones among
 * its frames. A thread's open ranges are closed at its end. Started ranges that select what is
 * recorded stay open: they belong to the process, and any thread may end them. The list is bounded:
 * ranges deeper than NVTX_DEPTH_MAX are only counted, until their domain is popped back to that
 * depth. The balance of pushes and pops stays right.
 */
#ifndef CUPTI_TRACE_LAUNCH_NVTX_H
#define CUPTI_TRACE_LAUNCH_NVTX_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include "cupti_trace/core/hot_path.h"
#include "cupti_trace/launch/layers.h"
#include "cupti_trace/launch/nvtx_names.h"
#include "cupti_trace/python/python_stack.h"
#include "cupti_trace/unwind/unwind_thread.h"

#define NVTX_DEPTH_MAX 64 /* open ranges of a thread */
#define NVTX_THREADS_MAX \
	4096 /* live threads that have used NVTX; ranges of further ones are ignored */

/*
 * Initialises; call first. `in_stacks`: launch stacks show ranges (--nvtx). `as_choice`: ranges
 * that recorded_range.h matches select what is recorded (--range). If never called, stacks show
 * ranges.
 */
void nvtx_follow(bool in_stacks, bool as_choice);

/*
 * Opens a range of this name (nvtx_names.h) on the calling thread. `sp` is the stack pointer in the
 * program's code that called us. Returns its depth among the ranges of the domain, from 0 on, or
 * NVTX_ABI_NO_PUSH_POP_TRACKING if ranges are not followed.
 */
int nvtx_push(uint32_t domain, uint32_t name, uint64_t sp);

/*
 * Closes the domain's last range. Returns its depth, or NVTX_ABI_NO_PUSH_POP_TRACKING if there is
 * none.
 */
int nvtx_pop(uint32_t domain);

/*
 * Opens a range that a local variable stands for: the range is inside the function with that
 * variable, and in no stack without that function, as of another coroutine.
 */
void nvtx_open_at(uint32_t domain, uint32_t name, uint64_t address);

/*
 * Closes the ranges of an object. Also closes those of objects below the stack pointer, whose
 * functions have ended without a word. To be called also before an object's ranges are opened: its
 * address may be that of an earlier object.
 */
void nvtx_close_at(uint64_t address);

/* Opens a range that any thread may end. Returns its number; 0 if it is not followed. */
uint64_t nvtx_start(uint32_t domain, uint32_t name, uint64_t sp);
void nvtx_end(uint64_t range);

/*
 * Counts in the sink the ranges since the last call that stacks do not show by their full names:
 * past a limit, or folded.
 */
void nvtx_count_missing(struct sink *sink);

/*
 * Sends the first names of opened ranges that select nothing, if ranges select what is recorded.
 * Sends each once, up to a limit, whether stacks show them or not.
 */
void nvtx_send_others(struct sink *sink);

/* The open ranges of a launch's thread and their places: see nvtx_place.h. */
struct nvtx_ranges {
	uint32_t count;
	struct {
		uint32_t name;
		uint32_t native, python; /* indices of frames; past the last: in none */
	} open[NVTX_DEPTH_MAX];          /* in the order of opening */
};

/* Set once any thread has had ranges that stacks show. */
extern _Atomic bool nvtx_in_use;

bool nvtx_thread_has_open(void);

/* Returns whether the calling thread may have open ranges. Nearly free without NVTX. */
static HOT_PATH_INLINE bool nvtx_has_open(void)
{
	return unlikely(atomic_load_explicit(&nvtx_in_use, memory_order_relaxed)) &&
	       nvtx_thread_has_open();
}

/*
 * Reads the calling thread's ranges for a launch with this stack; `sps` are its frames' stack
 * pointers. Call after nvtx_recognize, which drops ranges that have ended, so that both agree.
 */
void nvtx_read(const struct unwind_stack *native, const uint64_t *sps,
	       const struct python_stack *python, struct nvtx_ranges *out);

/*
 * Reads the ranges of another thread, by its pthread_self(), for its Python frames alone. Right if
 * the thread does nothing meanwhile.
 */
void nvtx_read_of(uint64_t self, const struct python_stack *python, struct nvtx_ranges *out);

/*
 * Returns a number for the calling thread's open ranges and their places, seen from a launch whose
 * function has this __builtin_frame_address(0): equal numbers and equal stacks have equal ranges.
 * NVTX_BY_INSTRUCTION is set in it if stacks are equal only if their Python frames are at equal
 * instructions. Returns 0 if none is open. Call only if nvtx_has_open().
 */
#define NVTX_BY_INSTRUCTION UINT64_C(2)
uint64_t nvtx_recognize(const void *frame);

/* Continues a hash with everything that identifies these ranges. */
uint64_t nvtx_hash(uint64_t hash, const struct nvtx_ranges *ranges);

/*
 * Inserts the ranges, and the calls of `layers` if it is not NULL, into `count` frames and sends
 * their names. origins[] holds the source of each frame, with native indices less `first`, the
 * number of native frames left out. Returns the number of frames, up to GPU_STACK_MAX_FRAMES;
 * *is_cut is set if there were more. Not thread-safe: the caller locks.
 */
uint32_t nvtx_insert(struct sink *sink, const struct nvtx_ranges *ranges,
		     const struct layers *layers, uint32_t first,
		     const struct python_merged *origins, struct gpu_event_frame *frames,
		     uint32_t count, bool *is_cut);

#endif
