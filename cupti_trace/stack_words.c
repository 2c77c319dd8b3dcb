// SPDX-License-Identifier: MIT
#include "cupti_trace/stack_words.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "cupti_trace/at_launch.h"
#include "cupti_trace/readable.h"
#include "symbolize/hash.h"

/* Words for layouts; a stack of 40 frames takes 12 to 24. A layout's place has to fit into 16 bits.
 */
#define FIRST_SIZE 512u
#define MOST_SIZE 8192u        /* guess_at takes 13 bits of its hash */
#define MOST_BYTES (16u << 20) /* of all threads */

/*
 * Places of the layouts that followed, the likelier first. Contexts may share one by chance, and
 * one may be followed by either.
 */
#define GUESS_PLACES 2
struct guess {
	uint16_t places[GUESS_PLACES]; /* 0: none */
};
#define CONTEXTS 2 /* that a launch has: guess_at */

/* As many guesses as words. Fewer keys: a layout takes several words. */
#define GUESSES(size) (size)
#define KEYS(size) ((size) / 8)
#define KEY_PROBES 8
#define TABLE_WORDS(size) ((GUESSES(size) * GUESS_PLACES + KEYS(size)) / 4)

/* Where a layout leads to another page, which could be read for the last few stacks that had it. */
#define GATE_STACKS 5
struct gate {
	uint16_t at, next;            /* the last word before; the first one there */
	uint32_t values[GATE_STACKS]; /* the lower half of the former, in each stack */
};

#define PAGE 4096u
#define AT_ONCE 8u /* words that are hashed side by side */
struct layout {
	uint64_t frame;    /* 0: none. At place 0 there is none */
	uint64_t key;      /* of frame, count and offsets */
	uint32_t count;    /* a multiple of AT_ONCE: the last offset may be there again */
	uint16_t gates;    /* behind the offsets */
	uint16_t stacks;   /* that the gates have values of */
	const void *found; /* where the caller found what belongs to such a stack, last */
	uint16_t offsets[];
};
#define HEAD_WORDS (sizeof(struct layout) / 8)

static _Atomic size_t bytes_in_use;

static struct guess *guesses_of(const struct stack_words *w)
{
	return (struct guess *)(w->memory + w->size);
}

static uint16_t *keys_of(const struct stack_words *w)
{
	return (uint16_t *)(guesses_of(w) + GUESSES(w->size));
}

static size_t bytes_of(uint32_t size)
{
	return (size + TABLE_WORDS(size)) * sizeof(uint64_t);
}

static struct layout *layout_at(const struct stack_words *w, uint32_t place)
{
	return (struct layout *)(w->memory + place);
}

typedef uint64_t __attribute__((may_alias)) stack_word;

static uint64_t address_of(uint64_t frame, uint16_t offset)
{
	return frame + offset * (uint64_t)STACK_WORDS_UNIT;
}

/* With a wrong guess the words may be anything of the thread's stack. */
#define READS_ANY_STACK __attribute__((no_sanitize_address))

READS_ANY_STACK static uint64_t word_at(uint64_t frame, uint16_t offset)
{
	return *(const stack_word *)(uintptr_t)address_of(frame, offset);
}

/*
 * A word takes a step, which is cheaper than hash_step and as good for addresses. The product is
 * turned because a multiplication carries differences upwards only. So differences may cancel each
 * other in bits that no address has: 63 of one word, and 31 of the next in the same hash.
 */
READS_ANY_STACK static WITHIN_LAUNCH uint64_t step(uint64_t hash, uint64_t frame, uint16_t offset)
{
	hash = (hash ^ word_at(frame, offset)) * hash_seed.second;
	return hash << 32 | hash >> 32;
}

/*
 * Four hashes side by side: each step waits for the one before. What differs alike in two of them
 * does not cancel, for in the end they are multiplied with each other.
 */
READS_ANY_STACK static WITHIN_LAUNCH uint64_t hash_of(const struct layout *l)
{
	uint64_t frame = l->frame, a = l->key, b = ~a, c = a << 32 | a >> 32, d = ~c;
	const uint16_t *at = l->offsets, *end = at + l->count;

	do {
		a = step(step(a, frame, at[0]), frame, at[4]);
		b = step(step(b, frame, at[1]), frame, at[5]);
		c = step(step(c, frame, at[2]), frame, at[6]);
		d = step(step(d, frame, at[3]), frame, at[7]);
		at += AT_ONCE;
	} while (at < end);
	a = hash_step(hash_step(a, 0, b), c, d);
	return a ? a : 1;
}

static struct gate *gates_of(struct layout *l)
{
	return (struct gate *)(l->offsets + l->count);
}

/* Whether the words before each other page are those of a stack for which it could be read. */
READS_ANY_STACK static WITHIN_LAUNCH bool is_open(struct layout *l, uint32_t stack)
{
	const struct gate *gate = gates_of(l), *end = gate + l->gates;

	for (; gate < end; gate++)
		if (unlikely((uint32_t)word_at(l->frame, gate->at) != gate->values[stack]))
			return false;
	return true;
}

/* The last three places. The lowest 16 bits are free for the next one. */
static uint64_t note(uint64_t history, uint32_t place)
{
	return (history | place) << 16;
}

static uint32_t last_noted(uint64_t history)
{
	return history >> 16 & UINT16_MAX;
}

/* Where a layout is guessed from: the last launches' (0), or the frame alone (1). */
static struct guess *guess_at(const struct stack_words *words, uint64_t frame, uint32_t context)
{
	uint64_t what = context == 0 ? words->before ^ frame : ~frame;

	return &guesses_of(words)[(what * 0x9e3779b97f4a7c15u >> 51) & (GUESSES(words->size) - 1)];
}

static void put_first(struct guess *guess, uint32_t place)
{
	if (guess->places[0] == place)
		return;
	guess->places[1] = guess->places[0];
	guess->places[0] = (uint16_t)place;
}

/* The place of the guess with this number, counted from 0 and without repeats; 0: there is none. */
static __attribute__((noinline)) uint32_t find_place(const struct stack_words *words,
						     uint64_t frame, uint32_t number)
{
	uint32_t seen[CONTEXTS * GUESS_PLACES], count = 0;

	for (uint32_t i = 0; i < CONTEXTS * GUESS_PLACES; i++) {
		uint32_t at = 0;

		seen[count] = guess_at(words, frame, i / GUESS_PLACES)->places[i % GUESS_PLACES];
		while (seen[at] != seen[count])
			at++;
		if (at < count || layout_at(words, seen[count])->frame != frame)
			continue;
		if (count == number)
			return seen[count];
		count++;
	}
	return 0;
}

/* Which of the gates' stacks this is; as many as there are: none. */
READS_ANY_STACK static uint32_t find_stack(struct layout *l)
{
	uint32_t stack = 0;

	while (stack < l->stacks && !is_open(l, stack))
		stack++;
	return stack;
}

/* This one, by its place, comes first; the others move on. If it is new, the last gives way. */
READS_ANY_STACK static void put_stack_first(struct layout *l, uint32_t place)
{
	struct gate *gate = gates_of(l), *end = gate + l->gates;

	if (place == GATE_STACKS)
		place--;
	if (place == l->stacks)
		l->stacks++;
	for (; gate < end; gate++) {
		for (uint32_t i = place; i > 0; i--)
			gate->values[i] = gate->values[i - 1];
		gate->values[0] = (uint32_t)word_at(l->frame, gate->at);
	}
}

/* Where another stack is there: 0 if a page cannot be read that the layout leads to. */
READS_ANY_STACK static __attribute__((noinline)) uint64_t hash_readable(struct layout *l)
{
	const struct gate *gate = gates_of(l), *end = gate + l->gates;
	uint32_t stack = find_stack(l);

	for (; stack == l->stacks && gate < end; gate++)
		if (!is_readable(address_of(l->frame, gate->next)))
			return 0;
	put_stack_first(l, stack);
	return hash_of(l);
}

static WITHIN_LAUNCH uint64_t guess_place(struct stack_words *words, uint32_t place)
{
	struct layout *l = layout_at(words, place);

	__builtin_prefetch(l->found);
	words->found = &l->found;
	words->history = note(words->before, place);
	return likely(is_open(l, 0)) ? hash_of(l) : hash_readable(l);
}

/* Where the likeliest layout is none of this frame. */
READS_ANY_STACK static __attribute__((noinline)) uint64_t guess_by_frame(struct stack_words *words,
									 uint64_t frame)
{
	uint32_t place = find_place(words, frame, 0);

	if (!place)
		return 0;
	put_first(guess_at(words, frame, 0), place);
	return guess_place(words, place);
}

READS_ANY_STACK AT_LAUNCH uint64_t stack_words_guess(struct stack_words *words, uint64_t frame)
{
	uint32_t place;

	words->before = words->history;
	if (unlikely(!words->memory))
		return 0;
	place = guess_at(words, frame, 0)->places[0];
	if (unlikely(layout_at(words, place)->frame != frame))
		return guess_by_frame(words, frame);
	return guess_place(words, place);
}

READS_ANY_STACK uint64_t stack_words_guess_again(struct stack_words *words, uint64_t frame,
						 uint32_t wrong)
{
	uint32_t place = words->memory ? find_place(words, frame, wrong) : 0;

	return place ? guess_place(words, place) : 0;
}

void stack_words_guessed(struct stack_words *words, uint64_t frame)
{
	for (uint32_t i = 0; i < CONTEXTS; i++)
		put_first(guess_at(words, frame, i), last_noted(words->history));
}

/* Makes room: all is forgotten. False where there is no memory. */
static bool grow(struct stack_words *words)
{
	uint32_t size = words->memory ? words->size * 4 : FIRST_SIZE;
	uint64_t *memory = NULL;

	if (size > MOST_SIZE) {
		stack_words_forget(words);
		return true;
	}
	if (atomic_fetch_add(&bytes_in_use, bytes_of(size)) + bytes_of(size) <= MOST_BYTES)
		memory = calloc(1, bytes_of(size));
	if (!memory) {
		atomic_fetch_sub(&bytes_in_use, bytes_of(size));
		stack_words_forget(words);
		return words->memory;
	}
	stack_words_release(words);
	words->memory = memory;
	words->size = size;
	words->used = HEAD_WORDS;
	return true;
}

void stack_words_forget(struct stack_words *words)
{
	if (!words->memory)
		return;
	memset(words->memory, 0, bytes_of(words->size));
	words->used = HEAD_WORDS;
	words->history = words->before = 0;
	words->found = NULL;
}

void stack_words_release(struct stack_words *words)
{
	if (words->memory)
		atomic_fetch_sub(&bytes_in_use, bytes_of(words->size));
	free(words->memory);
	memset(words, 0, sizeof(*words));
}

/* Where the place of the layout with this key is, or comes: of KEY_PROBES, none but these. */
static uint16_t *key_slot(const struct stack_words *words, uint64_t key)
{
	uint16_t *keys = keys_of(words), *slot = NULL;

	for (uint32_t i = 0; i < KEY_PROBES; i++) {
		slot = &keys[(key + i) % KEYS(words->size)];
		if (*slot == 0 || layout_at(words, *slot)->key == key)
			break;
	}
	return slot; /* all taken: the last gives way, and its layout may come to be kept twice */
}

/*
 * Puts the gates of a layout into `gates`, unless that is NULL, without values. Their number. Words
 * lie further and further up, but for rbp's just below the return address of its frame.
 */
static uint32_t find_gates(uint64_t frame, const uint16_t *offsets, uint32_t count,
			   struct gate *gates)
{
	uint64_t highest = frame / PAGE, below = highest; /* pages: the last two with words */
	uint32_t found = 0;
	uint16_t last = 0; /* the word furthest up so far; the caller's frame can be read */

	for (uint32_t i = 0; i < count; i++) {
		uint64_t page = address_of(frame, offsets[i]) / PAGE;

		if (page > highest || (page < highest && page > below)) {
			below = page > highest ? highest : page;
			highest = page > highest ? page : highest;
			if (gates)
				gates[found] = (struct gate){.at = last, .next = offsets[i]};
			found++;
		}
		if (offsets[i] > last)
			last = offsets[i];
	}
	return found;
}

/* The place of a layout, made if there is none; 0: it cannot be kept. */
static uint32_t place_of(struct stack_words *words, uint64_t frame, uint64_t key,
			 const uint16_t *offsets, uint32_t count)
{
	uint32_t padded = (count + AT_ONCE - 1) / AT_ONCE * AT_ONCE, place, gates, needed;
	struct layout *l;

	if (words->memory) {
		place = *key_slot(words, key);
		if (place && layout_at(words, place)->key == key)
			return place;
	}
	gates = find_gates(frame, offsets, count, NULL);
	needed = HEAD_WORDS + padded * sizeof(*offsets) / sizeof(uint64_t) +
		 gates * sizeof(struct gate) / sizeof(uint64_t);
	if ((!words->memory || words->used + needed > words->size) && !grow(words))
		return 0;
	if (words->used + needed > words->size)
		return 0;
	place = words->used;
	words->used += needed;
	l = layout_at(words, place);
	*l = (struct layout){.frame = frame, .key = key, .count = padded, .gates = (uint16_t)gates};
	memcpy(l->offsets, offsets, count * sizeof(*offsets));
	for (uint32_t i = count; i < l->count; i++)
		l->offsets[i] = offsets[count - 1];
	find_gates(frame, offsets, count, gates_of(l));
	*key_slot(words, key) = (uint16_t)place;
	return place;
}

READS_ANY_STACK uint64_t stack_words_learn(struct stack_words *words, uint64_t frame,
					   const uint16_t *offsets, uint32_t count)
{
	uint64_t key = hash_step(hash_seed.first, frame, count), word;
	struct layout *l;
	uint32_t place;

	for (uint32_t i = 0; i < count; i += 4) {
		uint32_t left = count - i;

		word = 0;
		memcpy(&word, offsets + i, (left < 4 ? left : 4) * sizeof(*offsets));
		key = hash_step(key, word, 0);
	}
	place = place_of(words, frame, key, offsets, count);
	if (!place)
		return 0;
	l = layout_at(words, place);
	for (uint32_t i = 0; i < CONTEXTS; i++)
		put_first(guess_at(words, frame, i), place);
	words->history = note(words->before, place);
	words->found = &l->found;
	put_stack_first(l, find_stack(l)); /* its pages have just been read */
	return hash_of(l);
}
