// SPDX-License-Identifier: MIT
#include "profiler/findings/step_sequence.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "symbolize/util/array.h"
#include "symbolize/util/hash.h"

/* tokens up to the number of launches and this many are their own numbers */
#define SPARE_NUMBERS 65536u
#define FIRST_SLOTS 1024u
#define SEARCHED 64u                 /* launches, of other processes, before and after one */
#define NUMBERED (UINT32_C(1) << 31) /* the state is a number, not a count */

/* ---- numbers of tokens ---- */

/* Returns the slot of a token, or the free slot for it. */
static uint32_t *slot_of(const struct step_numbers *n, uint32_t token)
{
	uint32_t mask = n->slot_count - 1, i = hash_number(token) & mask;

	while (n->slots[i] && n->keys[n->slots[i] - 1] != token)
		i = (i + 1) & mask;
	return &n->slots[i];
}

static bool grow_slots(struct step_numbers *n)
{
	uint32_t slot_count = n->slot_count ? n->slot_count * 2 : FIRST_SLOTS;

	free(n->slots);
	n->slots = slot_count ? calloc(slot_count, sizeof(*n->slots)) : NULL;
	if (!n->slots)
		return false;
	n->slot_count = slot_count;
	for (uint32_t i = 0; i < n->count; i++)
		*slot_of(n, n->keys[i]) = i + 1;
	return true;
}

static bool add_number(struct step_numbers *n, uint32_t token)
{
	uint32_t *slot;

	/* three of four slots are used at most */
	if (n->count >= n->slot_count / 4 * 3 && !grow_slots(n))
		return false;
	slot = slot_of(n, token);
	if (*slot)
		return true;
	if (!array_make_room(&n->keys, n->count, &n->capacity, sizeof(*n->keys)))
		return false;
	n->keys[n->count++] = token;
	*slot = n->count;
	return true;
}

static uint32_t kind_of(const struct step_numbers *n, uint32_t token)
{
	return n->kinds ? n->kinds[token] : token;
}

int step_numbers_init(struct step_numbers *numbers, const struct step_launch *launches,
		      uint32_t count)
{
	uint32_t most = 0;

	*numbers = (struct step_numbers){.kinds = numbers->kinds};
	for (uint32_t i = 0; i < count; i++) {
		uint32_t kind = kind_of(numbers, launches[i].token);

		most = kind > most ? kind : most;
	}
	if (most < (uint64_t)count + SPARE_NUMBERS)
		numbers->count = most + 1;
	for (uint32_t i = 0; most >= (uint64_t)count + SPARE_NUMBERS && i < count; i++)
		if (!add_number(numbers, kind_of(numbers, launches[i].token)))
			return -ENOMEM;
	numbers->state = calloc((size_t)numbers->count + 1, sizeof(*numbers->state));
	return numbers->state ? 0 : -ENOMEM;
}

void step_numbers_release(struct step_numbers *numbers)
{
	free(numbers->slots);
	free(numbers->keys);
	free(numbers->state);
	memset(numbers, 0, sizeof(*numbers));
}

static uint32_t number_of(const struct step_numbers *n, uint32_t token)
{
	uint32_t kind = kind_of(n, token);

	return n->slots ? *slot_of(n, kind) - 1 : kind;
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

		numbers->state[number_of(numbers, s->launches[step_launch_at(s, at)].token)] = 0;
	}
}

/* Lists the positions of each token, by counting. */
static bool list_positions(struct step_sequence *s)
{
	s->offsets = calloc((size_t)s->token_count + 2, sizeof(*s->offsets));
	s->positions = malloc(((size_t)s->count + 1) * sizeof(*s->positions));
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
	s->tokens = malloc(((size_t)s->count + 1) * sizeof(*s->tokens));
	if (!s->tokens)
		return -ENOMEM;
	for (uint32_t i = 0; i < s->count; i++) {
		s->tokens[i] = number_of(numbers, s->launches[step_launch_at(s, i)].token);
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
