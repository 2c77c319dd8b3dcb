/* SPDX-License-Identifier: MIT */
/* Sums up amounts by function. Without memory an amount is left out. */
#ifndef PROFILER_FINDINGS_SITE_SUMS_H
#define PROFILER_FINDINGS_SITE_SUMS_H

#include "profiler/model/result.h"
#include "symbolize/util/record_set.h"
#include "symbolize/util/saturate.h"

struct site_sum {
	uint64_t site;                  /* key: address of the frame */
	const struct frame_info *frame; /* NULL: unknown */
	uint64_t amount;
};

/* Zero-initialise: empty. */
struct site_sums {
	RECORD_SET(struct site_sum) all;
};

static inline void site_sums_add(struct site_sums *sums, const struct frame_info *frame,
				 uint64_t amount)
{
	const uint64_t key = (uintptr_t)frame;
	uint32_t at = record_get(&sums->all, &key, &((struct site_sum){key, frame, 0}));

	if (at != RECORD_NONE)
		saturated_add(&sums->all.list[at].amount, amount);
}

/* Returns the largest sum; the first of equal ones. Returns NULL if there is none. */
static inline const struct site_sum *site_sums_largest(const struct site_sums *sums)
{
	const struct site_sum *largest = NULL;

	for (uint32_t i = 0; i < sums->all.count; i++)
		if (!largest || sums->all.list[i].amount > largest->amount)
			largest = &sums->all.list[i];
	return largest;
}

static inline void site_sums_release(struct site_sums *sums)
{
	record_set_release(&sums->all.set);
}

#endif
