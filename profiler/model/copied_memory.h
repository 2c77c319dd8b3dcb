/* SPDX-License-Identifier: MIT */
/*
 * Holds sums of copies between host and device, by kind of host memory and by launch stack.
 *
 * A copy from or to pageable memory goes through a buffer of the driver: it is slower than one of
 * pinned memory, and an asynchronous one may block its caller. The kinds are those of CUPTI's
 * records (CUpti_ActivityMemoryKind). Copies whose host side is unknown are not in the table.
 *
 * Not with --last, whose sums are those of the last seconds.
 */
#ifndef PROFILER_MODEL_COPIED_MEMORY_H
#define PROFILER_MODEL_COPIED_MEMORY_H

#include <stdint.h>
#include "profiler/model/result_table.h"

#define COPIED_PAGEABLE "pageable"

struct copied_memory {
	const char *direction; /* "HtoD" or "DtoH" */
	const char *memory;    /* COPIED_PAGEABLE, "pinned" or "managed" */
	uint32_t stack;
	uint64_t copies, bytes, ns;
};

extern const struct table_kind copied_memory_table;

#endif
