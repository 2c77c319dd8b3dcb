// SPDX-License-Identifier: MIT
#include "cupti_trace/unwind/stack_fingerprint.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "cupti_trace/core/hot_path.h"
#include "cupti_trace/core/readable.h"
#include "symbolize/util/hash.h"

/*
 * Words for layouts; a stack of 40 frames takes 12 to 24. A layout's place has to fit into 16 bits.
 */
#define FIRST_SIZE 512u
#define MOST_SIZE 8192u        /* guess_at takes 13 bits of its hash */
#define MOST_BYTES (16u << 20) /* limit for all threads */

/*
 * Places of the layouts that followed, the likelier first. Contexts may share one by chance, and
 * either layout may follow one.
 */
#define GUESS_PLACES 2
struct guess {
	uint16_t places[GUESS_PLACES]; /* 0: none */
};
#define CONTEXTS 2 /* contexts of one launch: guess_at */

/* As many guesses as words. Fewer keys: a layout takes several words. */
#define GUESSES(size) (size)
#define KEYS(size) ((size) / 8)
#define KEY_PROBES 8
#define TABLE_WORDS(size) ((GUESSES(size) * GUESS_PLACES + KEYS(size)) / 4)

/*
 * A step of a layout to another page. `passed` has the hashes of all words before it, for this
 * layout's last stacks that were walked or recognized. With these words a walk would lead there.
 */
#define GATE_STACKS 5
struct gate {
	uint16_t next;                /* the first word on that page */
	uint16_t count;               /* words up to the next gate, a multiple of AT_ONCE */
	uint32_t passed[GATE_STACKS]; /* 0: most likely none */
};

#define PAGE 4096u
/* Words that are hashed side by side. Before a gate, and at the end, the last one is repeated. */
#define AT_ONCE 4u
struct layout {
	uint64_t frame;    /* 0: none, as in place 0 */
	uint64_t key;      /* hash of frame, count and offsets */
	uint16_t count;    /* number of offsets */
	uint16_t first;    /* offsets up to the first gate */
	uint32_t gates;    /* number of gates, which follow the offsets */
	const void *found; /* the caller's record for such a stack; last */
	uint16_t offsets[];
};
#define HEAD_WORDS (sizeof(struct layout) / 8)

static _Atomic size_t bytes_in_use;

static struct guess *guesses_of(const struct stack_fingerprint *w)
{
	return (struct guess *)(w->memory + w->size);
}

static uint16_t *keys_of(const struct stack_fingerprint *w)
{
	return (uint16_t *)(guesses_of(w) + GUESSES(w->size));
}

static size_t bytes_of(uint32_t size)
{
	return (size + TABLE_WORDS(size)) * sizeof(uint64_t);
}

static struct layout *layout_at(const struct stack_fingerprint *w, uint32_t place)
{
	return (struct layout *)(w->memory + place);
}

typedef uint64_t __attribute__((may_alias)) stack_word;

static uint64_t address_of(uint64_t frame, uint16_t offset)
{
	return frame + offset * (uint64_t)STACK_FINGERPRINT_UNIT;
}

/* After a wrong guess the words may be anything on the thread's stack. */
#define READS_ANY_STACK __attribute__((no_sanitize_address))

READS_ANY_STACK static uint64_t word_at(uint64_t frame, uint16_t offset)
{
	return *(const stack_word *)(uintptr_t)address_of(frame, offset);
}

/*
 * Hashes a word. Cheaper than hash_step and as good for addresses: the hash is a polynomial of the
 * words in the secret, odd multiplier. So a difference in one word is never lost. In a repeated
 * word only its highest bit is. Differences in two words cancel with a small probability. If
 * neither word differs in its n lowest bits, the hash loses that many of its 64 bits.
 */
READS_ANY_STACK static HOT_PATH_INLINE uint64_t step(uint64_t hash, uint64_t seed, uint64_t frame,
						     uint16_t offset)
{
	return (hash + word_at(frame, offset)) * seed;
}

/*
 * Joins four such hashes. Words at one step of two hashes have equal powers of the multiplier. So
 * the weights are secret, too: no known differences cancel. The highest bits depend on all words.
 */
static HOT_PATH_INLINE uint64_t join(uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
	const uint64_t *weights = hash_seed.weights;

	return a * weights[0] + b * weights[1] + c * weights[2] + d;
}

static struct gate *gates_of(struct layout *l)
{
	return (struct gate *)(l->offsets + l->count);
}

/* Notes the hash of a stack that a walk has led through the gate. */
static void note_passed(struct gate *gate, uint32_t hash)
{
	uint32_t i = 0;

	while (i < GATE_STACKS - 1 && gate->passed[i] != hash)
		i++;
	for (; i > 0; i--)
		gate->passed[i] = gate->passed[i - 1];
	gate->passed[0] = hash;
}

/* Returns whether a stack other than the gate's first one may pass. */
static bool may_pass(struct gate *gate, uint64_t frame, uint32_t hash, bool *is_new)
{
	for (uint32_t i = 1; i < GATE_STACKS; i++)
		if (gate->passed[i] == hash) {
			gate->passed[i] = gate->passed[0];
			gate->passed[0] = hash;
			return true;
		}
	*is_new = true;
	return is_readable(address_of(frame, gate->next));
}

/* Modes of reading words. */
enum reading {
	READ_QUICKLY,  /* while each gate's stack is its last one; otherwise by gates */
	READ_BY_GATES, /* sets *is_new if the kernel was asked */
	READ_KNOWN,    /* the words are those of a walk, which is noted */
};
static uint64_t hash_by_gates(struct layout *l, bool *is_new);

/*
 * Computes four hashes side by side, as each step waits for the one before. Returns 0 if a page
 * cannot be read. Always inlined with a constant `reading`.
 */
READS_ANY_STACK static inline __attribute__((always_inline)) uint64_t
hash_words(struct layout *l, enum reading reading, bool *is_new)
{
	uint64_t frame = l->frame, seed = hash_seed.second, a = l->key, b = ~a,
		 c = a << 32 | a >> 32, d = ~c;
	struct gate *gate = gates_of(l), *last = gate + l->gates;
	const uint16_t *at = l->offsets, *end = at + l->first;

	for (;; gate++) {
		uint32_t hash;

		do {
			a = step(a, seed, frame, at[0]);
			b = step(b, seed, frame, at[1]);
			c = step(c, seed, frame, at[2]);
			d = step(d, seed, frame, at[3]);
			at += AT_ONCE;
		} while (at != end);
		if (gate == last)
			break;
		end = at + gate->count;
		hash = (uint32_t)(join(a, b, c, d) >> 32);
		if (reading == READ_KNOWN)
			note_passed(gate, hash);
		else if (likely(hash == gate->passed[0]))
			continue;
		else if (reading == READ_QUICKLY)
			return hash_by_gates(l, is_new);
		else if (!may_pass(gate, frame, hash, is_new))
			return 0;
	}
	a = join(a, b, c, d);
	return a ? a : 1;
}

/* Hashes by gates. A separate function, so that quick reading needs only registers. */
READS_ANY_STACK static __attribute__((noinline)) uint64_t hash_by_gates(struct layout *l,
									bool *is_new)
{
	return hash_words(l, READ_BY_GATES, is_new);
}

READS_ANY_STACK static __attribute__((noinline)) uint64_t hash_known(struct layout *l)
{
	return hash_words(l, READ_KNOWN, NULL);
}

/* Adds a place to the last three. The lowest 16 bits are free for the next one. */
static uint64_t note(uint64_t history, uint32_t place)
{
	return (history | place) << 16;
}

static uint32_t last_noted(uint64_t history)
{
	return history >> 16 & UINT16_MAX;
}

/* Returns the guess of a layout: by the last launches (0), or by the frame alone (1). */
static struct guess *guess_at(const struct stack_fingerprint *words, uint64_t frame,
			      uint32_t context)
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

/* Returns the place of a guess by its number, counted from 0 without repeats; 0: there is none. */
static __attribute__((noinline)) uint32_t find_place(const struct stack_fingerprint *words,
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

static HOT_PATH_INLINE uint64_t guess_place(struct stack_fingerprint *words, uint32_t place)
{
	struct layout *l = layout_at(words, place);

	__builtin_prefetch(l->found);
	words->found = &l->found;
	words->history = note(words->before, place);
	return hash_words(l, READ_QUICKLY, &words->is_new);
}

__attribute__((noinline)) void stack_fingerprint_note_new(struct stack_fingerprint *words)
{
	words->is_new = false;
	hash_known(layout_at(words, last_noted(words->history)));
}

/* Guesses by the frame, if the likeliest layout is of another frame. */
READS_ANY_STACK static __attribute__((noinline)) uint64_t
guess_by_frame(struct stack_fingerprint *words, uint64_t frame)
{
	uint32_t place = find_place(words, frame, 0);

	if (!place)
		return 0;
	put_first(guess_at(words, frame, 0), place);
	return guess_place(words, place);
}

READS_ANY_STACK HOT_PATH uint64_t stack_fingerprint_guess(struct stack_fingerprint *words,
							  uint64_t frame)
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

READS_ANY_STACK uint64_t stack_fingerprint_guess_again(struct stack_fingerprint *words,
						       uint64_t frame, uint32_t wrong)
{
	uint32_t place = words->memory ? find_place(words, frame, wrong) : 0;

	return place ? guess_place(words, place) : 0;
}

void stack_fingerprint_guessed(struct stack_fingerprint *words, uint64_t frame)
{
	for (uint32_t i = 0; i < CONTEXTS; i++)
		put_first(guess_at(words, frame, i), last_noted(words->history));
}

/* Makes room by forgetting everything. Returns false when out of memory. */
static bool grow(struct stack_fingerprint *words)
{
	uint32_t size = words->memory ? words->size * 4 : FIRST_SIZE;
	uint64_t *memory = NULL;

	if (size > MOST_SIZE) {
		stack_fingerprint_forget(words);
		return true;
	}
	if (atomic_fetch_add(&bytes_in_use, bytes_of(size)) + bytes_of(size) <= MOST_BYTES)
		memory = calloc(1, bytes_of(size));
	if (!memory) {
		atomic_fetch_sub(&bytes_in_use, bytes_of(size));
		stack_fingerprint_forget(words);
		return words->memory;
	}
	stack_fingerprint_release(words);
	words->memory = memory;
	words->size = size;
	words->used = HEAD_WORDS;
	return true;
}

void stack_fingerprint_forget(struct stack_fingerprint *words)
{
	if (!words->memory)
		return;
	memset(words->memory, 0, bytes_of(words->size));
	words->used = HEAD_WORDS;
	words->history = words->before = 0;
	words->found = NULL;
	words->is_new = false;
}

void stack_fingerprint_release(struct stack_fingerprint *words)
{
	if (words->memory)
		atomic_fetch_sub(&bytes_in_use, bytes_of(words->size));
	free(words->memory);
	memset(words, 0, sizeof(*words));
}

/* Finds the slot with the place of the layout that has this key: one of KEY_PROBES. */
static uint16_t *key_slot(const struct stack_fingerprint *words, uint64_t key)
{
	uint16_t *keys = keys_of(words), *slot = NULL;

	for (uint32_t i = 0; i < KEY_PROBES; i++) {
		slot = &keys[(key + i) % KEYS(words->size)];
		if (*slot == 0 || layout_at(words, *slot)->key == key)
			break;
	}
	return slot; /* all taken: replace the last; its layout may then be kept twice */
}

struct extent {
	uint32_t words, gates;
	uint32_t part; /* words before the last gate */
};

/* Ends a part of the words, at a gate or at the last word. */
static void end_part(struct layout *l, struct extent *e)
{
	for (; e->words % AT_ONCE; e->words++)
		if (l)
			l->offsets[e->words] = l->offsets[e->words - 1];
	if (l && e->gates == 0)
		l->first = (uint16_t)e->words;
	else if (l)
		gates_of(l)[e->gates - 1].count = (uint16_t)(e->words - e->part);
	e->part = e->words;
}

/*
 * Returns how many words and gates a layout has, and stores them if `l` is not NULL. Words lie
 * further and further up, except for an rbp just below the return address of its frame. Any walk
 * reaches the first one.
 */
static struct extent lay_out(uint64_t frame, const uint16_t *offsets, uint32_t count,
			     struct layout *l)
{
	uint64_t highest = frame / PAGE, below = highest; /* pages of the last two words */
	struct extent e = {0};

	for (uint32_t i = 0; i < count; i++) {
		uint64_t page = address_of(frame, offsets[i]) / PAGE;
		bool is_new = page > highest || (page < highest && page > below);

		if (is_new) {
			below = page > highest ? highest : page;
			highest = page > highest ? page : highest;
		}
		if (is_new && i > 0) {
			end_part(l, &e);
			if (l)
				gates_of(l)[e.gates] = (struct gate){.next = offsets[i]};
			e.gates++;
		}
		if (l)
			l->offsets[e.words] = offsets[i];
		e.words++;
	}
	end_part(l, &e);
	return e;
}

/* Returns the place of a layout, adding it if needed; 0: it cannot be kept. */
static uint32_t place_of(struct stack_fingerprint *words, uint64_t frame, uint64_t key,
			 const uint16_t *offsets, uint32_t count)
{
	uint32_t place, needed;
	struct extent e;
	struct layout *l;

	if (words->memory) {
		place = *key_slot(words, key);
		if (place && layout_at(words, place)->key == key)
			return place;
	}
	e = lay_out(frame, offsets, count, NULL);
	needed = HEAD_WORDS + e.words * sizeof(*offsets) / sizeof(uint64_t) +
		 e.gates * sizeof(struct gate) / sizeof(uint64_t);
	if ((!words->memory || words->used + needed > words->size) && !grow(words))
		return 0;
	if (words->used + needed > words->size)
		return 0;
	place = words->used;
	words->used += needed;
	l = layout_at(words, place);
	*l = (struct layout){
		.frame = frame, .key = key, .count = (uint16_t)e.words, .gates = e.gates};
	lay_out(frame, offsets, count, l);
	*key_slot(words, key) = (uint16_t)place;
	return place;
}

uint64_t stack_fingerprint_learn(struct stack_fingerprint *words, uint64_t frame,
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
	return hash_known(l);
}
