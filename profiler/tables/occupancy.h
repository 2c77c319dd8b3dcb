/* SPDX-License-Identifier: MIT */
/*
 * Computes how much of a GPU a launch can use, by its shape and the limits of a multiprocessor.
 *
 * Follows NVIDIA's rules for allocating warps, registers and shared memory: cuda_occupancy.h of the
 * toolkit, for compute capability 5.0 to 12.x. Not included, for launch records do not tell:
 * clusters, named barriers, and L1 that takes from shared memory.
 */
#ifndef PROFILER_TABLES_OCCUPANCY_H
#define PROFILER_TABLES_OCCUPANCY_H

#include <stdint.h>
#include "cupti_trace/wire/gpu_event.h"
#include "profiler/model/timeline.h"

/* Limits to a multiprocessor's blocks; several, if they allow equal numbers. */
enum occupancy_limit {
	OCCUPANCY_BY_WARPS = 1,
	OCCUPANCY_BY_BLOCKS = 2,
	OCCUPANCY_BY_REGISTERS = 4,
	OCCUPANCY_BY_SHARED = 8,
	OCCUPANCY_LIMITS_ALL = 15
};

struct occupancy {
	uint64_t blocks, threads; /* in the grid; saturated */
	uint64_t block_threads;   /* threads in a block; saturated */
	/* the rest is 0 if the device is unknown, or cannot hold a block */
	uint32_t resident; /* blocks that a multiprocessor holds at once */
	uint32_t warps;    /* warps of these blocks */
	uint32_t most_warps;
	unsigned int limits; /* enum occupancy_limit */
	uint32_t multiprocessors;
	uint64_t at_once; /* blocks that the GPU holds at once: a wave */
};

struct occupancy occupancy_of(const struct gpu_limits *limits, const struct timeline_shape *shape);

/* Return the share of warps, and the number of waves; 0 if the device is unknown. */
static inline double occupancy_share(const struct occupancy *o)
{
	return o->most_warps ? (double)o->warps / o->most_warps : 0;
}

static inline double occupancy_waves(const struct occupancy *o)
{
	return o->at_once ? (double)o->blocks / (double)o->at_once : 0;
}

/* Returns the blocks of the last wave if it is not full, else 0. */
static inline uint64_t occupancy_tail(const struct occupancy *o)
{
	return o->at_once ? o->blocks % o->at_once : 0;
}

/* Writes and returns "registers, shared memory". */
#define OCCUPANCY_LIMITS_BYTES 48
const char *occupancy_limits_text(unsigned int limits, char text[OCCUPANCY_LIMITS_BYTES]);

/*
 * Writes and returns the most important advice for a better launch shape, without a full stop; ""
 * if there is none. Never advises blocks smaller than a warp.
 */
#define OCCUPANCY_ADVICE_BYTES 192
const char *occupancy_advice(const struct occupancy *o, char text[OCCUPANCY_ADVICE_BYTES]);

#endif
