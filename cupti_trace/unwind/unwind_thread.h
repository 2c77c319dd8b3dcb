/* SPDX-License-Identifier: MIT */
/*
 * Walks the calling thread's own stack by call-frame information, at a few ns per frame.
 *
 * The row that leads from a pc to its caller is looked up once. A cache without locks keeps it for
 * all threads. So a warm walk is a hash look-up and two loads per frame: no frame pointers, no
 * allocation, no system call. Tables are found through _dl_find_object (glibc 2.35) or
 * dl_iterate_phdr. Code without tables (a JIT's) is walked by frame pointer, if that leads to a
 * word after a call. Unlike the profiler, this does not search the stack otherwise: that would cost
 * each launch more than all the rest. A step that leads to no code at all ends the walk.
 * hidden_return.h finds return addresses that a return probe has replaced.
 *
 * Reads nothing but the thread's own stack, and nothing outside its bounds. On a stack that is not
 * the thread's (a coroutine's) the kernel is asked for each page.
 */
#ifndef CUPTI_TRACE_UNWIND_UNWIND_THREAD_H
#define CUPTI_TRACE_UNWIND_UNWIND_THREAD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include "cupti_trace/core/hot_path.h"
#include "cupti_trace/unwind/unwind_cache.h"

#define UNWIND_MAX_FRAMES 512

/* Changes when rows are forgotten; caches of an older generation are void. */
extern _Atomic uint32_t unwind_generation;

struct unwind_stack {
	uint32_t count;
	bool is_whole;  /* reaches the thread's start; otherwise cut: too deep, or no way on */
	uint64_t words; /* value of unwind_recognize for this stack; 0: none. Set by unwind_from
			   only */
	uint64_t pcs[UNWIND_MAX_FRAMES]; /* innermost first; named by the byte before each */
};

/*
 * Walks from the caller of the function that calls this, up to `max` frames (limit:
 * UNWIND_MAX_FRAMES). sps[] gets each frame's stack pointer after its call has returned; NULL: not
 * needed.
 */
void unwind_own_stack(struct unwind_stack *stack, uint64_t *sps, uint32_t max);

/*
 * Walks up to UNWIND_MAX_FRAMES from the caller of an active function. `frame` is its
 * __builtin_frame_address(0); it must be built with frame pointers.
 */
void unwind_from(const void *frame, struct unwind_stack *stack, uint64_t *sps);

/* Returns whether an address is on the calling thread's own stack. */
bool unwind_is_on_stack(uint64_t address);

/* Returns whether a return address is in a trampoline of CPython (python_trampoline.h). */
bool unwind_is_trampoline(uint64_t pc);

/*
 * Returns whether a return address is in the interpreter's function that calls trampolines; `loop`
 * is where its loop is.
 */
bool unwind_calls_trampoline(uint64_t pc, uint64_t loop);

/*
 * Hashes the calling thread's stack from `frame` on, without a walk. The keyed hash equals the
 * `words` of an earlier walk if the stack is that one again. A value that no walk gave is a wrong
 * guess; `wrong` counts these so far. Returns 0 if the stack has to be walked. `me` is the thread's
 * state.
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

/* Confirms the last guess, made again. */
void unwind_recognized_again(struct unwind_cache_thread *me, const void *frame);

/* Stores the caller's record for the stack just recognized: stack_fingerprint_found. */
static HOT_PATH_INLINE void unwind_recognized(struct unwind_cache_thread *me, const void *found)
{
	me->is_in_use = true;
	stack_fingerprint_found(&me->words, found);
	me->is_in_use = false;
}

/* Forgets all rows: code was unmapped, and other code may be mapped there. Any thread. */
void unwind_forget(void);

#endif
