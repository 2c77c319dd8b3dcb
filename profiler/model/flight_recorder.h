/* SPDX-License-Identifier: MIT */
/*
 * The last seconds of a run (--last): all that was added to its profile, one item each, until it is
 * too old or there is no room.
 *
 * Items come in any order of time: records of GPU work are seconds late. They are kept in pieces of
 * FLIGHT_RECORDER_PIECE, in order of arrival, and only whole pieces are forgotten, the oldest
 * first: when all in it is too old (flight_recorder_forget), or when a new piece would exceed the
 * limit.
 *
 * Times are CLOCK_MONOTONIC in ns. Processes choose the times of their items. One that lies in the
 * future counts as of now, so that it cannot keep a piece, or make the rest look incomplete.
 */
#ifndef PROFILER_MODEL_FLIGHT_RECORDER_H
#define PROFILER_MODEL_FLIGHT_RECORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "profiler/model/timeline.h"

/* What is kept of a run takes at most this many bytes: 4 million items. */
#ifndef FLIGHT_RECORDER_BYTES /* tests use less */
#define FLIGHT_RECORDER_BYTES (UINT64_C(256) << 20)
#endif
#ifndef FLIGHT_RECORDER_PIECE /* items; tests use less */
#define FLIGHT_RECORDER_PIECE 4096u
#endif

struct profile_item {
	struct timeline_record record;
	uint32_t flags;  /* the caller's, like the next */
	uint32_t device; /* of a GPU operation: devices_key() */
};
_Static_assert(sizeof(struct profile_item) == 64, "4 million in FLIGHT_RECORDER_BYTES");

struct flight_recorder;

/* NULL: out of memory. */
struct flight_recorder *flight_recorder_new(void);
void flight_recorder_free(struct flight_recorder *r);

/* It is `now_ns`. False: out of memory, and the item is lost, like all before it. */
bool flight_recorder_add(struct flight_recorder *r, const struct profile_item *item,
			 uint64_t now_ns);

/* Forgets pieces of which everything ended before that time. */
void flight_recorder_forget(struct flight_recorder *r, uint64_t before_ns);

/* Returns the time from which on all that began is there, as a whole; 0: everything is. */
uint64_t flight_recorder_whole_from(const struct flight_recorder *r);

/*
 * The next item, in order of arrival; `*position` is 0 at first. NULL: there are no more. Numbers
 * of stacks and places in it may be changed.
 */
struct profile_item *flight_recorder_next(struct flight_recorder *r, uint64_t *position);

/* Returns how many items were forgotten: `*position` of an item is less by as many than it was. */
uint64_t flight_recorder_forgotten(const struct flight_recorder *r);

/* How many items there are; the bytes that they take, never more than FLIGHT_RECORDER_BYTES. */
uint64_t flight_recorder_count(const struct flight_recorder *r);
size_t flight_recorder_bytes(const struct flight_recorder *r);

#endif
