/* SPDX-License-Identifier: MIT */
/*
 * Numbers the places where something ran: distinct combinations of process, thread, device, context
 * and stream.
 *
 * A run keeps only the parts that some output needs (a mask). Other parts are unknown, so that rows
 * are not split by parts that no output shows. Bounded: beyond PLACES_MAX or the quota, a place
 * keeps only its process, and finally nothing.
 */
#ifndef PROFILER_MODEL_PLACES_H
#define PROFILER_MODEL_PLACES_H

#include <stdint.h>
#include "profiler/base/quota.h"
#include "profiler/model/id_remap.h"
#include "symbolize/util/record_set.h"

#ifndef PLACES_MAX /* tests use a smaller one */
#define PLACES_MAX (1u << 18)
#endif

enum place_part {
	PLACE_PROCESS,
	PLACE_THREAD,
	PLACE_DEVICE,
	PLACE_CONTEXT,
	PLACE_STREAM,
	PLACE_PARTS
};

#define PLACES_ALL ((1u << PLACE_PARTS) - 1) /* a mask of all parts */
#define PLACE_UNKNOWN UINT32_MAX

/* Indexed by enum place_part: the profiler's number of the process, the thread id, CUPTI's ids. */
struct place {
	uint32_t part[PLACE_PARTS]; /* PLACE_UNKNOWN: unknown, or not kept */
};

#define PLACE_BYTES (sizeof(struct place) + HASH_INDEX_ENTRY_BYTES) /* charged to the quota */

/* Zero-initialise, then call places_init(). */
struct places {
	uint32_t mask; /* kept parts: 1 << enum place_part */
	RECORD_SET(struct place);
	struct place asked;   /* the last lookup, which is likely the next */
	uint32_t last;        /* its result */
	struct quota *memory; /* borrowed; set it after places_init; NULL: no limit */
};

#define PLACE_NOWHERE ((struct place_id){0}) /* unknown */

/* Returns 0 or -ENOMEM. */
int places_init(struct places *places, uint32_t mask);
void places_release(struct places *places);

/* Returns the id of a place, comparing only the parts in the mask. */
struct place_id places_add(struct places *places, const struct place *place);

/*
 * Drops unused places. `numbers` has an entry for each, ID_UNUSED if unused, and receives the new
 * numbers (id_remap.h).
 */
void places_forget(struct places *places, uint32_t *numbers);

static inline struct place place_unknown(void)
{
	return (struct place){
		{PLACE_UNKNOWN, PLACE_UNKNOWN, PLACE_UNKNOWN, PLACE_UNKNOWN, PLACE_UNKNOWN}};
}

#endif
