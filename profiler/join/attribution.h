/* SPDX-License-Identifier: MIT */
/*
 * Adds joined GPU operations to the profile, and passes them to the add-ons.
 *
 * Attribution runs after the join (join.h), which finds launches, and before the profile's sink
 * (profile_sink.h). It looks up the stack that created a graph node, and keeps the process's
 * totals. Stalls of kernels are no operations of the profile: they are counted, and shown below the
 * kernels by the add-ons.
 */
#ifndef PROFILER_JOIN_ATTRIBUTION_H
#define PROFILER_JOIN_ATTRIBUTION_H

#include <stdbool.h>
#include <stdint.h>
#include "cupti_trace/wire/gpu_event.h"
#include "cupti_trace/wire/time_range.h"
#include "profiler/addons/addons.h"
#include "profiler/cpu/processes.h"
#include "profiler/join/graph_nodes.h"
#include "profiler/join/join.h"
#include "profiler/join/spread.h"
#include "profiler/model/gpu_stack.h"
#include "profiler/model/ledger.h"
#include "profiler/model/id_remap.h"
#include "profiler/model/places.h"
#include "profiler/model/profile.h"
#include "profiler/model/profile_sink.h"
#include "profiler/model/timeline.h"
#include "symbolize/util/record_set.h"

/* Limit of launch origins. */
#ifndef ATTRIBUTION_ORIGINS_MAX /* tests use a smaller one */
#define ATTRIBUTION_ORIGINS_MAX (1u << 20)
#endif

/*
 * Tolerance between the clocks of operations and launches. An operation that seems to begin at most
 * this long before its launch began with the launch. An earlier operation belongs to another launch
 * with an equal id.
 */
#define ATTRIBUTION_CLOCK_ERROR_NS 100000u

/* Parts that attribution uses; all borrowed. */
struct attribution_parts {
	struct processes *processes;
	struct stack_table *stacks;
	struct profile_sink *sink;
	struct places *places;
	struct ledger *ledger;
	struct devices *devices;
	struct quota *quota; /* quota of totals by stream */
	struct addons *addons;
};

struct attribution {
	struct attribution_parts parts;
	struct gpu_stacks gpu_stacks;
	struct graph_nodes graph_nodes;
	/* process being finalized, which is in no table; or NULL */
	struct process *ending;
	RECORD_SET(struct launch_origin) origins;
	/* operations that begin outside are only counted; empty: all are inside */
	struct time_range time_range;
	bool begins_late; /* attached processes may have launched work before */
	bool limits_stacks;
	bool in_windows;
	struct ledger_total estimated;
	bool notes_waited;
	struct spread spread;
	struct quota *memory; /* NULL: no limit */
};

void attribution_init(struct attribution *a, const struct attribution_parts *parts);
void attribution_release(struct attribution *a);

/*
 * Charges the memory of attribution and its parts to this borrowed quota. Over the quota, the
 * oldest graph nodes and operations are forgotten. New launches have no stack where rows
 * distinguish threads.
 */
void attribution_limit(struct attribution *a, struct quota *memory);

/*
 * Prepares for launches without a stack of their own (--max-overhead); called before any input. The
 * time of LAUNCH_SKIPPED launches stays in rows of its own until attribution_finish distributes it
 * over stacks (spread.h).
 */
void attribution_limit_stacks(struct attribution *a);

/*
 * Makes operations count as often as their launches represent others (--budget). Called before any
 * input.
 */
void attribution_in_windows(struct attribution *a);

/* Makes records of kernels tell whether their thread waited for them. Called before any input. */
void attribution_note_waited(struct attribution *a);

/*
 * Returns the origin id of a launch from this stack by this thread. The id is the number of the
 * stack or mark. If rows distinguish threads, or stacks are limited, it numbers an origin. Beyond
 * ATTRIBUTION_ORIGINS_MAX origins, launches lose their thread, and represent only themselves.
 */
struct origin_id attribution_origin(struct attribution *a, struct launch_stack stack, uint32_t tid);
/*
 * Returns the origin id of a launch that represents `stands_for` launches. `is_waited`: its thread
 * waited for it (GPU_LAUNCH_WAITED); ignored without attribution_note_waited.
 */
struct origin_id attribution_origin_of_many(struct attribution *a, struct launch_stack stack,
					    uint32_t tid, uint32_t stands_for, bool is_waited);

/* Returns the origin id of a mark, without a thread. */
static inline struct origin_id origin_of_mark(struct launch_stack mark)
{
	return (struct origin_id){mark.number};
}

/* Adds an operation whose launch the join has decided. Called through struct join_output. */
void attribution_add(void *attribution, struct origin_id origin, uint64_t launched_ns,
		     const struct gpu_operation *operation);

/* Counts an operation outside the ranges that its program chose (--range). */
void attribution_leave_out(struct attribution *a, const struct gpu_operation *operation);

/* Drop origins that no remembered launch has, and pass the numbers in use to the visitor. */
void attribution_forget_origins(struct attribution *a, struct join *join);
void attribution_visit(struct attribution *a, struct join *join, const struct id_visitor *visitor);

/* Takes a NOTE_SHARE from the sink: work to distribute, or a sample to distribute by. */
void attribution_note(struct attribution *a, const struct profile_item *note);

/* Distributes work without a stack, after the sink has passed everything to the profile. */
void attribution_finish(struct attribution *a);

#endif
