/* SPDX-License-Identifier: MIT */
/*
 * Follows each piece of memory from its allocation to its release (--alloc), and finds what was
 * allocated at the peak, by stack. No I/O.
 *
 * Events come in any order, and a peak depends on their order in time, so they are kept and sorted:
 * all of a run, if there are no more than `pending_max`; else the older half is taken as
 * complete when there is no more room. What comes behind that is counted as late.
 *
 * An address that is allocated again was given back: its release was lost, or CUDA has no record of
 * it. Releases of unknown addresses are counted.
 *
 * What comes after the part of the run that is recorded is left out; memory is followed from the
 * start, whenever that part begins.
 *
 * With --last, what was allocated when they began counts in
 * peaks and in what is left; what was allocated and given back, and how often, is of these seconds
 * alone. Events that are too old are taken now and then (allocations_forget), and what is left of
 * them is what was still allocated: stacks and processes that have nothing any more are forgotten.
 * If there are more events than may be kept, the part begins later (allocations_whole_from).
 *
 * Each event takes constant time, with the peaks of all stacks: a stack's bytes at the peak are
 * noted when they change for the first time after it.
 */
#ifndef PROFILER_ADDONS_ALLOCATIONS_H
#define PROFILER_ADDONS_ALLOCATIONS_H

#include <stdbool.h>
#include <stdint.h>
#include "cupti_trace/wire/time_range.h"
#include "profiler/addons/addon.h"
#include "profiler/base/quota.h"
#include "profiler/model/memory_use.h"
#include "profiler/model/id_remap.h"
#include "symbolize/util/hash_index.h"

#define ALLOCATIONS_PENDING (1u << 19)
/* Events between two looks for old ones, at least. */
#define ALLOCATIONS_FORGET (1u << 14)

enum allocation_event_type {
	ALLOCATION_FREE, /* of two at one time, this comes first */
	ALLOCATION_POOL, /* what a pool, at an address, holds and has handed out */
	ALLOCATION_MADE,
	ALLOCATION_CONTEXT_ENDS, /* and all that was allocated in it */
	ALLOCATION_PROCESS_ENDS, /* of that, what was before the last seconds is forgotten */
};

struct allocation_event {
	uint64_t time_ns, address, bytes;
	uint64_t used, keeps; /* of a pool */
	uint64_t number;      /* set by allocations_add */
	uint32_t type, process, device, context, kind;
	struct stack_id stack; /* of ALLOCATION_MADE */
};

struct allocations {
	struct memory_use use;
	/* for what is kept, and for what only events need; borrowed; NULL: no limit */
	struct quota *memory, *passing;
	const struct time_range *time_range; /* what is recorded; borrowed; NULL: all */
	struct allocation_event *pending;
	uint32_t pending_count, pending_capacity, pending_paid;
	uint32_t pending_max;      /* allocations_init sets ALLOCATIONS_PENDING */
	uint64_t number, taken_ns; /* all events up to this time have been taken */
	uint64_t wanted_ns;        /* what was before is not (allocations_forget) */
	uint32_t forget_at;        /* how many are pending when allocations_forget looks next */
	bool is_over;              /* processes' ends do not matter: they are in the part */
	struct scope *scopes;      /* by total */
	struct user *users;        /* by row */
	struct holder *holders;    /* by pool */
	uint32_t scope_capacity, user_capacity, holder_capacity;
	struct piece *pieces;
	uint32_t piece_count, piece_capacity, free_piece, piece_paid;
	struct owner *owners; /* contexts of processes */
	uint32_t owner_count, owner_capacity;
	struct hash_index scope_index, user_index, piece_index, owner_index, pool_index;
};

void allocations_init(struct allocations *a);
void allocations_release(struct allocations *a);

void allocations_add(struct allocations *a, const struct allocation_event *event);

/* Forgets what was before that time, but for what is still allocated. */
void allocations_forget(struct allocations *a, uint64_t before_ns);

/* Returns the time from which on all events are known. */
uint64_t allocations_whole_from(const struct allocations *a);

/* All events have come; only what happens from that time on is wanted. */
void allocations_begin_part(struct allocations *a, uint64_t from_ns);

/* Shows the numbers of stacks (model/id_remap.h). */
void allocations_visit(struct allocations *a, const struct id_visitor *visitor);

/* All events have come: `use` is complete, and what only events need is freed. */
void allocations_finish(struct allocations *a);

/* Wanted with --alloc. */
extern const struct addon addon_allocations;

#endif
