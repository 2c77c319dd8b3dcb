/* SPDX-License-Identifier: MIT */
/*
 * Where something ran: distinct combinations of process, thread, device, context and stream, each
 * known by a small number.
 *
 * A run keeps only those parts that some output asks for (a mask); the others read as unknown, so
 * that rows of a profile are not told apart by what nobody looks at. Bounded: past PLACES_MAX, a
 * place is known by its process alone, and then not at all.
 */
#ifndef PROFILER_PROFILE_PLACES_H
#define PROFILER_PROFILE_PLACES_H

#include <stdint.h>
#include "symbolize/hash_index.h"

#ifndef PLACES_MAX /* tests have a smaller one */
#define PLACES_MAX (1u << 20)
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

/* By enum place_part: the run's own number of the process, a thread id, CUPTI's ids. */
struct place {
	uint32_t part[PLACE_PARTS]; /* PLACE_UNKNOWN: not known, or not kept */
};

/* Zero-initialise, then places_init. */
struct places {
	uint32_t mask; /* 1 << enum place_part: those that are kept */
	struct place *list;
	uint32_t count, capacity;
	struct hash_index index;
	uint32_t last; /* found last: mostly the next one too */
};

#define PLACE_NOWHERE 0u /* nothing is known of it */

/* 0 or -ENOMEM. */
int places_init(struct places *places, uint32_t mask);
void places_release(struct places *places);

/* The number of a place, of which only the parts in the mask count. */
uint32_t places_add(struct places *places, const struct place *place);

static inline struct place place_unknown(void)
{
	return (struct place){
		{PLACE_UNKNOWN, PLACE_UNKNOWN, PLACE_UNKNOWN, PLACE_UNKNOWN, PLACE_UNKNOWN}};
}

#endif
