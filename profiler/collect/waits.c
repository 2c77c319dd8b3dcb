// SPDX-License-Identifier: MIT
#include "profiler/collect/waits.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define PASS_NS 250000000u /* waits are decided together, not more often than this */

/* A stretch of a process's or a stream's time in which one operation counts. */
struct segment {
	uint32_t process, context, stream; /* the latter two 0 where all streams are looked at */
	uint32_t operation;                /* index in the ring */
	uint64_t start_ns, end_ns;         /* equal: it never counts */
};

struct waits {
	struct waits_output output;
	uint32_t newest; /* WAITS_OPERATIONS */
	struct waits_operation *ring;
	uint32_t count, capacity; /* of the ring; it grows up to `newest`, then goes round */
	uint32_t next;            /* where the next one goes, once it goes round */
	uint32_t added;           /* since the last pass */
	struct waits_wait *pending;
	uint32_t pending_count, pending_capacity;
	uint64_t oldest_end_ns; /* of the pending ones */
	uint64_t passed_ns;
	struct segment *segments; /* made anew in each pass */
	uint32_t segment_count, segment_capacity;
};

struct waits *waits_new(const struct waits_output *output)
{
	struct waits *w = calloc(1, sizeof(*w));

	if (!w)
		return NULL;
	w->output = *output;
	w->newest = WAITS_OPERATIONS;
	w->oldest_end_ns = UINT64_MAX;
	return w;
}

void waits_free(struct waits *w)
{
	if (!w)
		return;
	free(w->ring);
	free(w->pending);
	free(w->segments);
	free(w);
}

void waits_remember(struct waits *w, uint32_t newest)
{
	w->newest = newest;
}

size_t waits_memory(const struct waits *w)
{
	return sizeof(*w) + w->capacity * sizeof(*w->ring) +
	       w->pending_capacity * sizeof(*w->pending) +
	       w->segment_capacity * sizeof(*w->segments);
}

/* Room for one more element, up to `newest` of them. */
static bool grow(const struct waits *w, void **elements, uint32_t *capacity, size_t size)
{
	uint32_t bigger = *capacity ? *capacity * 2 : 1024;
	void *grown;

	if (bigger > w->newest)
		bigger = w->newest;
	grown = realloc(*elements, bigger * size);
	if (!grown)
		return false;
	*elements = grown;
	*capacity = bigger;
	return true;
}

/* ---- segments ---- */

static int compare_place(const struct segment *a, const struct segment *b)
{
	if (a->process != b->process)
		return a->process < b->process ? -1 : 1;
	if (a->context != b->context)
		return a->context < b->context ? -1 : 1;
	if (a->stream != b->stream)
		return a->stream < b->stream ? -1 : 1;
	return 0;
}

static int by_place_and_end(const void *a, const void *b)
{
	const struct segment *x = a, *y = b;
	int order = compare_place(x, y);

	if (order)
		return order;
	if (x->end_ns != y->end_ns)
		return x->end_ns < y->end_ns ? -1 : 1;
	return x->operation < y->operation ? -1 : x->operation > y->operation;
}

/* From each place's end backwards, an operation loses the time that those after it have. */
static void cut_overlaps(struct segment *segments, uint32_t count)
{
	uint64_t taken_from = UINT64_MAX;

	for (uint32_t i = count; i-- > 0;) {
		struct segment *s = &segments[i];

		if (i + 1 == count || compare_place(s, s + 1) != 0)
			taken_from = UINT64_MAX;
		if (s->end_ns > taken_from)
			s->end_ns = taken_from;
		if (s->start_ns > s->end_ns)
			s->start_ns = s->end_ns;
		taken_from = s->start_ns;
	}
}

/* Of the operations that ended after `from_ns`, apart by stream or not. */
static void make_segments(struct waits *w, uint64_t from_ns, bool by_stream)
{
	w->segment_count = 0;
	if (w->segment_capacity < w->capacity) {
		struct segment *segments = realloc(w->segments, w->capacity * sizeof(*w->segments));

		if (!segments)
			return; /* then nothing can be told */
		w->segments = segments;
		w->segment_capacity = w->capacity;
	}
	for (uint32_t i = 0; i < w->count; i++) {
		const struct waits_operation *o = &w->ring[i];

		if (o->end_ns <= from_ns)
			continue;
		w->segments[w->segment_count++] =
			(struct segment){.process = o->process,
					 .context = by_stream ? o->context : 0,
					 .stream = by_stream ? o->stream : 0,
					 .operation = i,
					 .start_ns = o->start_ns,
					 .end_ns = o->end_ns};
	}
	if (w->segment_count == 0)
		return; /* qsort wants an array, also of none */
	qsort(w->segments, w->segment_count, sizeof(*w->segments), by_place_and_end);
	cut_overlaps(w->segments, w->segment_count);
}

/* The first segment of the wait's place that ends after its start, or of a later place. */
static uint32_t find_segment(const struct waits *w, const struct segment *place)
{
	uint32_t low = 0, high = w->segment_count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		const struct segment *s = &w->segments[middle];
		int order = compare_place(s, place);

		if (order < 0 || (order == 0 && s->end_ns <= place->start_ns))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* ---- deciding ---- */

static void put(const struct waits *w, const struct waits_wait *wait,
		const struct waits_operation *operation, uint64_t ns)
{
	if (ns > 0)
		w->output.piece(w->output.context, wait, operation, ns);
}

static void decide(const struct waits *w, const struct waits_wait *wait)
{
	const struct segment place = {.process = wait->process,
				      .context = wait->has_stream ? wait->context : 0,
				      .stream = wait->has_stream ? wait->stream : 0,
				      .start_ns = wait->start_ns};
	uint64_t left = wait->end_ns - wait->start_ns;

	for (uint32_t i = find_segment(w, &place); i < w->segment_count; i++) {
		const struct segment *s = &w->segments[i];
		uint64_t from = s->start_ns > wait->start_ns ? s->start_ns : wait->start_ns;
		uint64_t to = s->end_ns < wait->end_ns ? s->end_ns : wait->end_ns;

		if (compare_place(s, &place) != 0 || s->start_ns >= wait->end_ns)
			break;
		if (from >= to)
			continue;
		put(w, wait, &w->ring[s->operation], to - from);
		left -= to - from;
	}
	put(w, wait, NULL, left);
}

/* Decides those waits for one stream, or those for all, that ended by `until_ns`. */
static void decide_kind(struct waits *w, uint64_t until_ns, bool has_stream)
{
	uint64_t from_ns = UINT64_MAX;

	for (uint32_t i = 0; i < w->pending_count; i++) {
		const struct waits_wait *wait = &w->pending[i];

		if (wait->has_stream == has_stream && wait->end_ns <= until_ns &&
		    wait->start_ns < from_ns)
			from_ns = wait->start_ns;
	}
	if (from_ns == UINT64_MAX)
		return;
	make_segments(w, from_ns, has_stream);
	for (uint32_t i = 0; i < w->pending_count; i++)
		if (w->pending[i].has_stream == has_stream && w->pending[i].end_ns <= until_ns)
			decide(w, &w->pending[i]);
}

static void pass(struct waits *w, uint64_t until_ns)
{
	uint32_t kept = 0;

	decide_kind(w, until_ns, true);
	decide_kind(w, until_ns, false);
	w->oldest_end_ns = UINT64_MAX;
	for (uint32_t i = 0; i < w->pending_count; i++) {
		if (w->pending[i].end_ns <= until_ns)
			continue;
		w->pending[kept++] = w->pending[i];
		if (w->pending[i].end_ns < w->oldest_end_ns)
			w->oldest_end_ns = w->pending[i].end_ns;
	}
	w->pending_count = kept;
	w->added = 0;
}

/* ---- input ---- */

int waits_add_operation(struct waits *w, const struct waits_operation *operation)
{
	if (operation->end_ns <= operation->start_ns)
		return 0;
	/*
	 * Half of what is remembered is new: before it goes round, waits that ended before this
	 * operation began are decided. Records come about in the order of time.
	 */
	if (w->added >= w->newest / 2)
		pass(w, operation->start_ns);
	w->added++;
	if (w->count < w->newest) {
		if (w->count == w->capacity &&
		    !grow(w, (void **)&w->ring, &w->capacity, sizeof(*w->ring)))
			return -ENOMEM;
		w->ring[w->count++] = *operation;
		return 0;
	}
	w->ring[w->next] = *operation;
	w->next = (w->next + 1) % w->newest;
	return 0;
}

int waits_add(struct waits *w, const struct waits_wait *wait)
{
	if (w->pending_count == w->newest)
		pass(w, UINT64_MAX);
	if (w->pending_count == w->pending_capacity &&
	    !grow(w, (void **)&w->pending, &w->pending_capacity, sizeof(*w->pending))) {
		put(w, wait, NULL, wait->end_ns - wait->start_ns);
		return -ENOMEM;
	}
	w->pending[w->pending_count++] = *wait;
	if (wait->end_ns < w->oldest_end_ns)
		w->oldest_end_ns = wait->end_ns;
	return 0;
}

void waits_advance(struct waits *w, uint64_t now_ns)
{
	if (w->pending_count == 0 || now_ns < w->passed_ns + PASS_NS ||
	    now_ns < WAITS_PATIENCE_NS || w->oldest_end_ns > now_ns - WAITS_PATIENCE_NS)
		return;
	pass(w, now_ns - WAITS_PATIENCE_NS);
	w->passed_ns = now_ns;
}

void waits_finish(struct waits *w)
{
	pass(w, UINT64_MAX);
}
