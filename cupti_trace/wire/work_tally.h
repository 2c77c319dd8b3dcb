/* SPDX-License-Identifier: MIT */
/*
 * Sums a process's GPU work for each device, context, stream and kind. The target sums CUPTI's
 * reports, the profiler the profile's contents, so that both can be compared.
 *
 * Grows with distinct keys, up to `max` of them (WORK_TALLY_MAX: about 130 MB). Work under later
 * keys, or after memory ran out, is summed by kind, under keys whose ids are all WORK_TALLY_REST. A
 * key with a sum of its own keeps it and misses nothing. So overflow makes sums incomparable, never
 * wrong: see work_tally_compare.
 *
 * Look-ups take constant time. Sums wrap at 2^64; the profiler refuses input that would overflow
 * them. No locks.
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
	RECORD_SET(struct work_sum); /* in the order of first use */
	uint32_t max;                /* limit of distinct keys; 0: WORK_TALLY_MAX */
	uint32_t last;               /* the sum that was found last */
	bool overflowed; /* some work is under WORK_TALLY_REST; no more keys are added */
};

/*
 * Returns the sum of a key, adding it if missing; valid until the next call. Returns NULL when out
 * of memory: then the work is not counted.
 */
struct work_sum *work_tally_get(struct work_tally *tally, const struct work_key *key);

/* Adds the numbers of one sum to another. */
static inline void work_sum_add(struct work_sum *total, const struct work_sum *sum)
{
	total->count += sum->count;
	total->ns += sum->ns;
	total->bytes += sum->bytes;
}

/* Finds a sum as work_tally_find does, and sooner if it is the one found last. */
struct work_sum *work_tally_again(struct work_tally *tally, const struct work_key *key);

/* Returns the sum of a key, or NULL if it has none of its own. */
struct work_sum *work_tally_find(const struct work_tally *tally, const struct work_key *key);

/* Returns the next sum, or NULL. `*at` is 0 at first. */
const struct work_sum *work_tally_next(const struct work_tally *tally, uint32_t *at);

void work_tally_release(struct work_tally *tally);

/*
 * Result of comparing the profile's sums of a process with the reported ones, key by key: `equal`
 * to the ns and byte, or different. Some keys cannot be compared, because one side has only a rest:
 * its tally overflowed.
 */
struct work_comparison {
	uint64_t equal, different;
	uint64_t not_compared; /* rests with work in them, and keys that may be in a rest */
	/* the first difference: as reported, and as in the profile */
	struct work_sum reported, counted;
};

struct work_comparison work_tally_compare(const struct work_tally *counted,
					  const struct work_tally *reported);

#endif
