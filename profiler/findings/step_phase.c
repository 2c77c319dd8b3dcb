// SPDX-License-Identifier: MIT
#include "profiler/findings/step_phase.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "symbolize/util/sorted.h"
#include "symbolize/util/huge_memory.h"

#define OUTSIDE_MIN 8u /* launches before or after a loop: it was not cut */
#define SIGNS_MAX 4u
#define PAUSE_SAMPLES 15u    /* segments that tell of pauses */
#define SLOTS_MAX (1u << 18) /* slots of a cycle whose pauses are examined */
#define BLOCK_MIN 4u         /* launches of other work between steps */
#define SKIPPED_MIN 8u       /* launches of a step that may be left out in a row, and a quarter */
#define SKIPPED_MAX 1024u
#define WALK_MORE 1024u /* launches of other work that may be inside a step */

/* A sign that the body begins at a slot of the cycle. */
struct sign {
	uint32_t slot;
	double weight;
};

/* Rule that finds the first launch of a step in a segment. */
enum rule {
	RULE_ANCHOR, /* it is the anchor */
	RULE_FIRST,  /* by its token, which occurs as often in all segments */
	RULE_LAST,   /* by the token before it, which does */
	RULE_PAIR    /* by both */
};

struct phase {
	struct step_loop *loop;
	const struct step_sequence *sequence;
	uint32_t *cycle; /* the typical tokens of a typical segment: its slots */
	uint32_t length;
	uint32_t *seen_in;   /* by token: stamp of the walk that met it */
	uint32_t low, start; /* the walk back: how far, and the first launch of the loop */
	uint32_t start_slot, end_slot;
	uint32_t limit, end; /* the walk forward: how far, and the last launch of the loop */
	struct sign signs[SIGNS_MAX];
	uint32_t sign_count;
	uint32_t slot; /* the body begins here */
	double weight; /* sum of the signs for it */
	enum rule rule;
	uint32_t nth; /* use of the rule's token in a segment, from 1; RULE_FIRST: from its end */
};

static const struct step_token_use *use_at(const struct phase *p, uint32_t position)
{
	return &p->loop->uses[p->sequence->tokens[position]];
}

/* ---- the cycle ---- */

/* Returns a hash of the typical tokens in a segment. `length` receives their number. */
static uint64_t hash_segment(const struct phase *p, uint32_t segment, uint32_t *length)
{
	uint64_t hash = 0;

	*length = 0;
	for (uint32_t i = p->loop->anchors[segment]; i < p->loop->anchors[segment + 1]; i++) {
		if (!use_at(p, i)->is_typical)
			continue;
		hash = (hash ^ p->sequence->tokens[i]) * UINT64_C(0x9e3779b97f4a7c15);
		hash ^= hash >> 29;
		(*length)++;
	}
	return hash;
}

/*
 * Returns the segment that stands for all: the most frequent in the sample. If all differ, it is
 * the one whose length is nearest to the typical one.
 */
static uint32_t pick_segment(const struct phase *p, uint64_t *hash)
{
	uint32_t samples = step_loop_samples(p->loop), lengths[STEP_SAMPLES], best = 0, most = 0;
	uint64_t hashes[STEP_SAMPLES], nearest = UINT64_MAX;

	for (uint32_t i = 0; i < samples; i++)
		hashes[i] = hash_segment(p, step_loop_sample(p->loop, i), &lengths[i]);
	for (uint32_t i = 0; i < samples; i++) {
		uint32_t equal = 0;
		uint64_t apart = lengths[i] > p->loop->length ? lengths[i] - p->loop->length
							      : p->loop->length - lengths[i];

		for (uint32_t k = 0; k < samples; k++)
			equal += hashes[k] == hashes[i];
		if (equal < most || (equal == most && apart >= nearest))
			continue;
		most = equal;
		nearest = apart;
		best = i;
	}
	*hash = hashes[best];
	return step_loop_sample(p->loop, best);
}

/* Copies the typical tokens of the segment that stands for all. */
static bool make_cycle(struct phase *p, uint64_t *hash)
{
	uint32_t segment = pick_segment(p, hash), length = 0;

	hash_segment(p, segment, &length);
	if (length == 0)
		return false;
	p->cycle = malloc(length * sizeof(*p->cycle));
	if (!p->cycle)
		return false;
	for (uint32_t i = p->loop->anchors[segment]; i < p->loop->anchors[segment + 1]; i++)
		if (use_at(p, i)->is_typical)
			p->cycle[p->length++] = p->sequence->tokens[i];
	return true;
}

static uint32_t slot_before(const struct phase *p, uint32_t slot)
{
	return slot ? slot - 1 : p->length - 1;
}

/* ---- walks out of the loop ---- */

/* A walk over the launches of one step, back or forward, along the slots of the cycle. */
struct walk {
	uint32_t from;   /* the slot before which, or at which, the walk begins */
	uint32_t passed; /* slots */
	uint32_t slot;   /* slot of the latest launch of the step */
	bool is_back;
	bool met_again; /* typical launches since the latest one of the step */
};

static uint32_t walk_tolerance(const struct phase *p)
{
	return (p->length < SKIPPED_MAX ? p->length : SKIPPED_MAX) + WALK_MORE;
}

/* Returns the slot that the walk reaches after `passed` slots. */
static uint32_t walk_slot(const struct phase *p, const struct walk *w, uint32_t passed)
{
	uint64_t slot = w->is_back ? (uint64_t)w->from + p->length - 1 - passed
				   : (uint64_t)w->from + passed;

	return (uint32_t)(slot % p->length);
}

/*
 * Moves on to the next slot with a token. Returns false if much of the step would be left out. A
 * token that occurs in varying numbers may occur more often than in the cycle.
 */
static bool moves_on(const struct phase *p, struct walk *w, uint32_t token)
{
	uint32_t most = p->length / 4 > SKIPPED_MIN ? p->length / 4 : SKIPPED_MIN, skipped = 0;

	most = most < SKIPPED_MAX ? most : SKIPPED_MAX;
	for (uint32_t i = w->passed;
	     i < p->length && i - w->passed < 2 * SKIPPED_MAX && skipped <= most; i++) {
		uint32_t at = p->cycle[walk_slot(p, w, i)];

		if (at == token) {
			w->passed = i + 1;
			w->slot = walk_slot(p, w, i);
			return true;
		}
		skipped += p->loop->uses[at].is_stable;
	}
	return !p->loop->uses[token].is_stable;
}

/* Returns whether a launch belongs to the step: it is typical, and its turn has come. */
static bool is_fresh(struct phase *p, struct walk *w, uint32_t position)
{
	uint32_t token = p->sequence->tokens[position];
	struct step_token_use *use = &p->loop->uses[token];

	if (!use->is_typical)
		return false;
	if (use->stamp != p->loop->stamp) {
		use->stamp = p->loop->stamp;
		use->now = 0;
	}
	w->met_again = true;
	if (use->now >= (use->is_stable ? use->usual : use->most) || !moves_on(p, w, token))
		return false;
	use->now++;
	w->met_again = false;
	return true;
}

/* Returns how often the latest walk met a token. */
static uint32_t met_launches(const struct phase *p, uint32_t token)
{
	const struct step_token_use *use = &p->loop->uses[token];

	return use->stamp == p->loop->stamp ? use->now : 0;
}

static bool is_met(const struct phase *p, uint32_t token)
{
	return met_launches(p, token) > 0;
}

/*
 * Walks back from the first anchor, over one step at most. Sets `start` and `low`. Returns whether
 * only other work is before it.
 */
static bool walk_back(struct phase *p)
{
	uint32_t at = p->loop->anchors[p->loop->first], missed = 0;
	struct walk w = {.is_back = true};

	p->loop->stamp++;
	p->start = p->low = at;
	while (at > 0 && missed <= walk_tolerance(p)) {
		at--;
		missed++;
		if (is_fresh(p, &w, at)) {
			missed = 0;
			p->start = at;
		}
		p->low = at;
	}
	p->start_slot = w.slot;
	return !w.met_again;
}

/*
 * Walks forward from `from`, which is at a slot, over one step at most. Returns the position of its
 * last launch. `is_before_other` receives whether only other work follows.
 */
static uint32_t walk_forward(struct phase *p, uint32_t from, uint32_t slot, uint32_t limit,
			     bool *is_before_other)
{
	uint32_t missed = 0, end = from;
	struct walk w = {.from = slot};

	p->loop->stamp++;
	for (uint32_t at = from; at < limit && missed <= walk_tolerance(p); at++) {
		missed++;
		if (is_fresh(p, &w, at)) {
			missed = 0;
			end = at;
		}
	}
	p->end_slot = w.slot;
	*is_before_other = !w.met_again && limit == p->sequence->count;
	return end;
}

/* ---- signs ---- */

static void add_sign(struct phase *p, uint32_t slot, double weight)
{
	p->signs[p->sign_count++] = (struct sign){slot % p->length, weight};
}

/*
 * Returns the slot of the loop's first launch. The walk back has just been made. A token of varying
 * number has the earliest slot after which there are only tokens that were met.
 */
static uint32_t slot_of_start(const struct phase *p)
{
	uint32_t token = p->sequence->tokens[p->start], slot = p->length, found = slot;

	if (p->start == p->loop->anchors[p->loop->first])
		return 0;
	if (p->loop->uses[token].is_stable)
		return p->start_slot;
	for (; slot > 0 && is_met(p, p->cycle[slot - 1]); slot--)
		if (p->cycle[slot - 1] == token)
			found = slot - 1;
	return found;
}

/* Returns the slot after the loop's last launch. The walk forward has just been made. */
static uint32_t slot_after_end(const struct phase *p)
{
	uint32_t token = p->sequence->tokens[p->end], found = 0;

	if (p->loop->uses[token].is_stable)
		return p->end_slot + 1;
	for (uint32_t slot = 0; slot < p->length && is_met(p, p->cycle[slot]); slot++)
		if (p->cycle[slot] == token)
			found = slot + 1;
	return found;
}

static void add_sign_of_start(struct phase *p)
{
	bool is_after_other = walk_back(p) && p->start >= OUTSIDE_MIN;

	add_sign(p, slot_of_start(p),
		 is_after_other                          ? 3
		 : step_has_other_before(p->sequence, 0) ? 1
							 : 2.2);
}

static void add_sign_of_end(struct phase *p)
{
	uint32_t count = p->sequence->count;
	bool is_before_other;

	p->limit = p->loop->last + 1 < p->loop->count ? p->loop->anchors[p->loop->last + 1] : count;
	p->end = walk_forward(p, p->loop->anchors[p->loop->last], 0, p->limit, &is_before_other);
	is_before_other &= count - p->end > OUTSIDE_MIN;
	add_sign(p, slot_after_end(p),
		 is_before_other                                ? 3
		 : step_has_other_after(p->sequence, count - 1) ? 0.7
								: 1.5);
}

/* Returns the slot with these tokens before and at it, or STEP_NONE. */
static uint32_t slot_between(const struct phase *p, uint32_t before, uint32_t at)
{
	for (uint32_t slot = 0; slot < p->length; slot++)
		if (p->cycle[slot] == at && p->cycle[slot_before(p, slot)] == before)
			return slot;
	return STEP_NONE;
}

/* Adds the place at which most blocks of other work are. */
static void add_sign_of_blocks(struct phase *p)
{
	uint32_t run = 0, before = STEP_RARE, pair[2] = {0}, votes = 0, blocks = 0, same = 0, slot;
	uint32_t least = p->length / 8 > BLOCK_MIN ? p->length / 8 : BLOCK_MIN;
	uint32_t from = p->loop->anchors[p->loop->first], to = p->loop->anchors[p->loop->last];

	for (uint32_t pass = 0; pass < 2 && (pass == 0 || pair[1] != STEP_RARE);
	     pass++, run = 0, before = STEP_RARE) {
		for (uint32_t i = from; i < to; i++) {
			uint32_t token = p->sequence->tokens[i];

			if (!p->loop->uses[token].is_typical) {
				run++;
				continue;
			}
			if (run >= least && before != STEP_RARE) {
				bool is_same = pair[0] == before && pair[1] == token;

				if (pass == 0 && votes == 0) {
					pair[0] = before;
					pair[1] = token;
					is_same = true;
				}
				votes += is_same ? 1 : -1;
				blocks += pass;
				same += pass && is_same;
			}
			run = 0;
			before = token;
		}
	}
	slot = same >= 2 && 2 * same > blocks ? slot_between(p, pair[0], pair[1]) : STEP_NONE;
	if (slot != STEP_NONE)
		add_sign(p, slot, 2);
}

/* ---- pauses ---- */

/* Pauses at the slots of the cycle: up to PAUSE_SAMPLES each. */
struct pauses {
	uint64_t *list;    /* PAUSE_SAMPLES for each slot */
	uint8_t *count;    /* by slot */
	uint32_t *slot_of; /* by token that is once in a cycle */
};

static void add_pause(struct pauses *pauses, uint32_t slot, uint64_t pause)
{
	if (pauses->count[slot] < PAUSE_SAMPLES)
		pauses->list[(size_t)slot * PAUSE_SAMPLES + pauses->count[slot]++] = pause;
}

/* Adds the pauses of a segment that is as the cycle. */
static void add_pauses_of_equal(const struct phase *p, struct pauses *pauses, uint32_t segment)
{
	uint32_t slot = 0;

	for (uint32_t i = p->loop->anchors[segment]; i < p->loop->anchors[segment + 1]; i++)
		if (use_at(p, i)->is_typical)
			add_pause(pauses, slot++, step_pause_before(p->sequence, i));
}

/* Adds the pauses before and after tokens that are once in a cycle. */
static void add_pauses_of_other(const struct phase *p, struct pauses *pauses, uint32_t segment)
{
	uint32_t before = STEP_NONE;

	for (uint32_t i = p->loop->anchors[segment]; i < p->loop->anchors[segment + 1]; i++) {
		const struct step_token_use *use = use_at(p, i);
		uint32_t slot = pauses->slot_of[p->sequence->tokens[i]];

		if (!use->is_typical)
			continue;
		if (!use->is_stable || use->usual != 1)
			slot = STEP_NONE;
		if (slot == STEP_NONE && before != STEP_NONE)
			slot = (before + 1) % p->length;
		if (slot != STEP_NONE)
			add_pause(pauses, slot, step_pause_before(p->sequence, i));
		before = use->is_stable && use->usual == 1 ? pauses->slot_of[p->sequence->tokens[i]]
							   : STEP_NONE;
	}
}

static void gather_pauses(const struct phase *p, struct pauses *pauses, uint64_t hash)
{
	uint32_t samples = step_loop_samples(p->loop), equal = 0, length;
	bool is_equal[STEP_SAMPLES];

	for (uint32_t i = 0; i < samples; i++) {
		is_equal[i] = hash_segment(p, step_loop_sample(p->loop, i), &length) == hash &&
			      length == p->length;
		equal += is_equal[i];
	}
	/* few equal ones: all of them are read by their tokens */
	for (uint32_t i = 0; i < samples; i++) {
		uint32_t segment = step_loop_sample(p->loop, i);

		if (is_equal[i] && (equal >= 5 || equal == samples))
			add_pauses_of_equal(p, pauses, segment);
		else if (equal < 5)
			add_pauses_of_other(p, pauses, segment);
	}
}

/* Adds the slot with the longest pause, if the pause is much longer than those of other slots. */
static void compare_pauses(struct phase *p, const struct pauses *pauses)
{
	uint64_t longest = 0, second = 0;
	uint32_t slot = STEP_NONE;

	for (uint32_t i = 0; i < p->length; i++) {
		uint64_t *list = pauses->list + (size_t)i * PAUSE_SAMPLES, median;

		if (pauses->count[i] < 5)
			continue;
		qsort(list, pauses->count[i], sizeof(*list), sorted_compare);
		median = list[pauses->count[i] / 2];
		if (median > longest) {
			second = longest;
			longest = median;
			slot = i;
		} else if (median > second) {
			second = median;
		}
	}
	if (slot == STEP_NONE || longest / 3 < second / 2)
		return;
	/* in a short cycle, start and end may well agree by chance */
	if (p->length < 16 && longest / 8 >= second)
		add_sign(p, slot, 3.8);
	else
		add_sign(p, slot, longest / 4 >= second ? 2.9 : longest / 2 >= second ? 2.6 : 2.3);
}

/* Returns false when out of memory. */
static bool add_sign_of_pauses(struct phase *p, uint64_t hash)
{
	struct pauses pauses = {0};
	bool is_done = false;

	if (p->length > SLOTS_MAX || p->length < 2)
		return true;
	pauses.list = malloc((size_t)p->length * PAUSE_SAMPLES * sizeof(*pauses.list));
	pauses.count = calloc(p->length, sizeof(*pauses.count));
	pauses.slot_of = malloc(p->sequence->token_count * sizeof(*pauses.slot_of));
	if (pauses.list && pauses.count && pauses.slot_of) {
		memset(pauses.slot_of, 0xff, p->sequence->token_count * sizeof(*pauses.slot_of));
		for (uint32_t slot = 0; slot < p->length; slot++)
			pauses.slot_of[p->cycle[slot]] = slot;
		gather_pauses(p, &pauses, hash);
		compare_pauses(p, &pauses);
		is_done = true;
	}
	free(pauses.list);
	free(pauses.count);
	free(pauses.slot_of);
	return is_done;
}

/* ---- where steps begin ---- */

/* Chooses the slot with the most weight of signs; of equal ones, the first. */
static void choose_slot(struct phase *p)
{
	for (uint32_t i = 0; i < p->sign_count; i++) {
		double weight = 0;

		for (uint32_t k = 0; k < p->sign_count; k++)
			if (p->signs[k].slot == p->signs[i].slot)
				weight += p->signs[k].weight;
		if (weight > p->weight) {
			p->weight = weight;
			p->slot = p->signs[i].slot;
		}
	}
}

/* Chooses the rule by which the slot is found in other segments. */
static void choose_rule(struct phase *p)
{
	uint32_t first = p->cycle[p->slot], last = p->cycle[slot_before(p, p->slot)];

	p->nth = 0;
	if (p->slot == 0) {
		p->rule = RULE_ANCHOR;
	} else if (p->loop->uses[first].is_stable) {
		p->rule = RULE_FIRST;
		for (uint32_t i = p->slot; i < p->length; i++)
			p->nth += p->cycle[i] == first;
	} else if (p->loop->uses[last].is_stable) {
		p->rule = RULE_LAST;
		for (uint32_t i = 0; i < p->slot; i++)
			p->nth += p->cycle[i] == last;
	} else {
		p->rule = RULE_PAIR;
		for (uint32_t i = 1; i <= p->slot; i++)
			p->nth += p->cycle[i] == first && p->cycle[i - 1] == last;
	}
}

/* Returns the nth launch with a token, going back from `to`, or STEP_NONE. */
static uint32_t find_back(const struct phase *p, uint32_t from, uint32_t to, uint32_t token,
			  uint32_t nth)
{
	while (to > from) {
		to--;
		if (p->sequence->tokens[to] == token && --nth == 0)
			return to;
	}
	return STEP_NONE;
}

static uint32_t find_forward(const struct phase *p, uint32_t from, uint32_t to, uint32_t token,
			     uint32_t nth)
{
	for (; from < to; from++)
		if (p->sequence->tokens[from] == token && --nth == 0)
			return from;
	return STEP_NONE;
}

/* Returns the nth launch of the first token that follows the last token, or the latest such. */
static uint32_t find_pair(const struct phase *p, uint32_t from, uint32_t to)
{
	uint32_t first = p->cycle[p->slot], last = p->cycle[slot_before(p, p->slot)];
	uint32_t before = STEP_NONE, found = STEP_NONE, nth = p->nth;

	for (; from < to && nth > 0; from++) {
		uint32_t token = p->sequence->tokens[from];

		if (!p->loop->uses[token].is_typical)
			continue;
		if (token == first && before == last) {
			found = from;
			nth--;
		}
		before = token;
	}
	return found;
}

/* Returns the first launch of the step that begins between two anchors, or STEP_NONE. */
static uint32_t find_start(const struct phase *p, uint32_t from, uint32_t to)
{
	uint32_t first = p->cycle[p->slot], last;

	if (p->rule == RULE_ANCHOR)
		return from;
	if (p->rule == RULE_FIRST)
		return find_back(p, from, to, first, p->nth);
	if (p->rule == RULE_PAIR)
		return find_pair(p, from, to);
	last = find_forward(p, from, to, p->cycle[p->slot - 1], p->nth);
	return last == STEP_NONE ? last : find_forward(p, last + 1, to, first, 1);
}

/* Returns the first launch of the step before the first anchor, or STEP_NONE. */
static uint32_t find_first(struct phase *p)
{
	uint32_t anchor = p->loop->anchors[p->loop->first];

	if (p->rule == RULE_ANCHOR)
		return STEP_NONE;
	if (p->rule == RULE_FIRST)
		return find_back(p, p->low, anchor, p->cycle[p->slot], p->nth);
	return p->signs[0].slot == p->slot ? p->start : STEP_NONE;
}

/*
 * Returns the first launch of the step that begins after the last anchor, or STEP_NONE. With
 * RULE_FIRST the launches of its token before it, in the step that ends, are counted.
 */
static uint32_t find_last(const struct phase *p)
{
	uint32_t anchor = p->loop->anchors[p->loop->last], earlier = 0;

	if (p->rule != RULE_FIRST)
		return find_start(p, anchor, p->limit);
	for (uint32_t i = 0; i < p->slot; i++)
		earlier += p->cycle[i] == p->cycle[p->slot];
	return find_forward(p, anchor, p->limit, p->cycle[p->slot], earlier + 1);
}

static void add_start(struct step_starts *starts, uint32_t position)
{
	if (position != STEP_NONE)
		starts->list[starts->count++] = position;
}

/* Returns whether the latest walk, over the last step, met most of it and the launch that ends it.
 */
static bool is_complete(const struct phase *p)
{
	uint32_t last = p->cycle[slot_before(p, p->slot)];
	uint64_t weight = 0, least = p->loop->uses[last].is_stable ? 70 : 85;

	for (uint32_t token = STEP_RARE + 1; token < p->sequence->token_count; token++)
		if (p->loop->uses[token].is_typical && is_met(p, token))
			weight += p->loop->uses[token].segments;
	return is_met(p, last) && 100 * weight >= least * p->loop->weight;
}

/* Ends the last step with its last launch. Drops the last step if it is incomplete. */
static void end_steps(struct phase *p, struct step_starts *starts, uint32_t limit)
{
	bool is_before_other;

	if (starts->count == 0)
		return;
	starts->end =
		walk_forward(p, starts->list[starts->count - 1], p->slot, limit, &is_before_other);
	if (is_complete(p) || starts->count == 1)
		return;
	starts->count--;
	starts->end = walk_forward(p, starts->list[starts->count - 1], p->slot,
				   starts->list[starts->count], &is_before_other);
}

/* Drops the first step if it lacks the launch that ends a step: it is part of a start-up. */
static void check_first(const struct phase *p, struct step_starts *starts)
{
	uint32_t last = p->cycle[slot_before(p, p->slot)];

	if (starts->count < 2 || !p->loop->uses[last].is_stable ||
	    find_forward(p, starts->list[0], starts->list[1], last, 1) != STEP_NONE)
		return;
	starts->count--;
	memmove(starts->list, starts->list + 1, starts->count * sizeof(*starts->list));
}

static int list_starts(struct phase *p, struct step_starts *starts)
{
	const struct step_loop *loop = p->loop;
	uint32_t first = find_first(p);

	/* a step for each anchor, and the one before the first */
	starts->list = huge_memory(((size_t)loop->last - loop->first + 3) * sizeof(uint64_t));
	if (!starts->list)
		return -ENOMEM;
	add_start(starts, first);
	for (uint32_t i = loop->first; i < loop->last; i++)
		add_start(starts, find_start(p, loop->anchors[i], loop->anchors[i + 1]));
	add_start(starts, find_last(p));
	check_first(p, starts);
	starts->begin = first != STEP_NONE && first < p->start ? first : p->start;
	starts->weight = p->weight;
	end_steps(p, starts, p->limit);
	return 0;
}

int step_phase_find(struct step_starts *starts, struct step_loop *loop)
{
	struct phase p = {.loop = loop, .sequence = loop->sequence};
	uint64_t hash;
	int error = -ENOMEM;

	memset(starts, 0, sizeof(*starts));
	if (make_cycle(&p, &hash)) {
		add_sign_of_start(&p);
		add_sign_of_end(&p);
		add_sign_of_blocks(&p);
		if (add_sign_of_pauses(&p, hash)) {
			choose_slot(&p);
			choose_rule(&p);
			error = list_starts(&p, starts);
		}
	}
	free(p.cycle);
	return error;
}
