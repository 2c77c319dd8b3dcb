/* SPDX-License-Identifier: MIT */
/*
 * An add-on: a measurement that makes something more of the events of a run. Each is one module
 * with a table of callbacks, which is registered in addons.c. A run has those that its options ask
 * for; callbacks that an add-on does not need are NULL.
 *
 * Add-ons add to the profile by its sink (profile_sink.h), to stacks and places, and to tables
 * (result_table.h), which need no more to be in every output. What else they have collected they
 * show to the result (`show`).
 *
 * All times are CLOCK_MONOTONIC in ns. No add-on does I/O or reads a clock, but through what it is
 * given. What does not fit into memory is counted in the ledger.
 */
#ifndef PROFILER_ADDONS_ADDON_H
#define PROFILER_ADDONS_ADDON_H

#include <stdbool.h>
#include <stdint.h>
#include "cupti_trace/wire/gpu_event.h"
#include "cupti_trace/wire/time_range.h"
#include "profiler/base/quota.h"
#include "profiler/base/measure.h"
#include "profiler/model/collected.h"
#include "profiler/model/gpu_stack.h"
#include "profiler/model/devices.h"
#include "profiler/model/gpu_operation.h"
#include "profiler/model/id_remap.h"
#include "profiler/model/places.h"
#include "profiler/model/profile_sink.h"
#include "profiler/model/result_table.h"
#include "profiler/model/stack_table.h"

/* The run, and where results go; all borrowed, for as long as the add-on lives. */
struct addon_parts {
	const struct measure *measure;
	uint64_t sample_ns;          /* that a CPU sample stands for */
	bool keeps_last;             /* only the last seconds are wanted (--last) */
	bool keeps_records;          /* for a timeline */
	bool watches_load;           /* for --live */
	struct timeline *idle_store; /* for idle.h; NULL: not asked for */
	struct stack_table *stacks;
	struct gpu_stacks *gpu_stacks;
	struct places *places;
	struct devices *devices;
	struct result_tables *tables;        /* takes rows (result_table.h) */
	struct profile_sink *sink;           /* with the profile and the ledger */
	const struct time_range *time_range; /* what is recorded */
	struct quota *memory;                /* for what results keep; these NULL: no limit */
	struct quota *from_target;           /* of it, for what programs have sent */
	struct quota *passing;               /* of it, until `finish` */
	/*
	 * Has the launch of this id looked for: `remark` comes with it (the callback), once. 0 or
	 * -errno.
	 */
	int (*find_launch)(void *context, uint32_t process, uint32_t correlation_id,
			   uint64_t remark);
	/* keeps a text until the results are no longer needed; NULL: no room */
	const char *(*keep)(void *context, const char *text);
	void *context;
};

/* An operation on a GPU, as the profile has it. */
struct addon_operation {
	const struct gpu_operation *operation;
	const struct gpu_work_origin *origin;
	uint64_t launched_ns;  /* 0: unknown */
	uint32_t thread;       /* that launched it; PLACE_UNKNOWN */
	struct stack_id stack; /* composed of its origin */
	/* It is a span of time in what is recorded. Else only who `looks_at` it gets it. */
	bool is_recorded;
};

/* Time of a thread that was added to a row of the profile. */
struct thread_time {
	uint64_t start_ns, end_ns; /* equal: a moment, that of a CPU sample */
	uint64_t ns;               /* in the row */
	uint32_t process, tid;
	enum row_kind kind;
	struct stack_id stack;
	struct place_id place;
	bool is_spread; /* its moments are not known */
};

#define ADDON_NOTE(kind) (1u << ((kind)-TIMELINE_KINDS))

struct addon {
	bool (*is_wanted)(const struct addon_parts *parts);

	/*
	 * Returns its state; NULL: out of memory. `release` frees it, at any time. Without these
	 * the parts are its state: it only fills a table, say.
	 */
	void *(*begin)(const struct addon_parts *parts);
	void (*release)(void *addon);

	bool needs_threads; /* it wants to know which thread launched */
	bool needs_devices; /* results ask for a device by its process and number */

	/* What a program has sent, in the order in which it came: 0 or -errno. `kernel`: interned
	 */
	int (*event)(void *addon, uint32_t process, const struct gpu_event *event,
		     const char *kernel);
	/* The launch that find_launch was asked for. */
	void (*remark)(void *addon, struct launch_stack launch, uint64_t remark);

	/* An operation whose launch is known by now, or never will be. */
	void (*operation)(void *addon, const struct addon_operation *operation);
	/* Returns whether it wants one that is not recorded: outside, or an instant. */
	bool (*looks_at)(void *addon, const struct gpu_operation *operation);
	/* A kernel waited, for a page for example. */
	void (*stall)(void *addon, const struct gpu_operation *operation);
	/* A thread waited for the GPU, in a call with this stack. */
	void (*wait)(void *addon, uint32_t process, struct stack_id stack,
		     const struct gpu_event_wait *wait);

	void (*time)(void *addon, const struct thread_time *time);
	/* A thread was off the CPU from start_ns to end_ns; `place` and `ns` are not set. */
	void (*off_cpu)(void *addon, const struct thread_time *time);
	void (*begin_thread)(void *addon, uint32_t process, uint32_t tid, uint64_t time_ns);
	void (*end_thread)(void *addon, uint32_t process, uint32_t tid, uint64_t time_ns);
	/* Nothing more comes of a process. */
	void (*end_process)(void *addon, uint32_t process);

	/* Everything that ended by `now_ns` is known. */
	void (*advance)(void *addon, uint64_t now_ns);
	/* Shows the numbers in use. */
	void (*visit)(void *addon, const struct id_visitor *visitor);
	/* Forgets what ended before that time: it is not wanted (--last). */
	void (*forget)(void *addon, uint64_t before_ns);
	/* Returns the time from which on all is known that it keeps itself; 0: from the start. */
	uint64_t (*whole_from)(const void *addon);
	/* The input has ended: adds to the sink what is left to be added. */
	void (*finish)(void *addon);
	/* Takes a note of its kinds from the sink: bit n of `notes` is of TIMELINE_KINDS + n. */
	uint32_t notes;
	void (*note)(void *addon, const struct profile_item *note);
	/*
	 * The profile has all that the sink takes in, of a run from `from_ns` to `to_ns`; of the
	 * last seconds alone, if these are wanted. Frees what is passing.
	 */
	void (*complete)(void *addon, uint64_t from_ns, uint64_t to_ns);
	/* Sets what it has collected, which it still owns. */
	void (*show)(void *addon, struct collected *collected);
};

#endif
