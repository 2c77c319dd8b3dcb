/* SPDX-License-Identifier: MIT */
/*
 * Recognizes a stack that was walked before, without walking it again.
 *
 * A walk by call-frame information is decided by some words of the stack: each return address, and
 * each rbp that leads to a caller. Where these lie is a layout. A program's launches come in much
 * the same order again and again, so the layout of a stack is guessed from those of the thread's
 * last launches, or else from where the stack ends. Then its words are hashed: if the same words in
 * the same layout were walked before, a walk would lead to the same frames now. If they were not,
 * the guess was wrong or the stack is new. The first guess is nearly always right; a walk takes
 * longer than all the others, so they are tried before it.
 *
 * With a wrong guess the words may be anything, also what nothing was written to; they are all in
 * the stack, whose upper part is the same one. So neither may a sanitizer watch this reading, nor
 * valgrind what follows from it.
 *
 * A program may have another stack within the thread's own, a coroutine's, with an unreadable page
 * above it, where other frames were before, whose words may still be there. So a page counts as
 * readable only if all words before it are, by their hash, those of a stack that was walked, one of
 * the last few of this layout: then a walk would lead there. Else the kernel is asked.
 *
 * The hash is keyed (symbolize/util/hash.h) and covers the layout. Layouts hold for the code that
 * was loaded when they were learnt: see stack_fingerprint_forget.
 *
 * One thread's, without locks; not to be entered again from a signal's handler.
 */
#ifndef CUPTI_TRACE_UNWIND_STACK_FINGERPRINT_H
#define CUPTI_TRACE_UNWIND_STACK_FINGERPRINT_H

#include <stdbool.h>
#include <stdint.h>
#include "symbolize/util/likely.h"

#define STACK_FINGERPRINT_MOST 1024u   /* of one stack */
#define STACK_FINGERPRINT_UNIT 8u      /* bytes that an offset counts */
#define STACK_FINGERPRINT_REACH 65535u /* the highest offset */

/* Zero-initialised is empty. */
struct stack_fingerprint {
	uint64_t history, before; /* layouts of the last launches; what it was before the last */
	uint64_t *memory;         /* layouts, guesses, the newest layout of each key */
	uint32_t size, used;      /* words for layouts, a power of two */
	const void **found;       /* the last layout's; NULL: it is gone. stack_fingerprint_found */
	bool is_new;              /* by the last guesses: the kernel was asked for a page */
};

/*
 * A hash of the stack above `frame` by the layout that is most likely; 0: there is no guess. Only
 * for frames that stack_fingerprint_learn has had, or that are in the same stack.
 */
uint64_t stack_fingerprint_guess(struct stack_fingerprint *words, uint64_t frame);

/* By another layout; `wrong`: how many guesses were wrong so far. 0: there is none left. */
uint64_t stack_fingerprint_guess_again(struct stack_fingerprint *words, uint64_t frame,
				       uint32_t wrong);

/* The last guess, made again, was right: from now on it is tried first there. */
void stack_fingerprint_guessed(struct stack_fingerprint *words, uint64_t frame);

/* The last guess was right, and the kernel was asked: next time it is not. */
void stack_fingerprint_note_new(struct stack_fingerprint *words);

/*
 * The last guess was right, and this is where the caller has found what belongs to the stack. When
 * the same layout is guessed again, this place is fetched into the cache while the stack is read.
 */
static inline void stack_fingerprint_found(struct stack_fingerprint *words, const void *found)
{
	if (unlikely(words->is_new))
		stack_fingerprint_note_new(words);
	if (words->found && *words->found != found)
		*words->found = found;
}

/*
 * The stack above `frame` has been walked: the words that decided it lie at these offsets, in
 * units. Returns the hash that a right guess gives; 0 if the layout cannot be kept.
 */
uint64_t stack_fingerprint_learn(struct stack_fingerprint *words, uint64_t frame,
				 const uint16_t *offsets, uint32_t count);

/* Code was unmapped: the same words may mean something else. */
void stack_fingerprint_forget(struct stack_fingerprint *words);

void stack_fingerprint_release(struct stack_fingerprint *words);

#endif
