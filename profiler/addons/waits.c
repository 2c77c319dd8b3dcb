// SPDX-License-Identifier: MIT
#include "profiler/addons/waits.h"

#include <errno.h>
#include <stdlib.h>
#include "symbolize/util/array.h"
#include "symbolize/util/sorted.h"

#define PASS_NS 250000000u /* passes decide many waits together, at least this far apart */
#define NONE UINT32_MAX

/* An operation in an array sorted by process or stream, then by end. */
struct ran {
	uint32_t process, context, stream; /* `context` and `stream` are 0 if all streams count */
	uint32_t operation;                /* index in the ring */
	uint32_t earlier; /* the last one before it that also began earlier; or NONE */
	uint64_t start_ns, end_ns;
};

struct waits {
	struct waits_output output;
	uint32_t newest; /* WAITS_OPERATIONS */
	struct waits_operation *ring;
	uint32_t count, capacity; /* size of the ring, which grows up to `newest`, then wraps */
	uint32_t next;            /* next index, once it wraps */
	uint64_t forgotten_ns;    /* operations that ended by then may be missing */
	uint32_t added;           /* since the last pass */
	struct waits_wait *pending;
	uint32_t pending_count, pending_capacity;
	uint64_t oldest_end_ns; /* end of the oldest pending wait */
	uint64_t passed_ns;
	struct ran *ran; /* rebuilt in each pass; has room for the whole ring */
	uint32_t ran_count, ran_capacity;
	uint64_t steps_left; /* in the current pass */
	uint64_t cut;
	struct quota *memory; /* NULL: no limit */
	uint32_t paid_operations, paid_pending;
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
	free(w->ran);
	free(w);
}

void waits_limit(struct waits *w, struct quota *memory)
{
	w->memory = memory;
}

void waits_remember(struct waits *w, uint32_t newest)
{
	w->newest = newest;
}

uint64_t waits_cut(const struct waits *w)
{
	return w->cut;
}

size_t waits_memory(const struct waits *w)
{
	return sizeof(*w) + w->capacity * sizeof(*w->ring) +
	       w->pending_capacity * sizeof(*w->pending) + w->ran_capacity * sizeof(*w->ran);
}

/* ---- sorted operations ---- */

static int compare_place(const struct ran *a, const struct ran *b)
{
	int order = compare_numbers(a->process, b->process);

	order = order ? order : compare_numbers(a->context, b->context);
	return order ? order : compare_numbers(a->stream, b->stream);
}

static int compare_place_and_end(const void *a, const void *b)
{
	const struct ran *x = a, *y = b;
	int order = compare_place(x, y);

	order = order ? order : compare_numbers(x->end_ns, y->end_ns);
	return order ? order : compare_numbers(x->operation, y->operation);
}

/*
 * Links each operation to the last one before it that also began earlier. Operations in between ran
 * entirely beside it and ended first, so they never count.
 */
static void link_earlier(struct ran *ran, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		uint32_t at = NONE;

		if (i > 0 && compare_place(&ran[i - 1], &ran[i]) == 0)
			at = i - 1;
		while (at != NONE && ran[at].start_ns >= ran[i].start_ns)
			at = ran[at].earlier;
		ran[i].earlier = at;
	}
}

/* Sorts the operations that ended after `from_ns`, by stream or by process. */
static void sort_operations(struct waits *w, uint64_t from_ns, bool by_stream)
{
	w->ran_count = 0;
	for (uint32_t i = 0; i < w->count; i++) {
		const struct waits_operation *o = &w->ring[i];

		if (o->end_ns <= from_ns)
			continue;
		w->ran[w->ran_count++] = (struct ran){.process = o->process,
						      .context = by_stream ? o->context : 0,
						      .stream = by_stream ? o->stream : 0,
						      .operation = i,
						      .start_ns = o->start_ns,
						      .end_ns = o->end_ns};
	}
	if (w->ran_count == 0)
		return; /* qsort needs an array even for none */
	qsort(w->ran, w->ran_count, sizeof(*w->ran), compare_place_and_end);
	link_earlier(w->ran, w->ran_count);
}

/*
 * Returns the last operation of the wait's stream or process that ended by the wait's end, or NONE.
 */
static uint32_t find_last(const struct waits *w, const struct waits_wait *wait)
{
	struct ran last = {.process = wait->process,
			   .context = wait->has_stream ? wait->context : 0,
			   .stream = wait->has_stream ? wait->stream : 0,
			   .operation = NONE,
			   .end_ns = UINT64_MAX};
	uint32_t low;

	if (wait->end_ns < UINT64_MAX - WAITS_CLOCK_ERROR_NS)
		last.end_ns = wait->end_ns + WAITS_CLOCK_ERROR_NS;
	low = (uint32_t)sorted_find(&last, w->ran, w->ran_count, sizeof(*w->ran),
				    compare_place_and_end);
	return low > 0 && compare_place(&w->ran[low - 1], &last) == 0 ? low - 1 : NONE;
}

/* ---- deciding ---- */

/* Cuts a wait into pieces, which are first measured, then output. */
struct cutter {
	const struct waits *w;
	const struct waits_wait *wait;
	bool outputs;
	uint64_t ns[2];       /* measured: nothing ran, something ran */
	uint64_t computed[2]; /* CPU time of the thread in `ns` */
	uint64_t passed[2];   /* part of `ns` that was output */
};

/* Returns the share of `computed` in the first `ns` of `whole`. */
static uint64_t share(uint64_t computed, uint64_t ns, uint64_t whole)
{
	return whole ? (uint64_t)((unsigned __int128)computed * ns / whole) : 0;
}

static void take_piece(struct cutter *c, const struct waits_operation *operation, uint64_t from_ns,
		       uint64_t to_ns)
{
	struct waits_piece piece = {.origin = operation ? &operation->origin : NULL,
				    .from_ns = from_ns};
	int kind = operation != NULL;
	uint64_t before = c->passed[kind];

	if (to_ns <= from_ns)
		return;
	piece.ns = to_ns - from_ns;
	if (!c->outputs) {
		c->ns[kind] += piece.ns;
		return;
	}
	c->passed[kind] += piece.ns;
	piece.off_cpu_ns = piece.ns - (share(c->computed[kind], c->passed[kind], c->ns[kind]) -
				       share(c->computed[kind], before, c->ns[kind]));
	c->w->output.piece(c->w->output.context, c->wait, &piece);
}

/*
 * Goes backwards from the wait's end: everything after `until` is decided. Visits at most `steps`
 * operations. Returns the number of visited ones, and the undecided rest's end in `left_ns`.
 */
static uint64_t visit_pieces(struct cutter *c, uint64_t steps, bool *is_cut, uint64_t *left_ns)
{
	const struct waits *w = c->w;
	const struct waits_wait *wait = c->wait;
	uint64_t until = wait->end_ns, visited = 0;

	*is_cut = false;
	for (uint32_t i = find_last(w, wait); i != NONE; i = w->ran[i].earlier) {
		const struct ran *r = &w->ran[i];
		uint64_t from = r->start_ns > wait->start_ns ? r->start_ns : wait->start_ns;
		uint64_t to = r->end_ns < until ? r->end_ns : until;

		if (to <= wait->start_ns)
			break;
		*is_cut = visited == steps;
		if (*is_cut)
			break;
		visited++;
		if (from >= to)
			continue; /* it began after the wait, within the clocks' error */
		take_piece(c, NULL, to, until);
		take_piece(c, &w->ring[r->operation], from, to);
		until = from;
	}
	take_piece(c, NULL, wait->start_ns, until);
	*left_ns = until;
	return visited;
}

static void decide(struct waits *w, const struct waits_wait *wait)
{
	struct cutter c = {.w = w, .wait = wait};
	uint64_t computed = wait->computed_ns, until, visited;
	bool is_cut;

	if (computed > wait->end_ns - wait->start_ns)
		computed = wait->end_ns - wait->start_ns;
	if (computed) {
		visit_pieces(&c, w->steps_left, &is_cut, &until);
		c.computed[0] = computed < c.ns[0] ? computed : c.ns[0];
		c.computed[1] = computed - c.computed[0];
	}
	c.outputs = true;
	visited = visit_pieces(&c, w->steps_left, &is_cut, &until);
	w->steps_left -= visited;
	w->cut += is_cut || (until > wait->start_ns && wait->start_ns < w->forgotten_ns);
}

/* Outputs a wait without operations, because it cannot be kept. */
static void output_whole(const struct waits *w, const struct waits_wait *wait)
{
	const struct waits_piece piece = {
		.from_ns = wait->start_ns,
		.ns = wait->end_ns - wait->start_ns,
		.off_cpu_ns = wait->computed_ns < wait->end_ns - wait->start_ns
				      ? wait->end_ns - wait->start_ns - wait->computed_ns
				      : 0};

	w->output.piece(w->output.context, wait, &piece);
}

/* Decides the waits that ended by `until_ns`: those for a stream, or those for all. */
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
	sort_operations(w, from_ns, has_stream);
	for (uint32_t i = 0; i < w->pending_count; i++)
		if (w->pending[i].has_stream == has_stream && w->pending[i].end_ns <= until_ns)
			decide(w, &w->pending[i]);
}

static void decide_pending(struct waits *w, uint64_t until_ns)
{
	uint32_t kept = 0;

	w->steps_left = (uint64_t)WAITS_STEPS * w->newest;
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
	 * Before the ring wraps, when half of it is new, decide the waits that ended before this
	 * operation began. Records arrive roughly in order of time.
	 */
	if (w->added >= w->newest / 2)
		decide_pending(w, operation->start_ns);
	w->added++;
	if (w->count < w->newest && !quota_extend(w->memory, w->count, &w->paid_operations,
						  sizeof(*w->ring) + sizeof(*w->ran)))
		w->newest = w->count;
	if (w->count < w->newest) {
		/* also reserves space for sorting, so that no pass can fail */
		if (!array_make_room(&w->ring, w->count, &w->capacity, sizeof(*w->ring)) ||
		    !array_make_room(&w->ran, w->count, &w->ran_capacity, sizeof(*w->ran)))
			return -ENOMEM;
		w->ring[w->count++] = *operation;
		return 0;
	}
	if (w->forgotten_ns < w->ring[w->next].end_ns)
		w->forgotten_ns = w->ring[w->next].end_ns;
	w->ring[w->next] = *operation;
	w->next = (w->next + 1) % w->newest;
	return 0;
}

int waits_add(struct waits *w, const struct waits_wait *wait)
{
	if (wait->end_ns <= wait->start_ns)
		return 0;
	if (w->pending_count >= w->newest ||
	    !quota_extend(w->memory, w->pending_count, &w->paid_pending, sizeof(*w->pending)))
		decide_pending(w, UINT64_MAX);
	if (!array_make_room(&w->pending, w->pending_count, &w->pending_capacity,
			     sizeof(*w->pending))) {
		output_whole(w, wait);
		return -ENOMEM;
	}
	w->pending[w->pending_count++] = *wait;
	if (wait->end_ns < w->oldest_end_ns)
		w->oldest_end_ns = wait->end_ns;
	return 0;
}

void waits_advance(struct waits *w, uint64_t now_ns)
{
	if (w->pending_count == 0 || now_ns < w->passed_ns + PASS_NS || now_ns < WAITS_TIMEOUT_NS ||
	    w->oldest_end_ns > now_ns - WAITS_TIMEOUT_NS)
		return;
	decide_pending(w, now_ns - WAITS_TIMEOUT_NS);
	w->passed_ns = now_ns;
}

void waits_visit(struct waits *w, const struct id_visitor *v)
{
	for (uint32_t i = 0; i < w->count; i++) {
		visit_stack_or_mark(v, &w->ring[i].origin.launch.number);
		visit_stack_or_mark(v, &w->ring[i].origin.capture.number);
	}
	for (uint32_t i = 0; i < w->pending_count; i++) {
		visit_stack(v, &w->pending[i].stack);
		visit_place(v, &w->pending[i].place);
	}
}

void waits_finish(struct waits *w)
{
	decide_pending(w, UINT64_MAX);
}
