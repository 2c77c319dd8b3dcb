/* SPDX-License-Identifier: MIT */
/*
 * The last seconds of a run (--last): all that was added to its profile, one item each, until it is
 * too old or there is no room.
 *
 * Items come in any order of time: records of GPU work are seconds late. They are kept in pieces of
 * RECENT_PIECE, in order of arrival, and only whole pieces are forgotten, the oldest first: when
 * all in it is too old (recent_forget), or when a new piece would exceed the limit.
 *
 * Times are CLOCK_MONOTONIC in ns. Processes choose the times of their items. One that lies in the
 * future counts as of now, so that it cannot keep a piece, or make the rest look incomplete.
 */
#ifndef PROFILER_JOIN_RECENT_H
#define PROFILER_JOIN_RECENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "profiler/model/timeline.h"

/* What is kept of a run takes at most this many bytes: 4 million items. */
#ifndef RECENT_BYTES /* tests use less */
#define RECENT_BYTES (UINT64_C(256) << 20)
#endif
#ifndef RECENT_PIECE /* items; tests use less */
#define RECENT_PIECE 4096u
#endif

struct recent_item {
	struct timeline_record record;
	uint32_t flags;  /* the caller's, like the next */
	uint32_t device; /* of a GPU operation: devices_key() */
};
_Static_assert(sizeof(struct recent_item) == 64, "4 million in RECENT_BYTES");

struct recent;

/* NULL: out of memory. */
struct recent *recent_new(void);
void recent_free(struct recent *r);

/* It is `now_ns`. False: out of memory, and the item is lost, like all before it. */
bool recent_add(struct recent *r, const struct recent_item *item, uint64_t now_ns);

/* Forgets pieces of which everything ended before that time. */
void recent_forget(struct recent *r, uint64_t before_ns);

/* What began from this time on is there, as a whole; 0: everything is. */
uint64_t recent_whole_from(const struct recent *r);

/*
 * The next item, in order of arrival; `*position` is 0 at first. NULL: there are no more. Numbers
 * of stacks and places in it may be changed.
 */
struct recent_item *recent_next(struct recent *r, uint64_t *position);

/* How many items there are; the bytes that they take, never more than RECENT_BYTES. */
uint64_t recent_count(const struct recent *r);
size_t recent_bytes(const struct recent *r);

#endif
