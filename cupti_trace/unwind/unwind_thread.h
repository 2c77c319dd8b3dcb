/* SPDX-License-Identifier: MIT */
/*
 * Walks the calling thread's own stack by call-frame information, at a few ns per frame.
 *
 * The row that leads from a pc to its caller is looked up once and kept in a table that all threads
 * share without locks, so a warm walk is a hash look-up and two loads per frame, with no frame
 * pointers, no allocation, no system call. Tables are found through _dl_find_object (glibc 2.35) or
 * dl_iterate_phdr. Code without tables (a JIT's) is walked by frame pointer where that leads behind
 * a call. Unlike the profiler, it does not search the stack where there is none: that would cost
 * each launch more than all the rest. A step that leads to no code at all ends the walk.
 * Where a tracer's return probe has replaced a return address, hidden_return.h finds it.
 *
 * Nothing but the thread's own stack is read, and nothing outside its bounds. On a stack that is
 * not the thread's (a coroutine's) the kernel is asked, page by page, whether there is more of it.
 */
#ifndef CUPTI_TRACE_UNWIND_UNWIND_THREAD_H
#define CUPTI_TRACE_UNWIND_UNWIND_THREAD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include "cupti_trace/core/hot_path.h"
#include "cupti_trace/unwind/unwind_cache.h"

#define UNWIND_MAX_FRAMES 512

/* Changes when rows are forgotten; threads' memos of an older one are not believed. */
extern _Atomic uint32_t unwind_generation;

struct unwind_stack {
	uint32_t count;
	bool is_whole;  /* ends where the thread starts; else it is cut: too deep, or no way on */
	uint64_t words; /* what unwind_recognize gives for it; 0: nothing. Only of unwind_from */
	uint64_t pcs[UNWIND_MAX_FRAMES]; /* innermost first; named by the byte before each */
};

/*
 * Walks from the caller of the function that calls this, `max` frames at most (UNWIND_MAX_FRAMES is
 * the limit). sps[] gets each frame's stack pointer: what it is when the call that goes on there
 * has returned. NULL: not wanted.
 */
void unwind_own_stack(struct unwind_stack *stack, uint64_t *sps, uint32_t max);

/*
 * Does the same, UNWIND_MAX_FRAMES at most, from the caller of the function with this
 * __builtin_frame_address(0), which is still active and was built with frame pointers.
 */
void unwind_from(const void *frame, struct unwind_stack *stack, uint64_t *sps);

/* Returns whether a return address is in a trampoline of CPython's (python_trampoline.h). */
bool unwind_is_trampoline(uint64_t pc);

/* Returns whether it is in the interpreter's function that calls them; `loop`: where its loop is.
 */
bool unwind_calls_trampoline(uint64_t pc, uint64_t loop);

/*
 * A keyed hash that tells the calling thread's stacks from `frame` on from each other, without a
 * walk: the same as the `words` of an earlier walk if the stack is the same. What no walk gave is
 * a wrong guess; `wrong`: how many were so far. 0: it has to be walked. `me`: the thread's.
 */
static HOT_PATH_INLINE uint64_t unwind_recognize(struct unwind_cache_thread *me, const void *frame,
						 uint32_t wrong)
{
	uint32_t now = atomic_load_explicit(&unwind_generation, memory_order_relaxed);
	struct stack_fingerprint *words;
	uint64_t hash = 0;

	if (unlikely(me->is_in_use))
		return 0;
	me->is_in_use = true;
	words = unwind_cache_words(me, now);
	if (likely(words))
		hash = wrong == 0 ? stack_fingerprint_guess(words, (uint64_t)(uintptr_t)frame)
				  : stack_fingerprint_guess_again(words, (uint64_t)(uintptr_t)frame,
								  wrong);
	me->is_in_use = false;
	return hash;
}

/* The last guess, made again, was right. */
void unwind_recognized_again(struct unwind_cache_thread *me, const void *frame);

/* Notes what the caller has found for the stack just recognized: stack_fingerprint_found. */
static HOT_PATH_INLINE void unwind_recognized(struct unwind_cache_thread *me, const void *found)
{
	me->is_in_use = true;
	stack_fingerprint_found(&me->words, found);
	me->is_in_use = false;
}

/* Forgets all rows: code was unmapped, and other code may be mapped there. Any thread. */
void unwind_forget(void);

#endif
