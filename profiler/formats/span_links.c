// SPDX-License-Identifier: MIT
#include "profiler/formats/span_links.h"

#include <errno.h>
#include <stdlib.h>
#include "symbolize/util/record_set.h"
#include "symbolize/util/saturate.h"

struct stream {
	struct link_stream_key key;
	uint32_t count; /* operations added; once the ring is full, its size plus the next position
			 */
	uint64_t older_end_ns; /* the last end of operations not kept */
	struct link_operation recent[SPAN_LINKS_OPERATIONS]; /* ring buffer */
};

struct span_links {
	RECORD_SET(struct stream);
};

struct span_links *span_links_new(void)
{
	return calloc(1, sizeof(struct span_links));
}

void span_links_free(struct span_links *l)
{
	if (!l)
		return;
	record_set_release(&l->set);
	free(l);
}

int span_links_add(struct span_links *l, struct link_stream_key key,
		   const struct link_operation *operation)
{
	uint32_t at = record_find(l, &key);
	struct link_operation *place;
	struct stream *s;

	if (at == RECORD_NONE && l->count == SPAN_LINKS_STREAMS)
		return 0;
	if (at == RECORD_NONE)
		at = record_add(l, &key, &((struct stream){.key = key}));
	if (at == RECORD_NONE)
		return -ENOMEM;
	s = &l->list[at];
	place = &s->recent[s->count % SPAN_LINKS_OPERATIONS];
	if (place->end_ns > s->older_end_ns)
		s->older_end_ns = place->end_ns;
	*place = *operation;
	if (++s->count == 2 * SPAN_LINKS_OPERATIONS)
		s->count = SPAN_LINKS_OPERATIONS;
	return 0;
}

/* Returns whether an operation was surely launched before a time. */
static bool is_before(const struct link_operation *o, uint64_t time_ns)
{
	return o->launch_start_ns && o->launch_end_ns && o->launch_end_ns <= time_ns;
}

uint64_t span_links_find(const struct span_links *l, struct link_stream_key key, uint64_t start_ns,
			 uint64_t end_ns, bool *unknown)
{
	uint64_t ran_until =
		start_ns > SPAN_LINKS_CLOCK_ERROR_NS ? start_ns - SPAN_LINKS_CLOCK_ERROR_NS : 0;
	uint64_t sure_from = saturated_sum(start_ns, SPAN_LINKS_CLOCK_ERROR_NS);
	uint64_t last_end = saturated_sum(end_ns, SPAN_LINKS_CLOCK_ERROR_NS);
	uint32_t at = record_find(l, &key);
	const struct link_operation *last = NULL;
	const struct stream *s;
	uint64_t maybe_end; /* the last end of operations that may be the one */

	*unknown = at == RECORD_NONE && l->count == SPAN_LINKS_STREAMS;
	if (at == RECORD_NONE)
		return 0;
	s = &l->list[at];
	maybe_end = s->older_end_ns;
	for (uint32_t i = 0; i < SPAN_LINKS_OPERATIONS && i < s->count; i++) {
		const struct link_operation *o = &s->recent[i];

		if (o->end_ns <= ran_until || o->launch_start_ns > start_ns)
			continue; /* ended before the call, or was launched after it began */
		if (is_before(o, start_ns)) {
			if (!last || o->end_ns >= last->end_ns)
				last = o;
		} else if (o->end_ns <= last_end && o->end_ns > maybe_end) {
			maybe_end = o->end_ns;
		}
	}
	if (maybe_end > ran_until && (!last || maybe_end >= last->end_ns))
		*unknown = true;
	if (last && (last->end_ns > last_end || last->end_ns <= sure_from))
		*unknown = true;
	return last && !*unknown ? last->number : 0;
}
