// SPDX-License-Identifier: MIT
#include "profiler/join/spread.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "symbolize/util/array.h"
#include "symbolize/util/saturate.h"
#include "symbolize/util/sorted.h"

#define ANY_THREAD UINT32_MAX /* thread of samples kept by process alone */

struct spread_sample {
	struct spread_key key;
	struct stack_id stack;
	struct spread_work stands; /* launches represented, without the samples themselves */
	struct spread_work own;    /* work of the samples themselves */
	double squares;            /* n (n - 1) ns^2; later the variance */
};

struct spread_parked {
	struct spread_key key;
	struct place_id place;
	struct spread_work work;
};

/* One stack that receives work. */
struct part {
	struct stack_id stack;
	double count, ns, bytes; /* work that its samples stand for */
	double up_to;            /* cumulative share of the count */
};

/* Work that one stack receives. */
struct piece {
	uint32_t part;
	struct spread_work work;
};

struct parts {
	struct part *list;
	uint32_t count, capacity;
};

/* Working memory of a distribution. */
struct spreading {
	struct spread *s;
	struct parts own, shared; /* parts of a thread, and of its process */
	bool has_shared;
	struct piece *pieces;
	uint32_t capacity, turn;
};

void spread_init(struct spread *s, const struct spread_output *output)
{
	*s = (struct spread){.output = *output, .max = SPREAD_MAX};
}

void spread_release(struct spread *s)
{
	record_set_release(&s->samples.set);
	record_set_release(&s->parked.set);
}

static void add_work(struct spread_work *to, const struct spread_work *work)
{
	saturated_add(&to->count, work->count);
	saturated_add(&to->ns, work->ns);
	saturated_add(&to->bytes, work->bytes);
}

/* ---- samples and what is parked ---- */

struct sample_key {
	struct spread_key key;
	struct stack_id stack;
};

struct parked_key {
	struct spread_key key;
	struct place_id place;
};

static bool has_room(const struct spread *s, uint32_t count, uint32_t *paid, size_t size)
{
	return count < s->max &&
	       quota_extend(s->memory, count, paid, size + HASH_INDEX_ENTRY_BYTES);
}

/* Returns the sample's record, adding it if there is room, or NULL. */
static struct spread_sample *get_sample(struct spread *s, const struct spread_key *key,
					struct stack_id stack)
{
	const struct sample_key id = {*key, stack};
	uint32_t at = record_find(&s->samples, &id);

	if (at == RECORD_NONE &&
	    has_room(s, s->samples.count, &s->samples_paid, sizeof(struct spread_sample)))
		at = record_add(&s->samples, &id,
				&((struct spread_sample){.key = *key, .stack = stack}));
	return at == RECORD_NONE ? NULL : &s->samples.list[at];
}

static struct spread_parked *get_parked(struct spread *s, const struct spread_key *key,
					struct place_id place)
{
	const struct parked_key id = {*key, place};
	uint32_t at = record_find(&s->parked, &id);

	if (at == RECORD_NONE &&
	    has_room(s, s->parked.count, &s->parked_paid, sizeof(struct spread_parked)))
		at = record_add(&s->parked, &id,
				&((struct spread_parked){.key = *key, .place = place}));
	return at == RECORD_NONE ? NULL : &s->parked.list[at];
}

/* ---- spreading ---- */

static int by_key(const struct spread_key *a, const struct spread_key *b)
{
	return compare_words((const void *)a, (const void *)b, sizeof(*a) / sizeof(uint32_t));
}

/* Compares samples by key and stack, or parked work by key and place. */
static int by_id(const void *a, const void *b)
{
	return compare_words(a, b, sizeof(struct sample_key) / sizeof(uint32_t));
}

static int by_stack(const void *a, const void *b)
{
	return compare_numbers(((const struct spread_sample *)a)->stack.number,
			       ((const struct spread_sample *)b)->stack.number);
}

/* Sorts a list, which may be empty and NULL. */
static void sort(void *list, uint32_t count, size_t size, int (*order)(const void *, const void *))
{
	if (count > 1)
		qsort(list, count, size, order);
}

/*
 * Adds a stack's part, by the work that its samples stand for. `with_own` adds the samples
 * themselves.
 */
static bool add_part(struct parts *parts, const struct spread_sample *sample, bool with_own)
{
	struct part part = {.stack = sample->stack,
			    .count = (double)sample->stands.count,
			    .ns = (double)sample->stands.ns,
			    .bytes = (double)sample->stands.bytes};

	if (with_own) {
		part.count += (double)sample->own.count;
		part.ns += (double)sample->own.ns;
		part.bytes += (double)sample->own.bytes;
	}
	if (part.count <= 0)
		return true;
	if (!array_make_room(&parts->list, parts->count, &parts->capacity, sizeof(part)))
		return false;
	parts->list[parts->count++] = part;
	return true;
}

/* Merges parts of one stack. */
static void unite(struct parts *parts)
{
	uint32_t kept = 0;

	sort(parts->list, parts->count, sizeof(*parts->list), sorted_compare_32);
	for (uint32_t i = 0; i < parts->count; i++) {
		struct part *last = kept > 0 ? &parts->list[kept - 1] : NULL;
		const struct part *part = &parts->list[i];

		if (!last || !same_id(last->stack, part->stack)) {
			parts->list[kept++] = *part;
			continue;
		}
		last->count += part->count;
		last->ns += part->ns;
		last->bytes += part->bytes;
	}
	parts->count = kept;
}

static void accumulate(struct parts *parts)
{
	double all = 0, before = 0;

	for (uint32_t i = 0; i < parts->count; i++)
		all += parts->list[i].count;
	for (uint32_t i = 0; i < parts->count; i++) {
		before += parts->list[i].count;
		parts->list[i].up_to = before / all;
	}
}

/* Computes the parts of samples [from, to). Returns false without samples or memory. */
static bool collect_parts(struct parts *parts, const struct spread *s, uint32_t from, uint32_t to,
			  bool with_own)
{
	parts->count = 0;
	for (uint32_t i = from; i < to; i++)
		if (!add_part(parts, &s->samples.list[i], with_own))
			return false;
	if (parts->count == 0)
		return false;
	unite(parts);
	accumulate(parts);
	return true;
}

/* Returns the first part whose cumulative share exceeds `share`, or the last part. */
static uint32_t part_at(const struct parts *parts, double share)
{
	uint32_t low = 0, high = parts->count - 1;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (parts->list[middle].up_to > share)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

/* Returns the number of integers from 0 below `end`, which is not negative. */
static uint64_t numbers_below(double end)
{
	uint64_t whole = (uint64_t)end;

	return whole + ((double)whole < end);
}

/*
 * Distributes operations over the parts at equal distances, from an offset that varies. Returns the
 * number of pieces, or 0 if memory is exhausted.
 */
static uint32_t cut_count(struct spreading *w, const struct parts *parts, uint64_t count)
{
	double offset = (double)(w->turn++ * 0x9e3779b9u) / 4294967296.0;
	uint32_t pieces = 0;

	for (uint64_t done = 0, next; done < count; done = next) {
		uint32_t at = part_at(parts, ((double)done + offset) / (double)count);
		double end = parts->list[at].up_to * (double)count - offset;

		next = count;
		if (at + 1 < parts->count && end < (double)count)
			next = end > (double)done ? numbers_below(end) : done + 1;
		if (!array_make_room(&w->pieces, pieces, &w->capacity, sizeof(*w->pieces)))
			return 0;
		w->pieces[pieces++] = (struct piece){.part = at, .work = {.count = next - done}};
	}
	return pieces;
}

/* Returns `share` of `total`, at least `before`. */
static uint64_t up_to(uint64_t total, long double share, uint64_t before)
{
	long double amount = share * (long double)total;
	uint64_t whole = amount >= (long double)total ? total : (uint64_t)amount;

	return whole > before ? whole : before;
}

/*
 * Distributes ns and bytes by the mean of an operation in each part. If all means are 0,
 * distributes them by operations.
 */
static void cut_amounts(struct spreading *w, const struct parts *parts, uint32_t count,
			const struct spread_work *total)
{
	long double ns = 0, bytes = 0, operations = 0, all_ns = 0, all_bytes = 0;
	struct spread_work given = {0};

	for (uint32_t i = 0; i < count; i++) {
		const struct part *part = &parts->list[w->pieces[i].part];
		long double times = (long double)w->pieces[i].work.count / part->count;

		all_ns += times * part->ns;
		all_bytes += times * part->bytes;
	}
	for (uint32_t i = 0; i < count; i++) {
		const struct part *part = &parts->list[w->pieces[i].part];
		struct spread_work *work = &w->pieces[i].work;
		long double times = (long double)work->count / part->count, share;
		bool is_last = i + 1 == count;
		uint64_t next;

		ns += times * part->ns;
		bytes += times * part->bytes;
		operations += (long double)work->count;
		share = operations / (long double)total->count;
		next = is_last ? total->ns
			       : up_to(total->ns, all_ns > 0 ? ns / all_ns : share, given.ns);
		work->ns = next - given.ns;
		given.ns = next;
		next = is_last ? total->bytes
			       : up_to(total->bytes, all_bytes > 0 ? bytes / all_bytes : share,
				       given.bytes);
		work->bytes = next - given.bytes;
		given.bytes = next;
	}
}

static bool spread_one(struct spreading *w, const struct parts *parts,
		       const struct spread_parked *parked)
{
	const struct spread_output *output = &w->s->output;
	uint32_t count = cut_count(w, parts, parked->work.count);

	if (count == 0)
		return false;
	cut_amounts(w, parts, count, &parked->work);
	for (uint32_t i = 0; i < count; i++)
		output->move(output->context, parked->key.base, parked->place,
			     parts->list[w->pieces[i].part].stack, &w->pieces[i].work);
	return true;
}

/* Converts the squares of a thread's samples [from, to) into variances; see the header. */
static void estimate_errors(struct spread *s, uint32_t from, uint32_t to)
{
	double all = 0, squares = 0;

	for (uint32_t i = from; i < to; i++) {
		all += (double)s->samples.list[i].stands.ns;
		squares += s->samples.list[i].squares;
	}
	for (uint32_t i = from; i < to && all > 0; i++) {
		double own = s->samples.list[i].squares,
		       p = (double)s->samples.list[i].stands.ns / all;

		s->samples.list[i].squares = (1 - p) * (1 - p) * own + p * p * (squares - own);
	}
}

/* Clears the error of samples [from, to), which decide no work with a known error. */
static void forget_error(struct spread *s, uint32_t from, uint32_t to)
{
	for (uint32_t i = from; i < to; i++)
		s->samples.list[i].squares = 0;
}

/* Samples of one kind of work: of a process [from, to), of one of its threads [own, own_end). */
struct range {
	uint32_t from, to, own, own_end;
};

/* Distributes the parked work of one thread: [from, to). */
static void spread_thread(struct spreading *w, uint32_t from, uint32_t to, const struct range *r)
{
	struct spread *s = w->s;
	const struct parts *parts = NULL;
	bool borrows = true;

	if (collect_parts(&w->own, s, r->own, r->own_end, false)) {
		parts = &w->own;
		borrows = s->is_coarse;
		if (!borrows)
			estimate_errors(s, r->own, r->own_end);
	} else {
		if (!w->has_shared)
			w->has_shared = collect_parts(&w->shared, s, r->from, r->to, false);
		if (w->has_shared)
			parts = &w->shared;
		else if (collect_parts(&w->own, s, r->own, r->own_end, true) ||
			 collect_parts(&w->own, s, r->from, r->to, true))
			parts = &w->own;
	}
	if (borrows)
		forget_error(s, r->own, r->own_end);
	for (uint32_t i = from; i < to; i++) {
		const struct spread_work *work = &s->parked.list[i].work;

		add_work(&s->stats.parked, work);
		if (!parts || !spread_one(w, parts, &s->parked.list[i]))
			add_work(&s->stats.left, work);
		else if (borrows)
			add_work(&s->stats.borrowed, work);
	}
}

static bool is_same_kind(const struct spread_key *a, const struct spread_key *b)
{
	return a->process == b->process && same_id(a->base, b->base);
}

/* Distributes the parked work of one process and kind: [from, to). */
static void spread_kind(struct spreading *w, uint32_t from, uint32_t to, struct range r)
{
	struct spread *s = w->s;
	uint32_t end;

	w->has_shared = false;
	r.own_end = r.from;
	for (uint32_t i = from; i < to; i = end) {
		uint32_t thread = s->parked.list[i].key.thread, before = r.own_end;

		for (end = i + 1; end < to && s->parked.list[end].key.thread == thread;)
			end++;
		for (r.own = before; r.own < r.to && s->samples.list[r.own].key.thread < thread;)
			r.own++;
		forget_error(s, before, r.own);
		for (r.own_end = r.own;
		     r.own_end < r.to && s->samples.list[r.own_end].key.thread == thread;)
			r.own_end++;
		spread_thread(w, i, end, &r);
	}
	forget_error(s, r.own_end, r.to);
}

/* Adds the greatest variance of a stack to the statistics. Changes the order of the samples. */
static void sum_errors(struct spread *s)
{
	double greatest = 0, sum = 0;

	sort(s->samples.list, s->samples.count, sizeof(*s->samples.list), by_stack);
	for (uint32_t i = 0; i < s->samples.count; i++) {
		if (i > 0 && !same_id(s->samples.list[i].stack, s->samples.list[i - 1].stack))
			sum = 0;
		sum += s->samples.list[i].squares;
		greatest = sum > greatest ? sum : greatest;
	}
	s->stats.variance += greatest;
}

/*
 * Distributes all parked work. Reorders the samples and uses up their errors: their index no longer
 * holds.
 */
static void spread_all(struct spread *s)
{
	struct spreading w = {.s = s};
	struct range r = {0};
	uint32_t end;

	sort(s->samples.list, s->samples.count, sizeof(*s->samples.list), by_id);
	sort(s->parked.list, s->parked.count, sizeof(*s->parked.list), by_id);
	for (uint32_t i = 0; i < s->parked.count; i = end) {
		const struct spread_key key = {s->parked.list[i].key.process,
					       s->parked.list[i].key.base, 0};

		for (end = i + 1;
		     end < s->parked.count && is_same_kind(&s->parked.list[end].key, &key);)
			end++;
		for (r.from = r.to;
		     r.from < s->samples.count && by_key(&s->samples.list[r.from].key, &key) < 0;)
			r.from++;
		forget_error(s, r.to, r.from);
		for (r.to = r.from;
		     r.to < s->samples.count && is_same_kind(&s->samples.list[r.to].key, &key);)
			r.to++;
		spread_kind(&w, i, end, r);
	}
	forget_error(s, r.to, s->samples.count);
	sum_errors(s);
	record_set_clear(&s->parked.set);
	free(w.own.list);
	free(w.shared.list);
	free(w.pieces);
}

/*
 * Makes room: distributes all parked work, and merges samples by process. `of_samples`: drops all
 * samples if merging does not halve them.
 */
static void make_room(struct spread *s, bool of_samples)
{
	uint32_t count = s->samples.count;
	struct spread_sample *all;

	spread_all(s);
	s->is_coarse = true;
	all = malloc((size_t)count * sizeof(*all));
	if (all && count)
		memcpy(all, s->samples.list, count * sizeof(*all));
	record_set_clear(&s->samples.set);
	for (uint32_t i = 0; all && i < count; i++) {
		const struct spread_key key = {all[i].key.process, all[i].key.base, ANY_THREAD};
		struct spread_sample *sample = get_sample(s, &key, all[i].stack);

		if (!sample)
			break;
		add_work(&sample->stands, &all[i].stands);
		add_work(&sample->own, &all[i].own);
	}
	if (of_samples && s->samples.count > count / 2)
		record_set_clear(&s->samples.set);
	free(all);
}

/* ---- input ---- */

void spread_add_sample(struct spread *s, const struct spread_key *key, struct stack_id stack,
		       uint32_t stands_for, uint64_t ns, uint64_t bytes)
{
	struct spread_sample *sample = get_sample(s, key, stack);
	uint64_t others = stands_for > 0 ? stands_for - 1 : 0;

	if (!sample) {
		make_room(s, true);
		sample = get_sample(s, key, stack);
	}
	if (!sample)
		return;
	add_work(&sample->own, &(struct spread_work){1, ns, bytes});
	add_work(&sample->stands, &(struct spread_work){others, saturated_product(others, ns),
							saturated_product(others, bytes)});
	sample->squares += (double)others * stands_for * (double)ns * (double)ns;
}

void spread_park(struct spread *s, const struct spread_key *key, struct place_id place, uint64_t ns,
		 uint64_t bytes)
{
	const struct spread_work work = {1, ns, bytes};
	struct spread_parked *parked = get_parked(s, key, place);

	if (!parked) {
		make_room(s, false);
		parked = get_parked(s, key, place);
	}
	if (parked) {
		add_work(&parked->work, &work);
		return;
	}
	/* the work stays at its base */
	add_work(&s->stats.parked, &work);
	add_work(&s->stats.left, &work);
}

void spread_finish(struct spread *s)
{
	spread_all(s);
	record_set_clear(&s->samples.set);
}
