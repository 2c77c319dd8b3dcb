// SPDX-License-Identifier: MIT
#include "profiler/findings/step_sequence.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "symbolize/util/hash.h"
#include "symbolize/util/huge_memory.h"

/* tokens up to the number of launches and this many are their own numbers */
#define SPARE_NUMBERS 65536u
#define FIRST_SLOTS 1024u
#define SEARCHED 64u                 /* launches, of other processes, before and after one */
#define NUMBERED (UINT32_C(1) << 31) /* the state is a number, not a count */

/* ---- numbers of tokens ---- */

/* A hash table of kinds: the kind in the upper half of a slot, its number + 1 in the lower. */
struct kind_table {
	uint64_t *slots;
	uint32_t slot_count, count;
};

static uint64_t *new_slots(uint32_t count)
{
	uint64_t *slots = count ? huge_memory(count * sizeof(*slots)) : NULL;

	if (slots)
		memset(slots, 0, count * sizeof(*slots));
	return slots;
}

/* Returns the slot of a kind, or the free slot for it. */
static uint64_t *slot_of(uint64_t *slots, uint32_t slot_count, uint32_t kind)
{
	uint32_t mask = slot_count - 1, i = hash_number(kind) & mask;

	while (slots[i] && slots[i] >> 32 != kind)
		i = (i + 1) & mask;
	return &slots[i];
}

static bool grow_slots(struct kind_table *t)
{
	uint32_t slot_count = t->slot_count ? t->slot_count * 2 : FIRST_SLOTS;
	uint64_t *slots = new_slots(slot_count);

	if (!slots)
		return false;
	for (uint32_t i = 0; i < t->slot_count; i++)
		if (t->slots[i])
			*slot_of(slots, slot_count, t->slots[i] >> 32) = t->slots[i];
	free(t->slots);
	t->slots = slots;
	t->slot_count = slot_count;
	return true;
}

static uint32_t kind_of(const struct step_numbers *n, uint32_t token)
{
	return n->kinds ? n->kinds[token] : token;
}

/* Numbers the kinds in the order of their first launches. Returns false when out of memory. */
static bool number_kinds(struct step_numbers *n, struct kind_table *t,
			 const struct step_launch *launches, uint32_t count)
{
	n->numbers = huge_memory(((size_t)count + 1) * sizeof(*n->numbers));
	if (!n->numbers)
		return false;
	for (uint32_t i = 0; i < count; i++) {
		uint32_t kind = kind_of(n, launches[i].token);
		uint64_t *slot;

		/* three of four slots are used at most */
		if (t->count >= t->slot_count / 4 * 3 && !grow_slots(t))
			return false;
		slot = slot_of(t->slots, t->slot_count, kind);
		if (!*slot)
			*slot = (uint64_t)kind << 32 | ++t->count;
		n->numbers[i] = (uint32_t)*slot - 1;
	}
	n->count = t->count;
	return true;
}

int step_numbers_init(struct step_numbers *numbers, const struct step_launch *launches,
		      uint32_t count)
{
	struct kind_table table = {0};
	uint32_t most = 0;

	*numbers = (struct step_numbers){.kinds = numbers->kinds};
	for (uint32_t i = 0; i < count; i++) {
		uint32_t kind = kind_of(numbers, launches[i].token);

		most = kind > most ? kind : most;
	}
	if (most < (uint64_t)count + SPARE_NUMBERS) {
		numbers->count = most + 1;
	} else {
		bool is_numbered = number_kinds(numbers, &table, launches, count);

		free(table.slots);
		if (!is_numbered)
			return -ENOMEM;
	}
	numbers->state = calloc((size_t)numbers->count + 1, sizeof(*numbers->state));
	return numbers->state ? 0 : -ENOMEM;
}

void step_numbers_release(struct step_numbers *numbers)
{
	free(numbers->numbers);
	free(numbers->state);
	memset(numbers, 0, sizeof(*numbers));
}

/* Returns the number of the token at a position. */
static uint32_t number_at(const struct step_numbers *n, const struct step_sequence *s,
			  uint32_t position)
{
	uint32_t launch = step_launch_at(s, position);

	return n->numbers ? n->numbers[launch] : kind_of(n, s->launches[launch].token);
}

/* ---- sequences ---- */

/*
 * Replaces the numbers of the run by those of the sequence. Each state is a count of the launches
 * that follow, or the new number. Rare tokens leave a state of 0.
 */
static uint32_t renumber(struct step_sequence *s, uint32_t *state)
{
	uint32_t token_count = STEP_RARE + 1;

	for (uint32_t i = 0; i < s->count; i++) {
		uint32_t *at = &state[s->tokens[i]];

		if (!(*at & NUMBERED) && *at >= STEP_TOKEN_MIN)
			*at = NUMBERED | token_count++;
		else if (!(*at & NUMBERED) && *at > 0) {
			/* the count of a rare token is kept below the minimum */
			(*at)--;
			s->tokens[i] = STEP_RARE;
			continue;
		}
		s->tokens[i] = *at & ~NUMBERED;
	}
	return token_count;
}

/* Clears the states of tokens that are not rare. */
static void clear_states(const struct step_sequence *s, const struct step_numbers *numbers)
{
	for (uint32_t token = STEP_RARE + 1; token < s->token_count; token++) {
		uint32_t at = s->positions[s->offsets[token]];

		numbers->state[number_at(numbers, s, at)] = 0;
	}
}

/* Lists the positions of each token, by counting. */
static bool list_positions(struct step_sequence *s)
{
	s->offsets = calloc((size_t)s->token_count + 2, sizeof(*s->offsets));
	s->positions = huge_memory(((size_t)s->count + 1) * sizeof(*s->positions));
	if (!s->offsets || !s->positions)
		return false;
	/* offsets + 1 has the ends while positions are entered */
	for (uint32_t i = 0; i < s->count; i++)
		s->offsets[s->tokens[i] + 2]++;
	for (uint32_t token = 2; token <= s->token_count; token++)
		s->offsets[token] += s->offsets[token - 1];
	for (uint32_t i = 0; i < s->count; i++)
		s->positions[s->offsets[s->tokens[i] + 1]++] = i;
	return true;
}

int step_sequence_init(struct step_sequence *sequence, struct step_numbers *numbers)
{
	struct step_sequence *s = sequence;

	s->offsets = s->positions = NULL;
	s->tokens = huge_memory(((size_t)s->count + 1) * sizeof(*s->tokens));
	if (!s->tokens)
		return -ENOMEM;
	for (uint32_t i = 0; i < s->count; i++) {
		s->tokens[i] = number_at(numbers, s, i);
		numbers->state[s->tokens[i]]++;
	}
	s->token_count = renumber(s, numbers->state);
	if (!list_positions(s))
		return -ENOMEM; /* the numbers are of no use any more */
	clear_states(s, numbers);
	return 0;
}

void step_sequence_release(struct step_sequence *sequence)
{
	free(sequence->tokens);
	free(sequence->offsets);
	free(sequence->positions);
	sequence->tokens = sequence->offsets = sequence->positions = NULL;
}

static bool is_of_process(const struct step_sequence *s, uint32_t launch, uint32_t process)
{
	uint32_t thread = s->launches[launch].thread;

	return thread < s->thread_count && s->process_of[thread] == process;
}

/* Returns the launch of the process before a launch, or STEP_NONE if there is none nearby. */
static uint32_t launch_before(const struct step_sequence *s, uint32_t launch)
{
	uint32_t process = s->process_of[s->launches[launch].thread];

	for (uint32_t i = 1; i <= SEARCHED && i <= launch; i++)
		if (is_of_process(s, launch - i, process))
			return launch - i;
	return STEP_NONE;
}

uint64_t step_pause_before(const struct step_sequence *sequence, uint32_t position)
{
	uint32_t launch = step_launch_at(sequence, position);
	uint32_t before = launch_before(sequence, launch);

	if (position == 0)
		return 0;
	if (before == STEP_NONE)
		before = step_launch_at(sequence, position - 1);
	if (sequence->launches[launch].start_ns < sequence->launches[before].start_ns)
		return 0;
	return sequence->launches[launch].start_ns - sequence->launches[before].start_ns;
}

bool step_has_other_before(const struct step_sequence *sequence, uint32_t position)
{
	uint32_t launch = step_launch_at(sequence, position);
	uint32_t before = launch_before(sequence, launch);

	return before != STEP_NONE &&
	       sequence->launches[before].thread != sequence->launches[launch].thread;
}

bool step_has_other_after(const struct step_sequence *sequence, uint32_t position)
{
	const struct step_launch *launches = sequence->launches;
	uint32_t launch = step_launch_at(sequence, position), thread = launches[launch].thread;

	for (uint32_t i = 1; i <= SEARCHED && i < sequence->launch_count - launch; i++)
		if (launches[launch + i].thread != thread &&
		    is_of_process(sequence, launch + i, sequence->process_of[thread]))
			return true;
	return false;
}
