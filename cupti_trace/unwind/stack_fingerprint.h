/* SPDX-License-Identifier: MIT */
/*
 * Recognizes a stack that was walked before, without walking it again.
 *
 * Some words of the stack decide a walk by call-frame information: each return address, and each
 * rbp that leads to a caller. The places of these words are a layout. A program's launches repeat
 * their order, so the layout is guessed from those of the thread's last launches. Otherwise it is
 * guessed from the end of the stack. Then its words are hashed. If a stack with these words in this
 * layout was walked before, a walk would find its frames again. If not, the guess was wrong or the
 * stack is new. The first guess is nearly always right. All others together take less time than a
 * walk, so they are tried before it.
 *
 * With a wrong guess the words may be anything, even memory that was never written. All of them are
 * in the stack, whose upper part is unchanged. So no sanitizer may watch this reading, nor valgrind
 * its consequences.
 *
 * A program may have another stack within the thread's own: a coroutine's, with an unreadable page
 * above it. Other frames may have been there before, whose words may still be there. So a page
 * counts as readable only if the hash of all words before it is known. It must come from one of the
 * last few stacks of this layout: then a walk would lead there. Otherwise the kernel is asked.
 *
 * The hash is keyed (symbolize/util/hash.h) and covers the layout. Layouts hold for the code that
 * was loaded when they were learnt: see stack_fingerprint_forget.
 *
 * Belongs to one thread; no locks. Must not be reentered from a signal handler.
 */
#ifndef CUPTI_TRACE_UNWIND_STACK_FINGERPRINT_H
#define CUPTI_TRACE_UNWIND_STACK_FINGERPRINT_H

#include <stdbool.h>
#include <stdint.h>
#include "symbolize/util/likely.h"

#define STACK_FINGERPRINT_MOST 1024u   /* limit of words of one stack */
#define STACK_FINGERPRINT_UNIT 8u      /* bytes per unit of an offset */
#define STACK_FINGERPRINT_REACH 65535u /* the highest offset */

/* Zero-initialised is empty. */
struct stack_fingerprint {
	uint64_t history, before; /* layouts of the last launches; its value before the last */
	uint64_t *memory;         /* layouts, guesses, the newest layout of each key */
	uint32_t size, used;      /* words for layouts, a power of two */
	const void **found;       /* the last layout's; NULL: none. See stack_fingerprint_found */
	bool is_new;              /* set by guesses: the kernel was asked for a page */
};

/*
 * Hashes the stack above `frame`, assuming its most likely layout. Returns 0 if there is no guess.
 * `frame` must have been passed to stack_fingerprint_learn, or be in a stack that was.
 */
uint64_t stack_fingerprint_guess(struct stack_fingerprint *words, uint64_t frame);

/* Hashes by another layout, after `wrong` wrong guesses. Returns 0 if there is none left. */
uint64_t stack_fingerprint_guess_again(struct stack_fingerprint *words, uint64_t frame,
				       uint32_t wrong);

/* Confirms the last guess of stack_fingerprint_guess_again: it is tried first there from now on. */
void stack_fingerprint_guessed(struct stack_fingerprint *words, uint64_t frame);

/* Confirms the last guess, for which the kernel was asked: next time it is not. */
void stack_fingerprint_note_new(struct stack_fingerprint *words);

/*
 * Confirms the last guess, and stores the place of the caller's record for the stack. When this
 * layout is guessed again, the record is prefetched into the cache.
 */
static inline void stack_fingerprint_found(struct stack_fingerprint *words, const void *found)
{
	if (unlikely(words->is_new))
		stack_fingerprint_note_new(words);
	if (words->found && *words->found != found)
		*words->found = found;
}

/*
 * Learns the layout of a stack that was walked: the words that decided the walk lie at these
 * offsets above `frame`, in units. Returns the hash that a right guess gives, or 0 if the layout
 * cannot be kept.
 */
uint64_t stack_fingerprint_learn(struct stack_fingerprint *words, uint64_t frame,
				 const uint16_t *offsets, uint32_t count);

/* Forgets all layouts: code was unmapped, so words may have another meaning. */
void stack_fingerprint_forget(struct stack_fingerprint *words);

void stack_fingerprint_release(struct stack_fingerprint *words);

#endif
