/* SPDX-License-Identifier: MIT */
/*
 * At which instructions kernels' warps were, and why they stalled there (--stalls): for each kernel
 * and reason the STALL_PLACES_OF places with the most samples, as offsets in the kernel's code, and
 * the sum over all its places. Of the whole run: stacks have lines, but no instructions.
 *
 * Bounded by STALL_PLACES_MAX. In any order.
 */
#ifndef PROFILER_MODEL_STALL_PLACES_H
#define PROFILER_MODEL_STALL_PLACES_H

#include <stdint.h>
#include "profiler/model/result_table.h"

#define STALL_PLACES_OF 3u
#define STALL_PLACES_MAX (1u << 16)
#define STALL_PLACE_ALL UINT32_MAX /* an offset: the sum */

struct stall_place {
	const char *kernel, *reason; /* names of frames; while collected, the kernel's mangled */
	uint32_t offset;             /* bytes */
	uint64_t samples;
};

extern const struct table_kind stall_places_table;

#endif
