/* SPDX-License-Identifier: MIT */
/*
 * Follows allocations of GPU memory (--alloc), and finds the memory at the peak, by stack. No I/O.
 *
 * A peak depends on the order of events in time, but events arrive in any order. So events are kept
 * and sorted: all events of a run, up to `pending_max`. Beyond that, the older half is taken as
 * complete, and later events of that time are counted as late.
 *
 * An allocation at a known address implies a release: it was lost, or CUDA has no record of it.
 * Releases of unknown addresses are counted.
 *
 * Events after the recorded part of the run are ignored. Memory is followed from the start,
 * whenever recording begins.
 *
 * With --last, memory that was allocated at the start of the last seconds counts in peaks and as
 * left. Sums and numbers of allocations and releases are those of the last seconds. Old events are
 * applied from time to time (allocations_forget). Stacks and processes without memory are then
 * dropped. If there are too many events, the part begins later (allocations_whole_from).
 *
 * Each event takes constant time, including the peaks of all stacks: a stack's bytes at the peak
 * are noted when they first change after it.
 */
#ifndef PROFILER_ADDONS_ALLOCATIONS_H
#define PROFILER_ADDONS_ALLOCATIONS_H

#include <stdbool.h>
#include <stdint.h>
#include "profiler/addons/addon.h"
#include "profiler/model/memory_use.h"
#include "symbolize/util/record_set.h"

#define ALLOCATIONS_PENDING (1u << 19)
/* smallest number of events between two calls that apply old ones */
#define ALLOCATIONS_FORGET (1u << 14)

enum allocation_event_type {
	ALLOCATION_FREE, /* comes first among events of one time */
	ALLOCATION_POOL, /* new size and use of the pool at an address */
	ALLOCATION_MADE,
	ALLOCATION_CONTEXT_ENDS, /* frees all memory of the context */
	ALLOCATION_PROCESS_ENDS, /* frees all memory of the process before the last seconds */
};

struct allocation_event {
	uint64_t time_ns, address, bytes;
	uint64_t used, keeps; /* pools */
	uint64_t number;      /* set by allocations_add() */
	uint32_t type, process, device, context, kind;
	struct stack_id stack; /* stack of ALLOCATION_MADE */
};

struct allocations {
	/* results, complete after allocations_finish() */
	RECORD_SET(struct memory_total) totals;
	RECORD_SET(struct memory_row) rows;
	RECORD_SET(struct memory_pool) pools;
	uint64_t not_kept;               /* events without room, or without times */
	uint64_t late;                   /* events too late to be in order: peaks may be wrong */
	const struct addon_parts *parts; /* set in the add-on only */
	/* quotas for results, and for temporary data; borrowed; NULL: no limit */
	struct quota *memory, *passing;
	const struct time_range *time_range; /* recorded time; borrowed; NULL: all */
	struct allocation_event *pending;
	uint32_t pending_count, pending_capacity, pending_paid;
	uint32_t pending_max;      /* ALLOCATIONS_PENDING by default */
	uint64_t number, taken_ns; /* events up to `taken_ns` have been applied */
	uint64_t wanted_ns;        /* start of the wanted time (allocations_forget) */
	uint32_t forget_at;        /* number of pending events at which allocations_forget() acts */
	bool is_over;              /* ends of processes do not matter: they are in the part */
	struct piece *pieces;
	uint32_t piece_count, piece_capacity, free_piece, piece_paid;
	struct hash_index piece_index;
	RECORD_SET(struct owner) owners;
};

void allocations_init(struct allocations *a);
void allocations_release(struct allocations *a);

void allocations_add(struct allocations *a, const struct allocation_event *event);

/* Drops events before that time, except for memory that is still allocated. */
void allocations_forget(void *addon, uint64_t before_ns);

/* Returns the time from which all events are known. */
uint64_t allocations_whole_from(const struct allocations *a);

/* Starts the wanted part of the run at that time. All events have arrived. */
void allocations_begin_part(struct allocations *a, uint64_t from_ns);

/* Visits stacks (model/id_remap.h). */
void allocations_visit(void *addon, const struct id_visitor *visitor);

/* Completes the results, and frees temporary data. All events have arrived. */
void allocations_finish(struct allocations *a);

/* Wanted with --alloc. */
extern const struct addon addon_allocations;

#endif
