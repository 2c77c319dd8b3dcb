// SPDX-License-Identifier: MIT
#include "profiler/output/span_links.h"

#include <stdlib.h>
#include <string.h>
#include "profiler/base/saturate.h"
#include "symbolize/array.h"
#include "symbolize/hash.h"

/* Ends of operations and calls are of two clocks (collect/waits.h). */
#define CLOCK_ERROR_NS 5000u
#define NO_ROOM UINT32_MAX
#define RECENT 8u /* operations of a stream */
#define WAYS 8u   /* places where a stream may be */
#define STEPS 64u

/* A call. Positions of others are plus one; 0: none. */
struct wait {
	uint64_t start_ns, end_ns;
	uint64_t last_ns, number; /* of the operation that has ended last so far */
	uint32_t stream;          /* position */
	uint32_t before, after;   /* in its stream; `after` also of free ones */
	bool has_context;         /* else it counts only if there is one context */
};

struct stream {
	struct link_stream_key key;
	uint64_t used; /* when, as a number; 0: free */
	/* calls in about the order of their ends; the first that a later operation may be of */
	uint32_t first, last, cursor;
	struct link_operation recent[RECENT]; /* a ring */
	uint32_t recent_count;
};

#define CONTEXT_NONE 0u
#define CONTEXTS_MANY UINT32_MAX

struct span_links {
	struct stream streams[SPAN_LINKS_STREAMS];
	struct wait waits[SPAN_LINKS_WAITS];
	uint32_t free_wait;
	uint64_t uses;
	uint32_t *contexts; /* of each process: the only one, plus one; or one of the above */
	uint32_t process_count, process_capacity;
};

struct span_links *span_links_new(void)
{
	struct span_links *l = calloc(1, sizeof(*l));

	for (uint32_t i = SPAN_LINKS_WAITS; l && i > 0; i--) {
		l->waits[i - 1].after = l->free_wait;
		l->free_wait = i;
	}
	return l;
}

void span_links_free(struct span_links *l)
{
	if (l)
		free(l->contexts);
	free(l);
}

/* ---- streams ---- */

static bool is_key(const struct link_stream_key *a, const struct link_stream_key *b)
{
	return a->process == b->process && a->context == b->context && a->stream == b->stream;
}

/*
 * The stream; if it is new, in the place of the one without calls that was used the longest time
 * ago. NULL: all have calls.
 */
static struct stream *stream_of(struct span_links *l, const struct link_stream_key *key)
{
	uint32_t hash = hash_pair(key->process, hash_pair(key->context, key->stream));
	struct stream *ways = &l->streams[hash % (SPAN_LINKS_STREAMS / WAYS) * WAYS];
	struct stream *oldest = NULL;

	for (uint32_t i = 0; i < WAYS; i++) {
		struct stream *s = &ways[i];

		if (s->used && is_key(&s->key, key)) {
			s->used = ++l->uses;
			return s;
		}
		if (!s->first && (!oldest || s->used < oldest->used))
			oldest = s;
	}
	if (oldest)
		*oldest = (struct stream){.key = *key, .used = ++l->uses};
	return oldest;
}

static void consider(struct wait *wait, const struct link_operation *o)
{
	if (!o->launched_ns || o->launched_ns > wait->start_ns || o->end_ns <= wait->start_ns ||
	    o->end_ns > saturated_sum(wait->end_ns, CLOCK_ERROR_NS) || o->end_ns < wait->last_ns)
		return;
	wait->last_ns = o->end_ns;
	wait->number = o->number;
}

static struct wait *at(struct span_links *l, uint32_t position)
{
	return &l->waits[position - 1];
}

/* Makes two calls of a stream neighbours; 0: its end. */
static void join(struct span_links *l, struct stream *s, uint32_t before, uint32_t after)
{
	if (before)
		at(l, before)->after = after;
	else
		s->first = after;
	if (after)
		at(l, after)->before = before;
	else
		s->last = before;
}

/* The first call of the stream that ended so late that this may be its operation. */
static uint32_t find_first(struct span_links *l, struct stream *s, uint64_t end_ns)
{
	uint64_t least = end_ns > CLOCK_ERROR_NS ? end_ns - CLOCK_ERROR_NS : 0;
	uint32_t position = s->cursor ? s->cursor : s->last;

	for (uint32_t i = 0; i < STEPS && position && at(l, position)->before; i++) {
		if (at(l, at(l, position)->before)->end_ns < least)
			break;
		position = at(l, position)->before;
	}
	while (position && at(l, position)->end_ns < least)
		position = at(l, position)->after;
	s->cursor = position;
	return position;
}

static void add_to(struct span_links *l, struct stream *s, const struct link_operation *o)
{
	uint32_t position = s->first ? find_first(l, s, o->end_ns) : 0;

	for (uint32_t i = 0; i < STEPS && position; i++) {
		consider(at(l, position), o);
		position = at(l, position)->after;
	}
	s->recent[s->recent_count++ % RECENT] = *o;
}

/* ---- contexts ---- */

static void note_context(struct span_links *l, uint32_t process, uint32_t context)
{
	uint32_t *known;

	if (process >= l->process_count) {
		uint32_t more = process - l->process_count + 1;

		if (!array_reserve(&l->contexts, l->process_count, more, &l->process_capacity,
				   sizeof(*l->contexts)))
			return; /* none is known */
		memset(l->contexts + l->process_count, 0, more * sizeof(*l->contexts));
		l->process_count += more;
	}
	known = &l->contexts[process];
	if (*known == CONTEXT_NONE && context < CONTEXTS_MANY - 1)
		*known = context + 1;
	else if (*known != context + 1)
		*known = CONTEXTS_MANY;
}

static bool has_one_context(const struct span_links *l, uint32_t process)
{
	return process < l->process_count && l->contexts[process] != CONTEXT_NONE &&
	       l->contexts[process] != CONTEXTS_MANY;
}

/* ---- for callers ---- */

uint32_t span_links_wait(struct span_links *l, struct link_stream_key key, uint64_t start_ns,
			 uint64_t end_ns)
{
	struct stream *s = l->free_wait ? stream_of(l, &key) : NULL;
	uint32_t position = l->free_wait, before, after = 0;
	struct wait *wait;

	if (!s)
		return NO_ROOM;
	wait = at(l, position);
	l->free_wait = wait->after;
	*wait = (struct wait){.start_ns = start_ns,
			      .end_ns = end_ns,
			      .stream = (uint32_t)(s - l->streams),
			      .has_context = key.context != SPAN_LINKS_ANY};
	before = s->last;
	for (uint32_t i = 0; i < STEPS && before && at(l, before)->end_ns > end_ns; i++) {
		after = before;
		before = at(l, before)->before;
	}
	join(l, s, before, position);
	join(l, s, position, after);
	for (uint32_t i = 0; i < RECENT && i < s->recent_count; i++)
		consider(wait, &s->recent[i]);
	return position;
}

void span_links_operation(struct span_links *l, struct link_stream_key key,
			  const struct link_operation *operation)
{
	struct link_stream_key all = {key.process, SPAN_LINKS_ANY, SPAN_LINKS_ANY};
	struct stream *s = stream_of(l, &key);

	note_context(l, key.process, key.context);
	if (s)
		add_to(l, s, operation);
	s = stream_of(l, &all);
	if (s)
		add_to(l, s, operation);
}

uint64_t span_links_end(struct span_links *l, uint32_t ticket, bool *dropped)
{
	struct wait *wait;
	struct stream *s;

	*dropped = ticket == NO_ROOM;
	if (ticket == NO_ROOM)
		return 0;
	wait = at(l, ticket);
	s = &l->streams[wait->stream];
	if (s->cursor == ticket)
		s->cursor = wait->after;
	join(l, s, wait->before, wait->after);
	wait->after = l->free_wait;
	l->free_wait = ticket;
	return wait->has_context || has_one_context(l, s->key.process) ? wait->number : 0;
}
