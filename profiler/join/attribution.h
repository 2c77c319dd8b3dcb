/* SPDX-License-Identifier: MIT */
/*
 * Adds joined GPU operations to the profile, and shows them to the add-ons.
 *
 * Runs after the join (join.h), which finds the launch of an operation, and before the profile's
 * sink (profile_sink.h). It looks up the stack that created a graph node, keeps the process's
 * totals, and passes operations on to the waits. Stalls of kernels are no operations of the
 * profile: they are counted, and shown below the kernels where waits are.
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

/* Of a stack and a thread, and how many launches the stack stands for. */
#ifndef ATTRIBUTION_ORIGINS_MAX /* tests use a smaller one */
#define ATTRIBUTION_ORIGINS_MAX (1u << 20)
#endif

/*
 * The clocks of operations and of launches are compared within this: an operation that seems to
 * begin by less before its launch began with it. Before more, the launch is another one's that has
 * the same number.
 */
#define ATTRIBUTION_CLOCK_ERROR_NS 100000u

/* All borrowed. */
struct attribution_parts {
	struct processes *processes;
	struct stack_table *stacks;
	struct profile_sink *sink;
	struct places *places;
	struct ledger *ledger;
	struct devices *devices;
	struct quota *quota; /* for sums by stream */
	struct addons *addons;
};

struct attribution {
	struct attribution_parts parts;
	struct gpu_stacks gpu_stacks;
	struct graph_nodes graph_nodes;
	/* the process being settled, which is no longer in any table; or NULL */
	struct process *ending;
	struct launch_origin *origins;
	uint32_t origin_count, origin_capacity;
	struct hash_index origin_index;
	struct time_range
		time_range; /* what begins outside is only counted; empty: everything is inside */
	bool begins_late;   /* processes ran before: work may have been launched then */
	bool limits_stacks;
	bool notes_waited;
	struct spread spread;
	struct quota *memory; /* NULL: no limit */
};

void attribution_init(struct attribution *a, const struct attribution_parts *parts);
void attribution_release(struct attribution *a);

/*
 * Takes what it and its parts remember from this quota, which is borrowed. Beyond it, the
 * oldest graph nodes and operations are forgotten, and new launches have no stack where rows
 * distinguish threads.
 */
void attribution_limit(struct attribution *a, struct quota *memory);

/*
 * To be called first if launches may have no stack of their own: then the time of LAUNCH_SKIPPED
 * ones is in rows of their own until attribution_finish moves it to stacks (spread.h).
 */
void attribution_limit_stacks(struct attribution *a);

/* To be called first if records of kernels are to say whether their thread waited for them. */
void attribution_note_waited(struct attribution *a);

/*
 * Returns what the join carries for a launch from this stack by this thread: the number of the
 * stack or mark, or that of the pair if rows distinguish threads or stacks are limited. Beyond
 * ATTRIBUTION_ORIGINS_MAX pairs, launches lose their thread, and stand for themselves alone.
 */
struct origin_id attribution_origin(struct attribution *a, struct launch_stack stack, uint32_t tid);
/*
 * Does the same for a stack that stands for more launches than its own; and for a launch that its
 * thread waited for (GPU_LAUNCH_WAITED), which counts where attribution_note_waited was called.
 */
struct origin_id attribution_origin_of_many(struct attribution *a, struct launch_stack stack,
					    uint32_t tid, uint32_t stands_for, bool is_waited);

/* Returns what is carried for a mark, without a thread. */
static inline struct origin_id origin_of_mark(struct launch_stack mark)
{
	return (struct origin_id){mark.number};
}

/* An operation that the join has decided; called through struct join_output. */
void attribution_add(void *attribution, struct origin_id origin, uint64_t launched_ns,
		     const struct gpu_operation *operation);

/* An operation that its program did not choose (--range): it is only counted. */
void attribution_leave_out(struct attribution *a, const struct gpu_operation *operation);

/*
 * Forgets origins that no launch has which the join remembers. Shows the numbers in use, with those
 * that launches carry.
 */
void attribution_forget_origins(struct attribution *a, struct join *join);
void attribution_visit(struct attribution *a, struct join *join, const struct id_visitor *visitor);

/* Takes in work to spread, or to spread it by, that went through the sink (NOTE_SHARE). */
void attribution_note(struct attribution *a, const struct profile_item *note);

/* The profile has all that the sink takes in. */
void attribution_finish(struct attribution *a);

#endif
