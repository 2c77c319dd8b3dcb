// SPDX-License-Identifier: MIT
#include "profiler/findings/step_loop.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "symbolize/util/array.h"
#include "symbolize/util/sorted.h"

#define GAP_SAMPLES 255u   /* gaps that tell whether an anchor is regular */
#define TIME_SAMPLES 4095u /* times of segments that do */
#define NESTED_MAX 65536u  /* segments in which inner anchors are counted */
#define CANDIDATES_MAX (1u << 20)
#define TRIED_MAX 96u
#define BUDGET_MIN (UINT64_C(1) << 25) /* launches that are examined in any case */
#define START_UP_MAX 4096u             /* launches that may be more than those of the steps */
/* median deviation of times, as a share of their median: 0.69 of random ones, 0.47 of two */
#define SCATTER_MAX 0.45
#define SCATTER_OF_TWO_MAX 0.25
#define PREDICTABLE 0.3 /* share of launches that the one before tells */

/* share of the scatter of random numbers: more is random */
#define RANDOM_GAPS 0.7
#define RANDOM_NESTING 0.8
#define RANDOM_NESTING_OF_PAIR 0.4

/* standard deviations between the scatter of a loop and that of a random order */
#define SURE 1.5
#define SURE_OF_NESTING 2.5
#define SURE_OF_FEW_STABLE 3 /* most launches of a step vary */
#define SURE_OF_ANCHOR_ALONE 4.5
#define SURE_OF_UNPREDICTABLE 5

/* A token or a pair that occurs regularly. */
struct candidate {
	uint32_t token, next, count;
	uint32_t first, last; /* positions */
	float gap, scatter;   /* mean and scatter of its gaps */
};

struct search {
	const struct step_sequence *sequence;
	const struct step_random *random;
	struct candidate *candidates;
	uint32_t count, capacity;
	struct step_token_use *uses;
	uint32_t stamp;
	uint32_t *tokens;   /* a list of distinct ones */
	uint32_t *follower; /* by token: how often the token follows that follows most often */
	uint32_t *pairs;    /* positions of a token, by the token that follows */
	uint32_t pair_capacity;
	uint64_t *times;                      /* TIME_SAMPLES, or NESTED_MAX */
	uint64_t budget;                      /* launches that may be examined yet */
	struct step_loop accepted[TRIED_MAX]; /* in the order of their counts, without anchors */
	uint32_t accepted_count;
	uint32_t tried[TRIED_MAX]; /* candidates */
	uint32_t tried_count;
	struct step_loop best;
};

/* ---- candidates ---- */

static bool is_spread(const struct step_sequence *s, const uint32_t *positions, uint32_t count)
{
	/* the first quarter may be apart, as launches of a start-up are */
	uint32_t from = count / 4, rest = s->count - positions[from];
	double reach = (double)(positions[count - 1] - positions[from]) * (count - from) /
		       (count - from - 1);

	return reach * 100 >= (STEPS_WEAK_MIN - 5.0) * rest;
}

/* Adds a candidate if it is regular. Returns false when out of memory. */
static bool consider(struct search *s, uint32_t token, uint32_t next, const uint32_t *positions,
		     uint32_t count)
{
	uint64_t gaps[GAP_SAMPLES];
	uint32_t sampled = count - 1 < GAP_SAMPLES ? count - 1 : GAP_SAMPLES;
	double mean, scatter, random;

	if (count < STEPS_MIN || s->count == CANDIDATES_MAX ||
	    !is_spread(s->sequence, positions, count))
		return true;
	for (uint32_t i = 0; i < sampled; i++) {
		uint32_t at = (uint32_t)((uint64_t)i * (count - 1) / sampled);

		gaps[i] = positions[at + 1] - positions[at];
	}
	scatter = step_scatter(gaps, sampled, &mean);
	random = step_random_scatter(s->random, mean);
	if (scatter > RANDOM_GAPS * random ||
	    (scatter > 0 && step_regularity(s->random, scatter, mean, count - 1) < SURE))
		return true;
	if (!array_make_room(&s->candidates, s->count, &s->capacity, sizeof(*s->candidates)))
		return false;
	s->candidates[s->count++] = (struct candidate){
		token,       next,          count, positions[0], positions[count - 1],
		(float)mean, (float)scatter};
	return true;
}

static uint32_t follower(const struct step_sequence *s, uint32_t position)
{
	return position + 1 < s->count ? s->tokens[position + 1] : STEP_RARE;
}

/* Counts the tokens that follow a token. Returns how many kinds of them there are. */
static uint32_t count_followers(struct search *s, const uint32_t *positions, uint32_t count)
{
	uint32_t kinds = 0;

	s->stamp++;
	for (uint32_t i = 0; i < count; i++) {
		uint32_t next = follower(s->sequence, positions[i]);

		if (s->uses[next].stamp != s->stamp) {
			s->uses[next].stamp = s->stamp;
			s->uses[next].now = 0;
			s->tokens[kinds++] = next;
		}
		s->uses[next].now++;
	}
	return kinds;
}

/* Returns whether a pair is about as frequent as one of its tokens, which then stands for it. */
static bool is_needless(uint32_t pairs, uint32_t uses)
{
	return pairs + pairs / 50 + 1 >= uses;
}

/* Considers the pairs that begin with a token and are rarer than both of their tokens. */
static bool consider_pairs_of(struct search *s, uint32_t token)
{
	const struct step_sequence *q = s->sequence;
	const uint32_t *positions = q->positions + q->offsets[token];
	uint32_t count = step_token_uses(q, token), kinds, kept = 0, end = 0;

	kinds = count_followers(s, positions, count);
	for (uint32_t i = 0; i < kinds; i++) {
		uint32_t next = s->tokens[i], pairs = s->uses[next].now;

		s->follower[token] = pairs > s->follower[token] ? pairs : s->follower[token];
		if (next == STEP_RARE || pairs < STEPS_MIN || is_needless(pairs, count) ||
		    is_needless(pairs, step_token_uses(q, next))) {
			s->uses[next].stamp = 0;
			continue;
		}
		s->tokens[kept++] = next;
		s->uses[next].now = end;
		end += pairs;
	}
	if (kept == 0)
		return true;
	if (end > s->pair_capacity &&
	    !array_reserve(&s->pairs, 0, end, &s->pair_capacity, sizeof(*s->pairs)))
		return false;
	for (uint32_t i = 0; i < count; i++) {
		struct step_token_use *use = &s->uses[follower(q, positions[i])];

		if (use->stamp == s->stamp)
			s->pairs[use->now++] = positions[i];
	}
	for (uint32_t i = 0, from = 0; i < kept; i++) {
		uint32_t to = s->uses[s->tokens[i]].now;

		if (!consider(s, token, s->tokens[i], s->pairs + from, to - from))
			return false;
		from = to;
	}
	return true;
}

/* Returns whether launches tell the next ones so seldom that there is no order in the sequence. */
static bool is_without_order(const struct search *s)
{
	uint64_t followed = 0;

	for (uint32_t token = STEP_RARE + 1; token < s->sequence->token_count; token++)
		followed += s->follower[token];
	return followed < s->sequence->count / 6;
}

static bool find_candidates(struct search *s)
{
	const struct step_sequence *q = s->sequence;

	for (uint32_t token = STEP_RARE + 1; token < q->token_count; token++) {
		uint32_t count = step_token_uses(q, token);

		if (!consider(s, token, STEP_NONE, q->positions + q->offsets[token], count) ||
		    !consider_pairs_of(s, token))
			return false;
	}
	return true;
}

/* ---- typical segments ---- */

uint32_t step_loop_samples(const struct step_loop *loop)
{
	uint32_t segments = loop->last - loop->first;

	return segments < STEP_SAMPLES ? segments : STEP_SAMPLES;
}

uint32_t step_loop_sample(const struct step_loop *loop, uint32_t i)
{
	uint64_t segments = loop->last - loop->first;

	return loop->first + (uint32_t)((2 * i + 1) * segments / (2 * step_loop_samples(loop)));
}

/* Counts the tokens of a segment, and lists them. Returns how many there are. */
static uint32_t count_tokens(struct step_loop *loop, uint32_t segment, uint32_t *tokens)
{
	uint32_t kinds = 0;

	loop->stamp++;
	for (uint32_t i = loop->anchors[segment]; i < loop->anchors[segment + 1]; i++) {
		uint32_t token = loop->sequence->tokens[i];
		struct step_token_use *use = &loop->uses[token];

		if (use->stamp != loop->stamp) {
			use->stamp = loop->stamp;
			use->now = 0;
			tokens[kinds++] = token;
		}
		use->now++;
	}
	return kinds;
}

/* Elects the usual number of launches, by the majority vote of Boyer and Moore. */
static void elect(struct step_token_use *use)
{
	use->segments++;
	use->most = use->now > use->most ? use->now : use->most;
	if (use->votes == 0)
		use->usual = use->now;
	use->votes += use->now == use->usual ? 1 : -1;
}

static void clear_uses(struct step_loop *loop)
{
	memset(loop->uses, 0, loop->sequence->token_count * sizeof(*loop->uses));
	loop->stamp = 0;
}

/* Finds the typical tokens of the sampled segments, and how many launches each has. */
static void find_typical(struct step_loop *loop, uint32_t *tokens)
{
	uint32_t samples = step_loop_samples(loop), token_count = loop->sequence->token_count;

	clear_uses(loop);
	for (uint32_t i = 0; i < samples; i++) {
		uint32_t kinds = count_tokens(loop, step_loop_sample(loop, i), tokens);

		for (uint32_t k = 0; k < kinds; k++)
			elect(&loop->uses[tokens[k]]);
	}
	for (uint32_t i = 0; i < samples; i++) {
		uint32_t kinds = count_tokens(loop, step_loop_sample(loop, i), tokens);

		for (uint32_t k = 0; k < kinds; k++) {
			struct step_token_use *use = &loop->uses[tokens[k]];

			use->same += use->now == use->usual;
		}
	}
	loop->typical = 0;
	loop->weight = 0;
	for (uint32_t token = STEP_RARE + 1; token < token_count; token++) {
		struct step_token_use *use = &loop->uses[token];

		use->is_typical = 2 * use->segments >= samples && use->segments > 0;
		use->is_stable = use->is_typical && 10 * use->same >= 8 * samples;
		loop->typical += use->is_typical;
		loop->weight += use->is_typical ? use->segments : 0;
	}
}

/* A segment as the loop sees it. */
struct segment {
	uint32_t launches; /* typical ones */
	uint64_t weight;   /* weight of the typical tokens that it has */
	bool is_whole;     /* has most of the typical tokens */
	bool is_alike;     /* is whole, and has little else */
};

static struct segment examine(struct step_loop *loop, uint32_t segment)
{
	uint32_t from = loop->anchors[segment], to = loop->anchors[segment + 1];
	struct segment seen = {0};

	loop->stamp++;
	for (uint32_t i = from; i < to; i++) {
		struct step_token_use *use = &loop->uses[loop->sequence->tokens[i]];

		if (!use->is_typical)
			continue;
		seen.launches++;
		seen.weight += use->stamp != loop->stamp ? use->segments : 0;
		use->stamp = loop->stamp;
	}
	seen.is_whole = 10 * seen.weight >= 7 * loop->weight;
	seen.is_alike = seen.is_whole && 2 * (uint64_t)seen.launches >= to - from;
	return seen;
}

/*
 * Returns whether the sampled segments are alike. In random orders the typical tokens are in two
 * thirds of the segments. Sets the typical length.
 */
static bool has_alike_samples(struct step_loop *loop)
{
	uint32_t samples = step_loop_samples(loop), alike = 0, lengths[STEP_SAMPLES];
	uint64_t weight = 0;

	for (uint32_t i = 0; i < samples; i++) {
		struct segment seen = examine(loop, step_loop_sample(loop, i));

		alike += seen.is_alike;
		weight += seen.weight;
		lengths[i] = seen.launches;
	}
	qsort(lengths, samples, sizeof(*lengths), sorted_compare_32);
	loop->length = lengths[samples / 2];
	return 4 * alike >= 3 * samples && loop->length > 0 &&
	       100 * weight >= 85 * loop->weight * samples;
}

/* Returns the share of a typical segment that does not vary. */
static double stable_share(const struct step_loop *loop)
{
	uint64_t stable = 0;

	for (uint32_t token = STEP_RARE + 1; token < loop->sequence->token_count; token++)
		if (loop->uses[token].is_stable)
			stable += loop->uses[token].usual;
	return (double)stable / loop->length;
}

/* ---- judging an anchor ---- */

/* Returns the typical launches after the last anchor, at most those of a step. */
static uint32_t count_tail(const struct step_loop *loop)
{
	uint32_t count = 0;

	for (uint32_t i = loop->anchors[loop->last];
	     i < loop->sequence->count && count < loop->length; i++)
		count += loop->uses[loop->sequence->tokens[i]].is_typical;
	return count;
}

/* Returns how many launches have typical tokens, in the loop and elsewhere. */
static uint64_t count_typical(const struct step_loop *loop)
{
	uint64_t count = 0;

	for (uint32_t token = STEP_RARE + 1; token < loop->sequence->token_count; token++)
		if (loop->uses[token].is_typical)
			count += step_token_uses(loop->sequence, token);
	return count;
}

/* Finds the segments between which the loop is, and what they cover. */
static bool measure_coverage(struct step_loop *loop)
{
	uint64_t covered = 0, alike = 0, alike_at_last = 0, most = 3 * (uint64_t)loop->length;
	uint64_t count = loop->sequence->count, percent;
	struct segment before = {0};
	bool is_in = false;

	for (uint32_t i = 0; i + 1 < loop->count; i++) {
		struct segment seen = examine(loop, i);

		if (!is_in && before.is_whole && seen.is_whole) {
			is_in = true;
			loop->first = i - 1;
			covered = smaller_of(before.launches, most);
			alike = before.is_alike;
		}
		if (is_in) {
			covered += seen.is_whole ? smaller_of(seen.launches, most) : 0;
			alike += seen.is_alike;
		}
		if (is_in && seen.is_whole) {
			loop->last = i + 1;
			alike_at_last = alike;
		}
		before = seen;
	}
	if (!is_in || loop->last - loop->first + 1 < STEPS_MIN ||
	    5 * alike_at_last < 4 * (uint64_t)(loop->last - loop->first))
		return false;
	loop->launches = count - loop->anchors[loop->first];
	loop->covered = covered + count_tail(loop);
	if (2 * covered < count_typical(loop))
		return false;
	percent = smaller_of(100 * loop->covered / loop->launches,
			     100 * covered /
				     (loop->anchors[loop->last] - loop->anchors[loop->first]));
	loop->is_weak = percent < STEPS_COVERED_MIN;
	return percent >= STEPS_WEAK_MIN && (loop->anchors[loop->first] <= START_UP_MAX ||
					     loop->anchors[loop->first] <= loop->launches);
}

static uint64_t time_of(const struct step_loop *loop, uint32_t segment)
{
	return step_time_between(loop->sequence, loop->anchors[segment],
				 loop->anchors[segment + 1]);
}

/*
 * Returns whether long pauses are regular if they are a third of the run: both their times and the
 * times between them. `median` is that of the times of segments.
 */
static bool has_regular_pauses(const struct step_loop *loop, const struct step_random *random,
			       uint64_t median, uint64_t *times)
{
	double all = 0, paused = 0;
	uint32_t pauses = 0, before = 0, most = TIME_SAMPLES / 2;
	uint64_t *between = times + most;

	for (uint32_t i = loop->first; i < loop->last; i++) {
		uint64_t time = time_of(loop, i);

		all += (double)time;
		if (time / 4 <= median)
			continue;
		paused += (double)time;
		if (pauses < most) {
			times[pauses] = time;
			between[pauses] = step_time_between(
				loop->sequence, loop->anchors[pauses ? before : loop->first],
				loop->anchors[i]);
			pauses++;
		}
		before = i;
	}
	if (paused * 3 < all || pauses < STEPS_MIN)
		return true;
	return step_times_regular(random, times, pauses, SCATTER_MAX) &&
	       step_times_regular(random, between + 1, pauses - 1, SCATTER_MAX);
}

/* Samples the times of so many segments in a row. Returns how many times there are. */
static uint32_t sample_times(const struct step_loop *loop, uint32_t row, uint64_t *times)
{
	uint32_t rows = (loop->last - loop->first) / row;
	uint32_t sampled = rows < TIME_SAMPLES ? rows : TIME_SAMPLES;

	for (uint32_t i = 0; i < sampled; i++) {
		uint32_t at = loop->first + row * (uint32_t)((uint64_t)i * rows / sampled);

		times[i] = step_time_between(loop->sequence, loop->anchors[at],
					     loop->anchors[at + row]);
	}
	return sampled;
}

/*
 * Returns whether times scatter less than those between random arrivals. Long and short segments
 * may alternate, as those of two backward passes in each step do: two together are as long then.
 */
static bool has_regular_times(const struct step_loop *loop, const struct step_random *random,
			      uint64_t *times)
{
	uint32_t sampled = sample_times(loop, 1, times);
	uint64_t median;

	qsort(times, sampled, sizeof(*times), sorted_compare);
	median = times[sampled / 2];
	if (!step_times_regular(random, times, sampled, SCATTER_MAX) &&
	    !step_times_regular(random, times, sample_times(loop, 2, times), SCATTER_OF_TWO_MAX))
		return false;
	return has_regular_pauses(loop, random, median, times);
}

/* Lists the anchors of a loop. Returns false when out of memory. */
static bool set_anchors(struct step_loop *loop)
{
	const struct step_sequence *s = loop->sequence;
	const uint32_t *positions = s->positions + s->offsets[loop->token];
	uint32_t uses = step_token_uses(s, loop->token), count = 0;

	loop->anchors = positions;
	if (loop->next == STEP_NONE)
		return true;
	loop->own_anchors = malloc(loop->count * sizeof(*loop->own_anchors));
	if (!loop->own_anchors)
		return false;
	for (uint32_t i = 0; i < uses; i++)
		if (follower(s, positions[i]) == loop->next)
			loop->own_anchors[count++] = positions[i];
	loop->anchors = loop->own_anchors;
	return true;
}

/*
 * Returns how well a launch tells the next one, for typical tokens: 0 in a random order, 1 if each
 * token has one that follows.
 */
static double predictability(const struct search *s, const struct step_loop *loop)
{
	uint64_t all = 0, followed = 0, most = 0;

	for (uint32_t token = STEP_RARE + 1; token < s->sequence->token_count; token++) {
		uint32_t uses = step_token_uses(s->sequence, token);

		if (!loop->uses[token].is_typical)
			continue;
		all += uses;
		followed += s->follower[token];
		most = larger_of(most, uses);
	}
	return all > most ? ((double)followed - (double)most) / (double)(all - most) : 1;
}

/*
 * Returns whether an anchor is none by chance. If no launch tells the next one, a token still is an
 * anchor if its gaps are far from random. If all else in its segments varies, it may be the
 * best of many random ones.
 */
static bool is_by_order(const struct search *s, const struct candidate *candidate,
			const struct step_loop *loop)
{
	double sure = step_regularity(s->random, candidate->scatter, candidate->gap,
				      candidate->count - 1);

	if (candidate->scatter <= 0)
		return true;
	if (predictability(s, loop) < PREDICTABLE &&
	    (candidate->next != STEP_NONE || loop->stable < 0.05 || sure < SURE_OF_UNPREDICTABLE))
		return false;
	if (loop->stable < 0.02)
		return sure >= SURE_OF_ANCHOR_ALONE;
	return loop->stable >= 0.5 || sure >= SURE_OF_FEW_STABLE;
}

/* Returns whether a candidate is the anchor of a loop. */
static bool judge(struct search *s, const struct candidate *candidate, struct step_loop *loop)
{
	find_typical(loop, s->tokens);
	if (!has_alike_samples(loop))
		return false;
	loop->stable = stable_share(loop);
	return is_by_order(s, candidate, loop) && measure_coverage(loop) &&
	       has_regular_times(loop, s->random, s->times);
}

/* ---- choosing between loops ---- */

/* Inner anchors in each segment of an outer loop. */
struct nesting {
	uint64_t anchors, extra, segments, with_extra;
	double scatter, mean;
};

/*
 * Returns the places that count the repetitions of a loop. A pair that leads from one repetition to
 * the next lacks in the last one, which its second token does not.
 */
static const uint32_t *repeated_anchors(const struct step_loop *loop, uint32_t *count)
{
	const struct step_sequence *s = loop->sequence;

	*count = loop->count;
	if (loop->next == STEP_NONE || step_token_uses(s, loop->next) > 2 * (uint64_t)loop->count)
		return loop->anchors;
	*count = step_token_uses(s, loop->next);
	return s->positions + s->offsets[loop->next];
}

static struct nesting count_nested(struct search *s, const struct step_loop *outer,
				   const struct step_loop *inner)
{
	struct nesting n = {0};
	uint32_t at = 0, end = outer->last, count_all;
	const uint32_t *anchors = repeated_anchors(inner, &count_all);

	if (end - outer->first > NESTED_MAX)
		end = outer->first + NESTED_MAX;
	while (at < count_all && anchors[at] < outer->anchors[outer->first])
		at++;
	for (uint32_t i = outer->first; i < end; i++) {
		uint32_t from = at, count;

		while (at < count_all && anchors[at] < outer->anchors[i + 1])
			at++;
		count = at - from;
		n.anchors += count;
		n.extra += count > 1 ? count - 1 : 0;
		n.with_extra += count > 1;
		s->times[n.segments++] = count;
	}
	n.scatter = step_scatter(s->times, (uint32_t)n.segments, &n.mean);
	return n;
}

/*
 * Returns whether the outer loop adds only a few launches to many inner steps, such as a report
 * each 50 steps. `ratio` is the number of inner steps in an outer one.
 */
static bool is_negligible(const struct step_loop *outer, const struct step_loop *inner,
			  double ratio)
{
	double share = (double)outer->covered / (double)outer->launches -
		       (double)inner->covered / (double)inner->launches;
	double own = share * outer->length;

	return (ratio > 8 && own < 4.5 && own * 10 < inner->length) ||
	       (ratio > 16 && share < 0.001);
}

/*
 * Returns whether two loops that have nearly as many anchors have the steps of `inner`. The outer
 * anchor may lack in some steps, here and there, above all a pair: other work may come between. Or
 * the inner one has more in a few places, such as an evaluation.
 */
static bool is_inner_complete(const struct step_loop *outer, const struct step_loop *inner,
			      const struct nesting *n)
{
	bool is_broken = outer->next != STEP_NONE && inner->next == STEP_NONE;

	if (n->extra == 0)
		return inner->count > outer->count ||
		       inner->anchors[inner->first] < outer->anchors[outer->first];
	return n->with_extra * 100 > n->segments &&
	       n->extra * 2 <= n->with_extra * 5 + (is_broken ? 6 : 0);
}

/*
 * Returns whether the outer anchor is in some of the inner steps only, at random. A pair with the
 * inner anchor, such as that from one inner step to the next, is hardly an outer loop.
 */
static bool is_random_nesting(const struct search *s, const struct step_loop *outer,
			      const struct step_loop *inner, const struct nesting *n)
{
	bool is_of_inner = outer->next != STEP_NONE && inner->next == STEP_NONE &&
			   (outer->token == inner->token || outer->next == inner->token);
	double most = step_random_scatter(s->random, n->mean) *
		      (is_of_inner ? RANDOM_NESTING_OF_PAIR : RANDOM_NESTING);

	return (inner->stable > outer->stable && n->scatter > most) ||
	       step_regularity(s->random, n->scatter, n->mean, (uint32_t)n->segments) <
		       SURE_OF_NESTING;
}

/* Returns whether the steps are those of `inner` rather than those of the rarer `outer`. */
static bool is_inner_better(struct search *s, const struct step_loop *outer,
			    const struct step_loop *inner)
{
	struct nesting n;
	double ratio;

	if (outer->is_weak != inner->is_weak)
		return outer->is_weak;
	if (5 * inner->covered < 4 * outer->covered)
		return false;
	if (4 * inner->covered > 5 * outer->covered)
		return true;
	n = count_nested(s, outer, inner);
	ratio = (double)n.anchors / (double)n.segments;
	if (ratio < 1.5)
		return is_inner_complete(outer, inner, &n);
	return is_random_nesting(s, outer, inner, &n) || is_negligible(outer, inner, ratio);
}

static int by_count(const void *a, const void *b)
{
	const struct step_loop *x = a, *y = b;

	return compare_numbers(x->count, y->count);
}

static uint32_t regularity_class(const struct candidate *candidate)
{
	return (uint32_t)(candidate->scatter * 16);
}

/*
 * Compares candidates by how likely they are anchors: regular ones first, tokens before pairs, the
 * rare ones before those that they may contain.
 */
static int by_promise(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;
	int order = compare_numbers(regularity_class(x), regularity_class(y));

	if (order == 0)
		order = (x->next != STEP_NONE) - (y->next != STEP_NONE);
	if (order == 0)
		order = compare_numbers(x->count, y->count);
	return order ? order : compare_numbers(x->first, y->first);
}

/* Returns whether two candidates seem to cut the sequence into equal steps. */
static bool is_similar(const struct candidate *a, const struct candidate *b)
{
	double gap = fmin(a->gap, b->gap) * 1.5 + 1;

	return fabs((double)a->count - b->count) <= 0.01 * a->count &&
	       fabs((double)a->gap - b->gap) <= 0.05 * a->gap &&
	       fabs((double)a->first - b->first) <= gap && fabs((double)a->last - b->last) <= gap;
}

static void drop_anchors(struct step_loop *loop)
{
	free(loop->own_anchors);
	loop->anchors = loop->own_anchors = NULL;
}

/* Judges a candidate. Returns 0 or -ENOMEM. */
static int try_candidate(struct search *s, const struct candidate *candidate)
{
	struct step_loop *loop = &s->accepted[s->accepted_count];

	*loop = (struct step_loop){.sequence = s->sequence,
				   .uses = s->uses,
				   .token = candidate->token,
				   .next = candidate->next,
				   .count = candidate->count,
				   .last = candidate->count - 1};
	if (!set_anchors(loop))
		return -ENOMEM;
	s->accepted_count += judge(s, candidate, loop);
	drop_anchors(loop);
	return 0;
}

/* Chooses among the accepted loops, from the innermost outwards. Returns 0 or -ENOMEM. */
static int choose_loop(struct search *s)
{
	while (s->accepted_count > 0) {
		struct step_loop *outer = &s->accepted[--s->accepted_count];

		if (!set_anchors(outer))
			return -ENOMEM;
		if (s->best.count > 0 && is_inner_better(s, outer, &s->best)) {
			drop_anchors(outer);
			continue;
		}
		drop_anchors(&s->best);
		s->best = *outer;
	}
	return 0;
}

/* Returns whether a similar candidate has been tried. */
static bool is_tried(const struct search *s, const struct candidate *candidate)
{
	for (uint32_t i = 0; i < s->tried_count; i++)
		if (is_similar(&s->candidates[s->tried[i]], candidate))
			return true;
	return false;
}

/* Tries the most promising candidates. Returns 0 or -ENOMEM. */
static int try_candidates(struct search *s)
{
	int error = 0;

	if (s->count > 0)
		qsort(s->candidates, s->count, sizeof(*s->candidates), by_promise);
	for (uint32_t i = 0; !error && i < s->count && s->tried_count < TRIED_MAX; i++) {
		const struct candidate *candidate = &s->candidates[i];
		uint64_t work = 2 * (uint64_t)(candidate->last - candidate->first) +
				s->sequence->token_count;

		if (work > s->budget || is_tried(s, candidate))
			continue;
		s->budget -= work;
		s->tried[s->tried_count++] = i;
		error = try_candidate(s, candidate);
	}
	if (s->accepted_count > 0)
		qsort(s->accepted, s->accepted_count, sizeof(*s->accepted), by_count);
	return error;
}

static int search(struct search *s)
{
	uint32_t token_count = s->sequence->token_count;

	s->uses = calloc(token_count, sizeof(*s->uses));
	s->tokens = malloc(token_count * sizeof(*s->tokens));
	s->follower = calloc(token_count, sizeof(*s->follower));
	s->times =
		malloc((larger_of(TIME_SAMPLES, smaller_of(s->sequence->count, NESTED_MAX)) + 1) *
		       sizeof(*s->times));
	s->budget = larger_of((uint64_t)s->sequence->count * STEP_SEARCH_PASSES, BUDGET_MIN);
	if (!s->uses || !s->tokens || !s->follower || !s->times || !find_candidates(s))
		return -ENOMEM;
	if (is_without_order(s))
		return 0;
	if (try_candidates(s) != 0 || choose_loop(s) != 0)
		return -ENOMEM;
	if (s->best.count > 0)
		find_typical(&s->best, s->tokens);
	return 0;
}

int step_loop_find(struct step_loop *loop, const struct step_sequence *sequence,
		   const struct step_random *random)
{
	struct search s = {.sequence = sequence, .random = random};
	int error = search(&s);

	free(s.candidates);
	free(s.tokens);
	free(s.follower);
	free(s.pairs);
	free(s.times);
	*loop = s.best;
	loop->uses = s.uses;
	loop->sequence = sequence;
	return error;
}

void step_loop_release(struct step_loop *loop)
{
	free(loop->own_anchors);
	free(loop->uses);
	memset(loop, 0, sizeof(*loop));
}
