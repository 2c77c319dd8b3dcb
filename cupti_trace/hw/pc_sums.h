/* SPDX-License-Identifier: MIT */
/*
 * Sums of PC samples: how often warps were seen at each place of a kernel, and why they issued no
 * instruction. CUPTI hands out the same places again and again; a sum is sent once in a while.
 *
 * Bounded by PC_SUMS_MAX places, or fewer that are asked for; whoever adds to a full table sends
 * and empties it first. Not thread-safe.
 */
#ifndef CUPTI_TRACE_HW_PC_SUMS_H
#define CUPTI_TRACE_HW_PC_SUMS_H

#include <stdbool.h>
#include <stdint.h>
#include "cupti_trace/core/sink.h"
#include "symbolize/util/record_set.h"

#define PC_SUMS_MAX (1u << 16)

/* Without padding: compared as bytes. */
struct pc_place {
	uint64_t cubin_crc;
	uint32_t name_id; /* of the function */
	uint32_t pc;
	uint32_t stall;          /* id of the reason */
	uint32_t correlation_id; /* of the launch; 0: not known */
};

struct pc_sum {
	struct pc_place place;
	uint64_t samples;
};

/* Zero-initialised is empty. */
struct pc_sums {
	RECORD_SET(struct pc_sum);
	uint32_t max; /* of places; 0: PC_SUMS_MAX */
};

/* False: there is no room. */
bool pc_sums_add(struct pc_sums *sums, const struct pc_place *place, uint64_t samples);

/* Sends all sums, and empties the table. */
void pc_sums_send(struct pc_sums *sums, struct sink *sink);

void pc_sums_release(struct pc_sums *sums);

#endif
