/* SPDX-License-Identifier: MIT */
/*
 * Sums of GPU work for each device, context, stream and kind: kept in the target of what CUPTI
 * reported, and in the profiler of what ended up in the profile, so that the two can be compared.
 *
 * Grows with distinct keys, up to WORK_TALLY_MAX; what comes after that is summed up under one key
 * a kind of work whose ids are all WORK_TALLY_REST. Sums wrap at 2^64; no locks.
 */
#ifndef CUPTI_TRACE_WORK_TALLY_H
#define CUPTI_TRACE_WORK_TALLY_H

#include <stdbool.h>
#include <stdint.h>

#ifndef WORK_TALLY_MAX /* tests have a smaller one */
#define WORK_TALLY_MAX 65536u
#endif
#define WORK_TALLY_REST UINT32_MAX

struct work_key {
	uint32_t process; /* pid, or 0 where there is only one */
	uint32_t device;
	uint32_t context;
	uint32_t stream;
	uint32_t work; /* enum gpu_work */
};

struct work_sum {
	struct work_key key;
	uint32_t used; /* internal */
	uint64_t count;
	uint64_t ns;
	uint64_t bytes;
	uint64_t unmatched; /* of count: no launch was found */
	uint64_t unmatched_ns;
	uint64_t bad_times; /* of count: no usable timestamps */
	uint64_t staged;    /* of count: gpu_work_is_staged() */
	/* of count: what gpu_event.h's enum gpu_outside says of their times */
	uint64_t before, before_ns, after, after_ns;
};

/* Zero-initialised is empty. */
struct work_tally {
	struct work_sum *sums; /* open addressing */
	uint32_t capacity;     /* a power of two, or 0 */
	uint32_t count;
	bool overflowed; /* something is under WORK_TALLY_REST, or memory ran out */
};

/* The sum of a key, made if there is none. NULL when out of memory: then it is not counted. */
struct work_sum *work_tally_get(struct work_tally *tally, const struct work_key *key);

/* The sum of a key, or NULL if there is none. */
const struct work_sum *work_tally_find(const struct work_tally *tally, const struct work_key *key);

/* The next sum that is in use, from *at on (0 at first), or NULL. In no order. */
const struct work_sum *work_tally_next(const struct work_tally *tally, uint32_t *at);

void work_tally_release(struct work_tally *tally);

#endif
