/* SPDX-License-Identifier: MIT */
/*
 * Defines add-ons: measurements that derive more from the events of a run.
 *
 * An add-on is a module with a table of callbacks, registered in addons.c. The options of a run
 * select add-ons. Unneeded callbacks are NULL.
 *
 * Add-ons add to the profile through its sink (profile_sink.h), to stacks and to places. They add
 * to tables (result_table.h), which every output shows. Other data is passed to the result by
 * `show`.
 *
 * All times are CLOCK_MONOTONIC in ns. Add-ons do no I/O and read no clock, except through their
 * arguments. Data that does not fit into memory is counted in the ledger.
 */
#ifndef PROFILER_ADDONS_ADDON_H
#define PROFILER_ADDONS_ADDON_H

#include <stdbool.h>
#include <stdint.h>
#include "cupti_trace/wire/gpu_event.h"
#include "cupti_trace/wire/time_range.h"
#include "profiler/base/measure.h"
#include "profiler/model/collected.h"
#include "profiler/model/gpu_stack.h"
#include "profiler/model/gpu_state.h"
#include "profiler/model/gpu_operation.h"
#include "profiler/model/id_remap.h"
#include "profiler/model/profile_sink.h"
#include "profiler/model/result_table.h"

/* The run, and where results go. Borrowed for the life of the add-on. */
struct addon_parts {
	const struct measure *measure;
	uint64_t sample_ns;          /* time of one CPU sample */
	bool keeps_last;             /* only the last seconds are wanted (--last) */
	bool keeps_records;          /* for a timeline */
	bool watches_load;           /* for --live */
	struct timeline *idle_store; /* for idle.h; NULL if not requested */
	struct stack_table *stacks;
	struct gpu_stacks *gpu_stacks;
	struct places *places;
	struct devices *devices;
	struct result_tables *tables;        /* for rows (result_table.h) */
	struct profile_sink *sink;           /* with the profile and the ledger */
	const struct time_range *time_range; /* the recorded time */
	struct quota *memory;      /* quota for results; each quota may be NULL: no limit */
	struct quota *from_target; /* part of `memory` for data from programs */
	struct quota *passing;     /* part of `memory` for data until `finish` */
	/*
	 * Starts a search for the launch with this id. `remark` is later passed to the callback
	 * `remark`, once. Returns 0 or -errno.
	 */
	int (*find_launch)(void *context, uint32_t process, uint32_t correlation_id,
			   uint64_t remark);
	/* keeps a text until the results are no longer needed; NULL: no room */
	const char *(*keep)(void *context, const char *text);
	void *context;
};

/* A GPU operation, as in the profile. */
struct addon_operation {
	const struct gpu_operation *operation;
	const struct gpu_work_origin *origin;
	uint64_t launched_ns;  /* 0: unknown */
	uint32_t represents;   /* number of operations (--budget); else 1 */
	uint32_t thread;       /* launching thread, or PLACE_UNKNOWN */
	struct stack_id stack; /* composed from `origin` */
	/*
	 * a time span in the recorded part; other operations only go to add-ons that `looks_at`
	 * them
	 */
	bool is_recorded;
};

/* Time of a thread in a row of the profile. */
struct thread_time {
	uint64_t start_ns, end_ns; /* equal: the moment of a CPU sample */
	uint64_t ns;               /* in the row */
	uint32_t process, tid;
	enum row_kind kind;
	struct stack_id stack;
	struct place_id place;
	bool is_spread; /* its moments are unknown */
	bool counts;    /* has a count of 1 in the row; kept by wait_times.h */
};

#define ADDON_NOTE(kind) (1u << ((kind)-TIMELINE_KINDS))

struct addon {
	bool (*is_wanted)(const struct addon_parts *parts);

	/*
	 * Returns the add-on's state, or NULL if out of memory. `release` frees it at any time.
	 * Without `begin`, the state is `parts`, for add-ons that only fill a table.
	 */
	void *(*begin)(const struct addon_parts *parts);
	void (*release)(void *addon);

	bool needs_threads; /* launches need their threads */
	bool needs_devices; /* results look up devices by process and number */

	/*
	 * Handles a program's event, in order of arrival, also outside of the recorded time range.
	 * Kernels have their grid here; operations have it only with a timeline. `kernel` is
	 * interned. Returns 0 or -errno.
	 */
	int (*event)(void *addon, uint32_t process, const struct gpu_event *event,
		     const char *kernel);
	/* Handles the launch that find_launch searched. */
	void (*remark)(void *addon, struct launch_stack launch, uint64_t remark);

	/* Handles an operation whose launch is known, or will never be. */
	void (*operation)(void *addon, const struct addon_operation *operation);
	/* Returns whether an unrecorded operation is wanted: outside, or an instant. */
	bool (*looks_at)(void *addon, const struct gpu_operation *operation);
	/* Handles a wait of a kernel, for example for a page. */
	void (*stall)(void *addon, const struct gpu_operation *operation);
	/* Handles a wait of a thread for the GPU, in a call with this stack. */
	void (*wait)(void *addon, uint32_t process, struct stack_id stack,
		     const struct gpu_event_wait *wait);

	void (*time)(void *addon, const struct thread_time *time);
	/*
	 * Handles a thread's time off the CPU from start_ns to end_ns; `place` and `ns` are unset.
	 */
	void (*off_cpu)(void *addon, const struct thread_time *time);
	/* Handles a reading of a GPU (gpu_state.h). Equal texts `gpu` have one address. */
	void (*state)(void *addon, const char *gpu, const struct gpu_reading *reading);
	void (*begin_thread)(void *addon, uint32_t process, uint32_t tid, uint64_t time_ns);
	void (*end_thread)(void *addon, uint32_t process, uint32_t tid, uint64_t time_ns);
	/* Handles the end of a process: no events follow. */
	void (*end_process)(void *addon, uint32_t process);

	/* Handles progress: everything that ended by `now_ns` is known. */
	void (*advance)(void *addon, uint64_t now_ns);
	/* Visits the ids in use. */
	void (*visit)(void *addon, const struct id_visitor *visitor);
	/* Drops data that ended before that time and is not wanted (--last). */
	void (*forget)(void *addon, uint64_t before_ns);
	/* Returns the start of its complete data; 0: complete from the start. */
	uint64_t (*whole_from)(const void *addon);
	/* Adds remaining data to the sink, at the end of the input. */
	void (*finish)(void *addon);
	/* Handles notes from the sink. Bit n of `notes` selects kind TIMELINE_KINDS + n. */
	uint32_t notes;
	void (*note)(void *addon, const struct profile_item *note);
	/*
	 * Handles the end of the run from `from_ns` to `to_ns`, or of its last seconds. The profile
	 * is complete. Frees temporary data.
	 */
	void (*complete)(void *addon, uint64_t from_ns, uint64_t to_ns);
	/* Sets its data in `collected`, and still owns it. */
	void (*show)(void *addon, struct collected *collected);
};

#endif
