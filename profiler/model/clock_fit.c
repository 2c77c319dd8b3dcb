// SPDX-License-Identifier: MIT
#include "profiler/model/clock_fit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "symbolize/util/sorted.h"

#define ANCHORS 8u            /* collectives of `moved` that get candidates */
#define ANCHOR_CANDIDATES 64u /* per anchor, the nearest to the guess */
#define STARTS 16u            /* collectives that may be missing at the start of a sequence */
#define CANDIDATES_MAX (ANCHORS * ANCHOR_CANDIDATES + 2 * STARTS)
#define RANKING_PAIRS 128u  /* pairs counted to rank the candidates */
#define FINALISTS 8u        /* candidates followed to both ends */
#define SAME_NS 100000      /* largest difference of leave times in a pair */
#define DRIFT_ALLOWED 5e-4  /* share of the time since the last pair; NTP slews up to this */
#define DRIFT_PAIRS_MIN 60u /* below this, or DRIFT_SPAN_MIN ns, drift is not fitted */
#define DRIFT_SPAN_MIN 10000000000
#define SLACK_NS 5000 /* ns; CUPTI's clock to CLOCK_MONOTONIC, and GPU to GPU */

/* moved[moved] is fixed[fixed]. */
struct candidate {
	uint32_t fixed, moved;
	uint32_t count; /* pairs found from this one */
	bool from_start;
};

struct pairing {
	uint32_t fixed, moved;
};

struct fitting {
	const struct clock_pair *p;
	uint64_t *steps;
	struct candidate candidates[CANDIDATES_MAX];
	uint32_t candidate_count;
	struct pairing *pairs; /* best candidate, in order of time */
	struct pairing *tried; /* candidate being tried */
	int64_t *differences, *scratch;
	uint32_t count;
};

static bool take_steps(struct fitting *f, uint64_t steps)
{
	if (steps > *f->steps) {
		*f->steps = 0;
		return false;
	}
	*f->steps -= steps;
	return true;
}

/* ---- following the sequences ---- */

/* Returns how far a pair is from the offset, or INT64_MAX beyond the end of a sequence. */
static int64_t difference(const struct clock_pair *p, int64_t fixed, int64_t moved, int64_t offset)
{
	if (fixed < 0 || fixed >= p->fixed_count || moved < 0 || moved >= p->moved_count)
		return INT64_MAX;
	return p->fixed[fixed].left_ns - (p->moved[moved].left_ns + offset);
}

/*
 * Follows the sequences from a pair in direction `step` (1 or -1). Returns the number of further
 * pairs, at most `most`. Stores the pairs in `pairs` unless it is NULL. Each collective is paired
 * at most once.
 */
static uint32_t follow(struct fitting *f, struct pairing at, int step, uint32_t most,
		       struct pairing *pairs)
{
	const struct clock_visit *a = f->p->fixed, *b = f->p->moved;
	int64_t i = (int64_t)at.fixed + step, k = (int64_t)at.moved + step;
	int64_t offset = a[at.fixed].left_ns - b[at.moved].left_ns, last = b[at.moved].left_ns;
	uint64_t tries = most < UINT32_MAX ? UINT64_C(4) * most : UINT64_MAX;
	uint32_t count = 0;

	while (count < most && tries-- > 0 && i >= 0 && i < f->p->fixed_count && k >= 0 &&
	       k < f->p->moved_count) {
		int64_t apart = difference(f->p, i, k, offset);
		int64_t gap = (b[k].left_ns - last) * step;
		int64_t allowed = SAME_NS + (int64_t)(DRIFT_ALLOWED * (double)gap);

		if (*f->steps == 0)
			break;
		--*f->steps;
		/* the next one may be nearer: small collectives follow each other closely */
		if (apart * step > allowed) {
			k += step;
		} else if (apart * step < -allowed ||
			   llabs(difference(f->p, i + step, k, offset)) < llabs(apart)) {
			i += step;
		} else if (llabs(difference(f->p, i, k + step, offset)) < llabs(apart)) {
			k += step;
		} else {
			offset = a[i].left_ns - b[k].left_ns;
			last = b[k].left_ns;
			if (pairs)
				pairs[count] = (struct pairing){(uint32_t)i, (uint32_t)k};
			count++;
			i += step;
			k += step;
		}
	}
	return count;
}

/*
 * Counts the nearest pairs on both sides. Near one end of the sequences, counts more on the other
 * side.
 */
static void count_pairs(struct fitting *f, struct candidate *c)
{
	const struct pairing at = {c->fixed, c->moved};
	uint32_t after = follow(f, at, 1, RANKING_PAIRS / 2, NULL);
	uint32_t before = follow(f, at, -1, RANKING_PAIRS - after, NULL);

	if (after == RANKING_PAIRS / 2 && before < RANKING_PAIRS / 2)
		after = follow(f, at, 1, RANKING_PAIRS - before, NULL);
	c->count = 1 + before + after;
}

/* ---- candidates ---- */

static bool is_allowed(const struct clock_pair *p, uint32_t fixed, uint32_t moved)
{
	return p->guess_error_ns == 0 ||
	       llabs(p->fixed[fixed].left_ns - p->moved[moved].left_ns) <= p->guess_error_ns;
}

/* Returns false if the guess rules the pair out. */
static bool add_candidate(struct fitting *f, uint32_t fixed, uint32_t moved, bool from_start)
{
	if (!is_allowed(f->p, fixed, moved) || f->candidate_count == CANDIDATES_MAX)
		return false;
	f->candidates[f->candidate_count++] =
		(struct candidate){.fixed = fixed, .moved = moved, .from_start = from_start};
	return true;
}

static void add_anchor(struct fitting *f, uint32_t moved)
{
	const struct clock_pair *p = f->p;
	int64_t time = p->moved[moved].left_ns;
	uint32_t low = 0, high = p->fixed_count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (p->fixed[middle].left_ns < time)
			low = middle + 1;
		else
			high = middle;
	}
	for (uint32_t n = 0, left = low; n < ANCHOR_CANDIDATES; n++) {
		uint32_t nearest;

		if (left > 0 && (high == p->fixed_count || time - p->fixed[left - 1].left_ns <=
								   p->fixed[high].left_ns - time))
			nearest = --left;
		else if (high < p->fixed_count)
			nearest = high++;
		else
			return;
		if (!add_candidate(f, nearest, moved, false))
			return;
	}
}

/* Orders by: pairing from the start of equally long sequences, most pairs, nearest to the guess. */
static int compare_candidates(const struct fitting *f, const struct candidate *a,
			      const struct candidate *b)
{
	int64_t x, y;

	if (a->from_start != b->from_start)
		return a->from_start ? -1 : 1;
	if (a->count != b->count)
		return a->count > b->count ? -1 : 1;
	x = llabs(f->p->fixed[a->fixed].left_ns - f->p->moved[a->moved].left_ns);
	y = llabs(f->p->fixed[b->fixed].left_ns - f->p->moved[b->moved].left_ns);
	return x < y ? -1 : x > y;
}

static uint32_t find_pairs(struct fitting *f, const struct candidate *c, struct pairing *pairs)
{
	const struct pairing at = {c->fixed, c->moved};
	uint32_t before = follow(f, at, -1, UINT32_MAX, pairs);

	for (uint32_t i = 0; i < before / 2; i++) {
		struct pairing other = pairs[i];

		pairs[i] = pairs[before - 1 - i];
		pairs[before - 1 - i] = other;
	}
	pairs[before] = at;
	return before + 1 + follow(f, at, 1, UINT32_MAX, pairs + before + 1);
}

static int compare_pairs(const void *a, const void *b)
{
	uint32_t x = ((const struct pairing *)a)->moved, y = ((const struct pairing *)b)->moved;

	return compare_numbers(x, y);
}

/* Removes the candidates that are one of these pairs. */
static void remove_candidates(struct fitting *f, const struct pairing *pairs, uint32_t count)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < f->candidate_count; i++) {
		const struct pairing key = {f->candidates[i].fixed, f->candidates[i].moved};
		const struct pairing *same =
			bsearch(&key, pairs, count, sizeof(*pairs), compare_pairs);

		if (!same || same->fixed != key.fixed)
			f->candidates[kept++] = f->candidates[i];
	}
	f->candidate_count = kept;
}

static struct candidate take_best(struct fitting *f)
{
	struct candidate best = f->candidates[0];

	for (uint32_t i = 1; i < f->candidate_count; i++)
		if (compare_candidates(f, &f->candidates[i], &best) < 0)
			best = f->candidates[i];
	return best;
}

/* Returns the number of pairs in both lists. */
static uint32_t count_common(const struct pairing *a, uint32_t a_count, const struct pairing *b,
			     uint32_t b_count)
{
	uint32_t common = 0;

	for (uint32_t i = 0, k = 0; i < a_count && k < b_count;) {
		if (a[i].moved < b[k].moved) {
			i++;
		} else if (a[i].moved > b[k].moved) {
			k++;
		} else {
			common += a[i].fixed == b[k].fixed;
			i++;
			k++;
		}
	}
	return common;
}

static void make_candidates(struct fitting *f)
{
	const struct clock_pair *p = f->p;

	for (uint32_t i = 0; i < STARTS && i < p->fixed_count && i < p->moved_count; i++) {
		add_candidate(f, i, 0, i == 0 && p->fixed_count == p->moved_count);
		if (i)
			add_candidate(f, 0, i, false);
	}
	add_candidate(f, p->fixed_count - 1, p->moved_count - 1, false);
	for (uint32_t i = 0; i < ANCHORS; i++)
		add_anchor(f, (uint32_t)((2 * i + 1) * (uint64_t)p->moved_count / (2 * ANCHORS)));
	for (uint32_t i = 0; i < f->candidate_count; i++)
		count_pairs(f, &f->candidates[i]);
}

/* Finds the pairs. Returns false if they are too few or ambiguous. */
static bool choose_pairs(struct fitting *f)
{
	uint32_t fewer =
		f->p->fixed_count < f->p->moved_count ? f->p->fixed_count : f->p->moved_count;
	uint32_t rival = 0; /* most pairs of a different alignment */

	make_candidates(f);
	for (uint32_t i = 0; i < FINALISTS && f->candidate_count; i++) {
		struct candidate c = take_best(f);
		uint32_t count = find_pairs(f, &c, f->tried), before = f->count;
		bool is_same;

		if (*f->steps == 0)
			return false;
		if (c.from_start && count == fewer) {
			memcpy(f->pairs, f->tried, count * sizeof(*f->pairs));
			f->count = count;
			return count >= CLOCK_FIT_PAIRS_MIN;
		}
		remove_candidates(f, f->tried, count);
		/* a candidate that shares most pairs with the best is no rival */
		is_same = count_common(f->pairs, f->count, f->tried, count) > count / 2;
		if (count > f->count) {
			struct pairing *other = f->pairs;

			f->pairs = f->tried;
			f->count = count;
			f->tried = other;
		}
		if (!is_same) {
			uint32_t less = count < before ? count : before;

			rival = less > rival ? less : rival;
		}
	}
	return f->count >= CLOCK_FIT_PAIRS_MIN && f->count >= fewer / 4 * 3 &&
	       rival <= f->count / 10 * 9;
}

/* ---- the fit ---- */

static int compare_times(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return x < y ? -1 : x > y;
}

/* Returns the value that the given share of `count` values is below. */
static int64_t quantile(struct fitting *f, const int64_t *values, uint32_t count, double share)
{
	memcpy(f->scratch, values, count * sizeof(*values));
	qsort(f->scratch, count, sizeof(*values), compare_times);
	return f->scratch[(uint32_t)(share * (count - 1))];
}

static int64_t drifted(const struct clock_fit *fit, int64_t ns)
{
	return llrint(fit->drift * (double)(ns - fit->at_ns));
}

/* Computes how far each pair is from the fit so far. */
static void find_differences(struct fitting *f, const struct clock_fit *fit)
{
	for (uint32_t i = 0; i < f->count; i++) {
		int64_t moved = f->p->moved[f->pairs[i].moved].left_ns;

		f->differences[i] = f->p->fixed[f->pairs[i].fixed].left_ns - moved -
				    fit->offset_ns - drifted(fit, moved);
	}
}

static bool fit_line(struct fitting *f, struct clock_fit *fit)
{
	const struct clock_visit *moved = f->p->moved;
	uint32_t third = f->count / 3;
	int64_t first = moved[f->pairs[0].moved].left_ns,
		last = moved[f->pairs[f->count - 1].moved].left_ns;

	fit->at_ns = first + (last - first) / 2;
	find_differences(f, fit);
	if (f->count >= DRIFT_PAIRS_MIN && last - first >= DRIFT_SPAN_MIN) {
		int64_t from = moved[f->pairs[third / 2].moved].left_ns,
			to = moved[f->pairs[f->count - 1 - third / 2].moved].left_ns;
		int64_t low = quantile(f, f->differences, third, 0.5),
			high = quantile(f, f->differences + f->count - third, third, 0.5);

		if (to > from)
			fit->drift = (double)(high - low) / (double)(to - from);
		if (fabs(fit->drift) > CLOCK_FIT_DRIFT_MAX)
			return false;
		find_differences(f, fit);
	}
	fit->offset_ns = quantile(f, f->differences, f->count, 0.5);
	return true;
}

/*
 * Finds the corrections of the offset that 99 % of the collectives allow. Returns false if there is
 * none.
 */
static bool find_interval(struct fitting *f, const struct clock_fit *fit, int64_t *low,
			  int64_t *high)
{
	for (uint32_t side = 0; side < 2; side++) {
		for (uint32_t i = 0; i < f->count; i++) {
			const struct clock_visit *a = &f->p->fixed[f->pairs[i].fixed],
						 *b = &f->p->moved[f->pairs[i].moved];
			int64_t add = fit->offset_ns + drifted(fit, b->left_ns);

			f->differences[i] = side ? a->left_ns - (b->came_ns + add) + SLACK_NS
						 : (b->left_ns + add) - a->came_ns + SLACK_NS;
		}
		*(side ? high : low) = quantile(f, f->differences, f->count, 0.01);
	}
	*low = -*low;
	return *low <= *high;
}

static bool find_error(struct fitting *f, struct clock_fit *fit)
{
	int64_t low = 0, high = 0, spread;

	find_differences(f, fit);
	for (uint32_t i = 0; i < f->count; i++)
		f->differences[i] = llabs(f->differences[i]);
	spread = quantile(f, f->differences, f->count, 0.9);
	if (spread > CLOCK_FIT_ERROR_MAX || !find_interval(f, fit, &low, &high))
		return false;
	/* moves an offset that collectives contradict into the allowed interval */
	if (low > 0 || high < 0) {
		int64_t add = low > 0 ? low : high;

		fit->offset_ns += add;
		low -= add;
		high -= add;
	}
	fit->bound_ns = (uint64_t)(-low > high ? -low : high);
	fit->error_ns = (uint64_t)spread + CLOCK_FIT_SKEW_NS;
	if (fit->bound_ns < fit->error_ns)
		fit->error_ns = fit->bound_ns;
	return true;
}

bool clock_fit(const struct clock_pair *pair, uint64_t *steps, struct clock_fit *fit)
{
	uint32_t fewer =
		pair->fixed_count < pair->moved_count ? pair->fixed_count : pair->moved_count;
	struct fitting *f = fewer >= CLOCK_FIT_PAIRS_MIN ? calloc(1, sizeof(*f)) : NULL;
	bool is_found = false;

	*fit = (struct clock_fit){.pairs = 0};
	if (!f)
		return false;
	f->p = pair;
	f->steps = steps;
	f->pairs = malloc((fewer + (size_t)1) * sizeof(*f->pairs));
	f->tried = malloc((fewer + (size_t)1) * sizeof(*f->tried));
	f->differences = malloc(fewer * sizeof(*f->differences));
	f->scratch = malloc(fewer * sizeof(*f->scratch));
	/* budget for sorting */
	if (f->pairs && f->tried && f->differences && f->scratch &&
	    take_steps(f, UINT64_C(64) * fewer)) {
		is_found = choose_pairs(f) && fit_line(f, fit) && find_error(f, fit);
		fit->pairs = f->count;
	}
	free(f->pairs);
	free(f->tried);
	free(f->differences);
	free(f->scratch);
	free(f);
	return is_found;
}

int64_t clock_fit_time(const struct clock_fit *fit, int64_t ns)
{
	double moved = (double)(ns - fit->at_ns) * fit->drift;
	int64_t time = ns + fit->offset_ns + llrint(moved);

	return time < 0 ? 0 : time > CLOCK_FIT_TIME_MAX ? CLOCK_FIT_TIME_MAX : time;
}
