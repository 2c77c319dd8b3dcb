/* SPDX-License-Identifier: MIT */
/*
 * Sums PC samples by place of a kernel and stall reason. CUPTI reports places again and again; a
 * sum is sent once in a while.
 *
 * Bounded by PC_SUMS_MAX places or `max`. The caller sends and empties a full table before adding.
 * Not thread-safe.
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
	uint32_t name_id; /* the function's */
	uint32_t pc;
	uint32_t stall;          /* id of the reason */
	uint32_t correlation_id; /* the launch's; 0: unknown */
};

struct pc_sum {
	struct pc_place place;
	uint64_t samples;
};

/* Zero-initialised is empty. */
struct pc_sums {
	RECORD_SET(struct pc_sum);
	uint32_t max; /* limit of places; 0: PC_SUMS_MAX */
};

/* Adds samples. Returns false if there is no room. */
bool pc_sums_add(struct pc_sums *sums, const struct pc_place *place, uint64_t samples);

/* Sends all sums, and empties the table. */
void pc_sums_send(struct pc_sums *sums, struct sink *sink);

void pc_sums_release(struct pc_sums *sums);

#endif
