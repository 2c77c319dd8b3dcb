/* SPDX-License-Identifier: MIT */
/*
 * What was allocated in a run (--alloc): by process, device and kind of memory, and of each by the
 * stack that allocated it.
 *
 * "At the peak" is the moment at which most bytes were allocated, the first one if there are
 * several; each process, device and kind has its own. What was never given back is "left".
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

/* Returns the kind of a memory kind of CUPTI's (CUpti_ActivityMemoryKind). */
uint32_t memory_kind_of(uint32_t memory);

/* "device", "managed", "pinned host" */
const char *memory_kind_word(uint32_t kind);

struct memory_total {
	uint32_t process, device, kind;
	uint64_t peak_bytes, peak_ns; /* CLOCK_MONOTONIC; 0: none */
	uint64_t left_bytes, left;
	uint64_t allocated_bytes, allocations, frees;
	uint64_t ended;   /* of the frees: with their context */
	uint64_t unknown; /* frees of what is not known */
};

struct memory_row {
	uint32_t stack, total; /* the number of its total */
	uint64_t peak_bytes, at_peak;
	uint64_t left_bytes, left;
	uint64_t allocated_bytes, allocations;
};

/*
 * A memory pool: what it holds, and what it has handed out of that, in the sizes that it uses. Both
 * as of the last call that CUPTI recorded of it: what it gives back on its own, while a thread
 * waits for the GPU, shows at the next one.
 */
struct memory_pool {
	uint64_t address;
	uint32_t process, device, kind;
	uint32_t unused;
	uint64_t most_held, most_held_ns, most_used; /* CLOCK_MONOTONIC; 0: never any */
	uint64_t peak_held, peak_used;               /* at the peak of the total that it is of */
	uint64_t left_held, left_used;
	uint64_t keeps; /* what it holds on to when the GPU is waited for; UINT64_MAX: all */
};

/* Zero-initialised is empty. */
struct memory_use {
	struct memory_total *totals;
	struct memory_row *rows;
	struct memory_pool *pools;
	uint32_t total_count, total_capacity, row_count, row_capacity, pool_count, pool_capacity;
	/* while it is made; then in the ledger */
	uint64_t not_kept; /* allocations and releases that are in neither */
	uint64_t late;     /* that came too late to be in their order: peaks may be wrong */
};

void memory_use_release(struct memory_use *use);

extern const struct table_kind memory_totals_table, memory_rows_table, memory_pools_table;

/* Shows it as tables, which refer to it. */
void memory_use_show(const struct memory_use *use, struct result_tables *tables);

/* Finds it in tables, which keep it. False: it was not asked for, and `use` is empty. */
bool memory_use_of(const struct result_tables *tables, struct memory_use *use);

#endif
