/* SPDX-License-Identifier: MIT */
/*
 * Sums of a process's GPU work for each device, context, stream and kind: of CUPTI's reports in the
 * target, and of the profile's contents in the profiler, so that the two can be compared.
 *
 * Grows with distinct keys, up to `max` of them (WORK_TALLY_MAX: about 130 MB). Work under keys
 * that come after that, or after memory ran out, is summed up by kind, under keys whose ids are all
 * WORK_TALLY_REST. A key that has a sum of its own keeps it and misses nothing, so overflow makes
 * sums incomparable, never wrong: see work_tally_compare.
 *
 * Look-ups take constant time. Sums wrap at 2^64 (the profiler refuses what would take one there);
 * no locks.
 */
#ifndef CUPTI_TRACE_WIRE_WORK_TALLY_H
#define CUPTI_TRACE_WIRE_WORK_TALLY_H

#include <stdbool.h>
#include <stdint.h>
#include "cupti_trace/wire/gpu_work.h"
#include "symbolize/util/record_set.h"

#define WORK_TALLY_MAX ((1u << 20) - GPU_WORKS) /* with the rests a power of two */
#define WORK_TALLY_REST UINT32_MAX

struct work_key {
	uint32_t device;
	uint32_t context;
	uint32_t stream;
	uint32_t work; /* enum gpu_work */
};

struct work_sum {
	struct work_key key;
	uint64_t count;
	uint64_t ns;
	uint64_t bytes;
};

/* Zero-initialised is empty. */
struct work_tally {
	RECORD_SET(struct work_sum); /* in the order in which their keys first came */
	uint32_t max;                /* of distinct keys; 0: WORK_TALLY_MAX */
	bool overflowed;             /* keys may be under WORK_TALLY_REST; no new ones are made */
};

/*
 * The sum of a key, made if there is none; valid until the next call. NULL when out of memory: then
 * it is not counted.
 */
struct work_sum *work_tally_get(struct work_tally *tally, const struct work_key *key);

/* Adds the numbers of one sum to another. */
static inline void work_sum_add(struct work_sum *total, const struct work_sum *sum)
{
	total->count += sum->count;
	total->ns += sum->ns;
	total->bytes += sum->bytes;
}

/* The sum of a key, or NULL if it has none of its own. */
struct work_sum *work_tally_find(const struct work_tally *tally, const struct work_key *key);

/* The next sum, from *at on (0 at first), or NULL. */
const struct work_sum *work_tally_next(const struct work_tally *tally, uint32_t *at);

void work_tally_release(struct work_tally *tally);

/*
 * Compares the profile's sums of a process with those that it reported, key by key: `equal` to the
 * ns and byte, or different. Some keys cannot be compared, because one side has no sum for them
 * alone: the tally overflowed, here or in the process, which then reported a rest.
 */
struct work_comparison {
	uint64_t equal, different;
	uint64_t not_compared; /* rests with work in them, and keys that may be in one */
	/* the first difference, if there is one: as reported, and as it is in the profile */
	struct work_sum reported, counted;
};

struct work_comparison work_tally_compare(const struct work_tally *counted,
					  const struct work_tally *reported);

#endif
