/* SPDX-License-Identifier: MIT */
/*
 * Keeps the items of the last seconds of a run (--last), within a limit of memory.
 *
 * Items arrive in any order of time: GPU records are seconds late. Items are kept in pieces of
 * FLIGHT_RECORDER_PIECE, in order of arrival. Only whole pieces are dropped, the oldest first: when
 * all its items are too old (flight_recorder_forget), or when a new piece would exceed the limit.
 *
 * Times are CLOCK_MONOTONIC in ns. They come from untrusted processes: a time in the future counts
 * as now. So it can neither keep a piece alive, nor make the recording look incomplete.
 */
#ifndef PROFILER_MODEL_FLIGHT_RECORDER_H
#define PROFILER_MODEL_FLIGHT_RECORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "profiler/model/timeline.h"

/* limit in bytes: 4 million items */
#ifndef FLIGHT_RECORDER_BYTES /* tests use less */
#define FLIGHT_RECORDER_BYTES (UINT64_C(256) << 20)
#endif
#ifndef FLIGHT_RECORDER_PIECE /* in items; tests use less */
#define FLIGHT_RECORDER_PIECE 4096u
#endif

struct profile_item {
	struct timeline_record record;
	uint32_t flags;  /* the caller's but for PROFILE_ITEM_TAKEN, as is `device` */
	uint32_t device; /* GPU operation: devices_key() */
};
_Static_assert(sizeof(struct profile_item) == 64, "4 million in FLIGHT_RECORDER_BYTES");

#define PROFILE_ITEM_TAKEN (1u << 31) /* is in an earlier result (--every) */

struct flight_recorder;

/* Returns NULL if out of memory. */
struct flight_recorder *flight_recorder_new(void);
void flight_recorder_free(struct flight_recorder *r);

/*
 * Adds an item at the time `now_ns`. Returns false if out of memory; this item and all earlier ones
 * are lost.
 */
bool flight_recorder_add(struct flight_recorder *r, const struct profile_item *item,
			 uint64_t now_ns);

/* Drops pieces whose items all ended before `before_ns`. */
void flight_recorder_forget(struct flight_recorder *r, uint64_t before_ns);

/*
 * Drops the oldest pieces whose items are all PROFILE_ITEM_TAKEN. They began before the end of a
 * result, so flight_recorder_whole_from is at most that end.
 */
void flight_recorder_drop_taken(struct flight_recorder *r);

/*
 * Returns the start of the complete part: all items that began since are kept. 0: nothing was
 * dropped.
 */
uint64_t flight_recorder_whole_from(const struct flight_recorder *r);

/*
 * Returns the next item in order of arrival, or NULL at the end. `*position` starts at 0. The
 * caller may change the stack and place numbers in the item.
 */
struct profile_item *flight_recorder_next(struct flight_recorder *r, uint64_t *position);

/* Returns the number of dropped items. Dropping reduces the `*position` of every later item. */
uint64_t flight_recorder_forgotten(const struct flight_recorder *r);

/* Return the number of items, and the memory in bytes, at most FLIGHT_RECORDER_BYTES. */
uint64_t flight_recorder_count(const struct flight_recorder *r);
size_t flight_recorder_bytes(const struct flight_recorder *r);

#endif
