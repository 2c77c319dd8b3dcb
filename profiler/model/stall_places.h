/* SPDX-License-Identifier: MIT */
/*
 * Defines the table of instructions at which warps of kernels stalled (--stalls).
 *
 * For each kernel and reason there are the STALL_PLACES_OF offsets with the most samples, and the
 * sum over all offsets. The table covers the whole run: stacks have lines, but no instructions.
 * Bounded by STALL_PLACES_MAX; unordered.
 */
#ifndef PROFILER_MODEL_STALL_PLACES_H
#define PROFILER_MODEL_STALL_PLACES_H

#include <stdint.h>
#include "profiler/model/result_table.h"

#define STALL_PLACES_OF 3u
#define STALL_PLACES_MAX (1u << 16)
#define STALL_PLACE_ALL UINT32_MAX /* an offset: the sum over all offsets */

struct stall_place {
	const char *kernel,
		*reason; /* names of frames; while collected, the kernel's name is mangled */
	uint32_t offset; /* bytes */
	uint64_t samples;
};

extern const struct table_kind stall_places_table;

#endif
