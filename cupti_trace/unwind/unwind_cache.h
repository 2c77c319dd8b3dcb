/* SPDX-License-Identifier: MIT */
/*
 * Caches the results of a thread's walks of its own stack, so that the next walk only verifies
 * them.
 *
 * A frame's state is its stack pointer, the place of its caller's rbp, and its pc. The pc's
 * call-frame information yields the next state, given two words of the stack: the return address,
 * and rbp if the rule needs it. A node keeps one state, and the state that followed last time.
 * Following nodes compares those words with their current values. Every word that decides the walk
 * is read again, so the result equals that of a walk by the rules.
 *
 * It pays off if the program has used the processor's caches since the last launch. Nodes lie side
 * by side in the order of the walk. The stack's words are read independently of one another. A walk
 * by the rules waits for one table row after the other.
 *
 * Belongs to one thread; no locks. Its memory is freed at the thread's end.
 */
#ifndef CUPTI_TRACE_UNWIND_UNWIND_CACHE_H
#define CUPTI_TRACE_UNWIND_UNWIND_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "cupti_trace/unwind/stack_fingerprint.h"

struct unwind_cache;

/* State of a thread. Most launches need only the words: they are beside the pointer. */
struct unwind_cache_thread {
	struct unwind_cache *cache; /* NULL: none */
	uint32_t generation;        /* generation of both */
	bool is_in_use; /* set while walking: a launch from a signal handler leaves it alone */
	struct stack_fingerprint words;
};

struct frame_state {
	uint64_t pc;
	uint64_t rsp;    /* value after the return address that led here */
	uint64_t rbp_at; /* address of the word that holds this frame's rbp; 0: unknown */
};

/* Rule for deriving the next state. */
enum frame_rule {
	FRAME_UNKNOWN, /* no rule: this frame has to be walked */
	FRAME_BY_RSP,  /* rsp at a fixed distance from this one */
	FRAME_BY_RBP,  /* rsp is rbp + offset */
	FRAME_AT_RBP,  /* rsp is the word at rbp + offset, rbp is at rbp + rbp_offset */
	FRAME_OUTERMOST,
};

/*
 * Returns the calling thread's state, valid as long as the thread. Finding it takes a call of the
 * loader.
 */
struct unwind_cache_thread *unwind_cache_thread(void);

/*
 * Returns the thread's cache, for a stack that ends at `high`; NULL when out of memory. Forgets
 * everything cached under another `generation`.
 */
struct unwind_cache *unwind_cache_begin(struct unwind_cache_thread *thread, uint64_t high,
					uint32_t generation);

/* Returns the thread's fingerprints; NULL: none of this generation. */
static inline struct stack_fingerprint *unwind_cache_words(struct unwind_cache_thread *thread,
							   uint32_t generation)
{
	return thread->cache && thread->generation == generation ? &thread->words : NULL;
}

/*
 * Returns the node of a state, adding it if needed; 0 if the cache is full or cannot hold the
 * state.
 */
uint32_t unwind_cache_node(struct unwind_cache *cache, const struct frame_state *state);

/* Sets how to derive the state after a node. */
void unwind_cache_set_rule(struct unwind_cache *cache, uint32_t node, enum frame_rule rule,
			   int32_t offset, int16_t rbp_offset);

/* Sets the node that follows `node` at the moment. */
void unwind_cache_set_next(struct unwind_cache *cache, uint32_t node, uint32_t next);

/*
 * Follows nodes from `node` while the stack agrees, appending pcs[*count...] up to `max`. Returns
 * the last node reached, and sets *state to its state.
 */
uint32_t unwind_cache_follow(const struct unwind_cache *cache, uint32_t node, uint64_t *pcs,
			     uint32_t *count, uint32_t max, struct frame_state *state);

/*
 * Returns the stack pointers of the `count` states after `node`, as just followed. Separate,
 * because few walks need them.
 */
void unwind_cache_read_sps(const struct unwind_cache *cache, uint32_t node, uint64_t *sps,
			   uint32_t count);

/*
 * Returns the words of the stack that decided the walk from `node` to its end, as just followed or
 * set. Offsets are distances from `frame`, which is below all of them, in STACK_FINGERPRINT_UNITs.
 * Returns their number; 0 if there are more than `max`, if one is out of reach, or if the walk's
 * end is unknown.
 */
uint32_t unwind_cache_read_words(const struct unwind_cache *cache, uint32_t node, uint64_t frame,
				 uint16_t *offsets, uint32_t max);

/* Returns whether the node ends the stack. */
bool unwind_cache_is_outermost(const struct unwind_cache *cache, uint32_t node);

#endif
