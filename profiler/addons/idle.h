/* SPDX-License-Identifier: MIT */
/*
 * The times in which GPUs were idle, by what the launching threads did then (--idle): keeps
 * operations and what threads did in a file of its own (timeline.h), and makes rows of it at the
 * end, segment by segment (idle_gaps.h).
 *
 * A device counts from the beginning of the run to its end if something ran on it. One device is
 * one UUID, whatever processes call it, as in busy.h, so that idle and busy times add up to the
 * run.
 *
 * Below the device's frame, "[GPU 0 idle]", each stack is the launching thread's; where there is
 * none, that of the launch which ended the gap, with a mark (pseudo_frames.h).
 *
 * Records that could not be kept, and so time that is missing or wrong, are counted in the ledger.
 * Times are in ns, CLOCK_MONOTONIC.
 */
#ifndef PROFILER_ADDONS_IDLE_H
#define PROFILER_ADDONS_IDLE_H

#include <stdbool.h>
#include <stdint.h>
#include "profiler/addons/addon.h"
#include "profiler/model/devices.h"
#include "profiler/model/ledger.h"
#include "profiler/model/places.h"
#include "profiler/model/profile.h"
#include "profiler/model/stack_table.h"
#include "profiler/model/timeline.h"

#define IDLE_SEGMENT_RECORDS (1u << 20) /* about so many are in memory at once, 100 MiB */
#define IDLE_SEGMENT_MAX (1u << 22)     /* no more, however close they lie together */

/* All borrowed; `store` is not finished. */
struct idle_parts {
	struct timeline *store;
	struct stack_table *stacks;
	struct profile *profile;
	struct places *places;
	const struct devices *devices;
	struct ledger_idle *ledger;
	/* keeps a text until the results are no longer needed; NULL: no room */
	const char *(*keep)(void *context, const char *text);
	void *context;
	uint32_t segment_records, segment_max; /* 0: as above */
};

struct idle_where {
	uint32_t process, tid; /* PLACE_UNKNOWN: unknown */
};

/* Zero-initialise, then idle_init. */
struct idle {
	struct idle_parts parts;
	struct places threads, devices; /* small numbers for records */
};

/* 0 or -ENOMEM. `memory`: for what is kept of threads and devices; borrowed. */
int idle_init(struct idle *idle, const struct idle_parts *parts, struct quota *memory);
void idle_release(struct idle *idle);

/*
 * An operation, launched then (0: unknown) with this stack. It counts as busy.h counts: only with a
 * duration.
 */
struct idle_work {
	uint64_t start_ns, duration_ns, launched_ns;
	uint32_t device;
	struct stack_id launch;
};
void idle_add_operation(struct idle *idle, struct idle_where launcher,
			const struct idle_work *work);

/*
 * Add what a thread does: a sample; a time off the CPU; and when it began and ended, if that is
 * known.
 */
void idle_add_sample(struct idle *idle, struct idle_where where, uint64_t time_ns,
		     struct stack_id stack);
void idle_add_off_cpu(struct idle *idle, struct idle_where where, uint64_t start_ns, uint64_t ns,
		      struct stack_id stack);
void idle_begin_thread(struct idle *idle, struct idle_where where, uint64_t time_ns);
void idle_end_thread(struct idle *idle, struct idle_where where, uint64_t time_ns);

/* Wanted where there is a store. */
extern const struct addon addon_idle;

/* The input has ended: adds the rows of a run that lasted so long. Only once. */
void idle_finish(struct idle *idle, uint64_t from_ns, uint64_t to_ns, uint64_t sample_ns);

#endif
