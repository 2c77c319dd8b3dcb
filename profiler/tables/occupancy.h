/* SPDX-License-Identifier: MIT */
/*
 * How much of a GPU a kernel's launch can use, by its launch shape and what a multiprocessor holds:
 * NVIDIA's rules for allocating warps, registers and shared memory, as cuda_occupancy.h of the
 * toolkit has them for compute capability 5.0 to 12.x. Not in it, because launch records
 * do not have them: clusters, named barriers, and a share of L1 that leaves less shared memory.
 */
#ifndef PROFILER_TABLES_OCCUPANCY_H
#define PROFILER_TABLES_OCCUPANCY_H

#include <stdint.h>
#include "cupti_trace/wire/gpu_event.h"
#include "profiler/model/timeline.h"

/* Limits of a multiprocessor's blocks; several at once if they allow the same number. */
enum occupancy_limit {
	OCCUPANCY_BY_WARPS = 1,
	OCCUPANCY_BY_BLOCKS = 2,
	OCCUPANCY_BY_REGISTERS = 4,
	OCCUPANCY_BY_SHARED = 8,
	OCCUPANCY_LIMITS_ALL = 15
};

struct occupancy {
	uint64_t blocks, threads; /* of the grid; saturated */
	uint64_t block_threads;   /* likewise */
	/* the rest is 0 where the device is not known, or cannot hold a block */
	uint32_t resident; /* blocks that a multiprocessor holds at once */
	uint32_t warps;    /* of these */
	uint32_t most_warps;
	unsigned int limits; /* enum occupancy_limit */
	uint32_t multiprocessors;
	uint64_t at_once; /* blocks that the GPU holds at once: a wave */
};

struct occupancy occupancy_of(const struct gpu_limits *limits, const struct timeline_shape *shape);

/* Both 0 where the device is not known. */
static inline double occupancy_share(const struct occupancy *o)
{
	return o->most_warps ? (double)o->warps / o->most_warps : 0;
}

static inline double occupancy_waves(const struct occupancy *o)
{
	return o->at_once ? (double)o->blocks / (double)o->at_once : 0;
}

/* The blocks of the last wave, if it is not full; else 0. */
static inline uint64_t occupancy_tail(const struct occupancy *o)
{
	return o->at_once ? o->blocks % o->at_once : 0;
}

/* "registers, shared memory" */
#define OCCUPANCY_LIMITS_BYTES 48
const char *occupancy_limits_text(unsigned int limits, char text[OCCUPANCY_LIMITS_BYTES]);

/*
 * Returns what another launch shape would gain, the most important thing alone, as a sentence
 * without its full stop; "": nothing, by these numbers. Blocks of up to a warp are never to be
 * smaller.
 */
#define OCCUPANCY_ADVICE_BYTES 192
const char *occupancy_advice(const struct occupancy *o, char text[OCCUPANCY_ADVICE_BYTES]);

#endif
