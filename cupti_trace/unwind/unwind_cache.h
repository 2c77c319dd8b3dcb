/* SPDX-License-Identifier: MIT */
/*
 * Results of a thread's earlier walks of its own stack, so that the next walk only has to verify
 * them.
 *
 * A frame's state is where its stack pointer is, where its caller's rbp is to be read, and its pc.
 * The call-frame information of the pc yields the next state, given two words of the stack:
 * the return address, and rbp if the rule needs it. A node keeps one state and which state came
 * after it last time. Following nodes compares those words with their current values: every word
 * that decides the walk is read again, so the result equals that of a walk by the rules.
 *
 * It pays where the program has used the caches since the last launch: nodes lie side by side in
 * the order of the walk, and the stack's words are read independently of one another, where a walk
 * by the rules waits for one table row after the other.
 *
 * One thread's, without locks. Its memory is freed at the thread's end.
 */
#ifndef CUPTI_TRACE_UNWIND_UNWIND_CACHE_H
#define CUPTI_TRACE_UNWIND_UNWIND_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "cupti_trace/unwind/stack_fingerprint.h"

struct unwind_cache;

/* What is kept of a thread. Most launches need the words alone: they are beside the pointer. */
struct unwind_cache_thread {
	struct unwind_cache *memo; /* NULL: none */
	uint32_t generation;       /* of both */
	bool is_in_use;            /* a launch from a signal's handler leaves it alone */
	struct stack_fingerprint words;
};

struct frame_state {
	uint64_t pc;
	uint64_t rsp;    /* behind the return address that led here */
	uint64_t rbp_at; /* the address of the word that holds this frame's rbp; 0: not known */
};

/* How the next state follows. */
enum frame_rule {
	FRAME_UNKNOWN, /* not by a node: it has to be walked */
	FRAME_BY_RSP,  /* its rsp has a fixed distance from this one */
	FRAME_BY_RBP,  /* its rsp is rbp + offset */
	FRAME_AT_RBP,  /* its rsp is the word at rbp + offset, its rbp is at rbp + rbp_offset */
	FRAME_OUTERMOST,
};

/* The calling thread's, as long as it lives. Finding it takes a call of the loader. */
struct unwind_cache_thread *unwind_cache_thread(void);

/*
 * The thread's memo, for a stack that ends at `high`; NULL where there is no memory. What was
 * remembered under another `generation` is forgotten.
 */
struct unwind_cache *unwind_cache_begin(struct unwind_cache_thread *thread, uint64_t high,
					uint32_t generation);

/* Returns what the thread's stacks are recognized by; NULL: nothing of this generation. */
static inline struct stack_fingerprint *unwind_cache_words(struct unwind_cache_thread *thread,
							   uint32_t generation)
{
	return thread->memo && thread->generation == generation ? &thread->words : NULL;
}

/* The node of a state, made if there is none; 0 when the memo is full or cannot hold it. */
uint32_t unwind_cache_node(struct unwind_cache *memo, const struct frame_state *state);

/* How a node goes on. */
void unwind_cache_set_rule(struct unwind_cache *memo, uint32_t node, enum frame_rule rule,
			   int32_t offset, int16_t rbp_offset);

/* Sets what comes after `node`, as of now. */
void unwind_cache_set_next(struct unwind_cache *memo, uint32_t node, uint32_t next);

/*
 * Goes on from `node` as long as the stack agrees, appending pcs[*count...] up to `max`. Returns
 * the last node reached, `*state` its state.
 */
uint32_t unwind_cache_follow(const struct unwind_cache *memo, uint32_t node, uint64_t *pcs,
			     uint32_t *count, uint32_t max, struct frame_state *state);

/*
 * The stack pointers of the `count` states behind `node`, as far as they were just followed.
 * Separate, because few walks need them.
 */
void unwind_cache_read_sps(const struct unwind_cache *memo, uint32_t node, uint64_t *sps,
			   uint32_t count);

/*
 * The words of the stack that decided the walk from `node` to the outermost frame, as it was just
 * followed or set: their distances from `frame`, below all of them, in STACK_FINGERPRINT_UNITs.
 * Returns how many; 0 if there are more than `max`, if one is out of reach, or if the walk is not
 * known to its end.
 */
uint32_t unwind_cache_read_words(const struct unwind_cache *memo, uint32_t node, uint64_t frame,
				 uint16_t *offsets, uint32_t max);

/* The node ends the stack. */
bool unwind_cache_is_outermost(const struct unwind_cache *memo, uint32_t node);

#endif
