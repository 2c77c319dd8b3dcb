/* SPDX-License-Identifier: MIT */
/*
 * What was allocated in a run (--alloc): by process, device and kind of memory, and of each by the
 * stack that allocated it.
 *
 * "At the peak" is the moment at which most bytes were allocated, the first one if there are
 * several; each process, device and kind has its own. What was never given back is "left".
 */
#ifndef PROFILER_PROFILE_MEMORY_USE_H
#define PROFILER_PROFILE_MEMORY_USE_H

#include <stdbool.h>
#include <stdint.h>

enum memory_kind {
	MEMORY_OF_DEVICE, /* also arrays, pools, and physical memory of virtual addresses */
	MEMORY_MANAGED,
	MEMORY_OF_HOST, /* pinned */
	MEMORY_KINDS
};

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

/* Zero-initialised is empty. */
struct memory_use {
	struct memory_total *totals;
	struct memory_row *rows;
	uint32_t total_count, total_capacity, row_count, row_capacity;
	/* while it is made; then in the ledger */
	uint64_t not_kept; /* allocations and releases that are in neither */
	uint64_t late;     /* that came too late to be in their order: peaks may be wrong */
};

void memory_use_release(struct memory_use *use);

/* As tables: by device, and by stack. NULL with errno. */
struct result;
struct figures *memory_totals_figures(const struct result *result);
struct figures *memory_rows_figures(const struct result *result);

#endif
