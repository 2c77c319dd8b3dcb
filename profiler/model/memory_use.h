/* SPDX-License-Identifier: MIT */
/*
 * Holds the allocations of a run (--alloc): by process, device and kind of memory, and then by the
 * allocating stack.
 *
 * "At the peak" is the first moment with the most allocated bytes, separately for each process,
 * device and kind. "Left" is memory that was never freed.
 */
#ifndef PROFILER_MODEL_MEMORY_USE_H
#define PROFILER_MODEL_MEMORY_USE_H

#include <stdbool.h>
#include <stdint.h>
#include "profiler/model/result_table.h"

enum memory_kind {
	MEMORY_OF_DEVICE, /* also arrays, pools, and physical memory of virtual addresses */
	MEMORY_MANAGED,
	MEMORY_OF_HOST, /* pinned */
	MEMORY_KINDS
};

/* Returns the enum memory_kind of a CUpti_ActivityMemoryKind. */
uint32_t memory_kind_of(uint32_t memory);

/* Returns "device", "managed" or "pinned host". */
const char *memory_kind_word(uint32_t kind);

struct memory_total {
	uint32_t process, device, kind;
	uint64_t peak_bytes, peak_ns; /* CLOCK_MONOTONIC; 0: none */
	uint64_t left_bytes, left;
	uint64_t allocated_bytes, allocations, frees;
	uint64_t ended;   /* `frees` by the end of their context */
	uint64_t unknown; /* frees of unknown memory */
	/* state of allocations.c, in no column: allocated now; number of peaks so far */
	uint64_t bytes, peak_number;
};

struct memory_row {
	uint32_t stack, total; /* `total`: index of its memory_total */
	uint64_t peak_bytes, at_peak;
	uint64_t left_bytes, left;
	uint64_t allocated_bytes, allocations;
	/* state of allocations.c, in no column: allocated now; number of the noted peak */
	uint64_t bytes, pieces, peak_number;
};

/*
 * A memory pool: the bytes that it holds, and the bytes in use. Both are as of CUPTI's last record
 * of the pool. Memory that the pool releases by itself, while a thread waits for the GPU, shows
 * with the next record.
 */
struct memory_pool {
	uint64_t address;
	uint32_t process, device, kind;
	uint32_t total; /* state of allocations.c, as are the last three */
	uint64_t most_held, most_held_ns, most_used; /* CLOCK_MONOTONIC; 0: never any */
	uint64_t peak_held, peak_used;               /* at the peak of its total */
	uint64_t left_held, left_used;
	uint64_t keeps; /* release threshold in bytes; UINT64_MAX: keeps all */
	uint64_t held, used, peak_number;
};

/* The rows of the tables; borrowed. */
struct memory_use {
	const struct memory_total *totals;
	const struct memory_row *rows;
	const struct memory_pool *pools;
	uint32_t total_count, row_count, pool_count;
};

extern const struct table_kind memory_totals_table, memory_rows_table, memory_pools_table;

/* Adds the three tables, which borrow the rows. */
void memory_use_show(const struct memory_use *use, struct result_tables *tables);

/*
 * Finds the three tables, which keep their rows. Returns false with an empty `use` if there are
 * none.
 */
bool memory_use_of(const struct result_tables *tables, struct memory_use *use);

#endif
