/* SPDX-License-Identifier: MIT */
/*
 * Brings hardware counters together with the stacks of the kernels that they are of. A program
 * sends the values under a launch's correlation id; where the kernel belongs is known when its
 * record has been joined with its launch. Either may come first, so the program says beforehand
 * that it will measure a launch, and what comes first is kept.
 *
 * Memory counts against the quota of what programs send; what does not fit is counted.
 *
 * Values go through the profile's sink, as notes: one for each value, those of a launch in
 * a row, and all of them begin with its kernel. So with --last values are of the kernels that the
 * profile has.
 */
#ifndef PROFILER_ADDONS_MEASUREMENTS_H
#define PROFILER_ADDONS_MEASUREMENTS_H

#include "cupti_trace/wire/gpu_event.h"
#include "profiler/addons/addon.h"
#include "profiler/base/quota.h"
#include "profiler/model/counters.h"
#include "profiler/model/ledger.h"
#include "profiler/model/profile_sink.h"
#include "symbolize/util/id_map.h"

/* Zero-initialise; set the first four. */
struct measurements {
	struct counter_table *counters;
	struct profile_sink *sink; /* with the ledger; its `take_note` calls measurements_note */
	struct quota *quota;
	bool keeps_launches;      /* for a timeline: the values of each launch, beside their sums */
	bool lists_launch;        /* there is room for those of the launch that is taken */
	struct measurement *list; /* that wait for their other half */
	uint32_t count, capacity;
	struct hash_index index; /* by process and correlation id */
	struct measured_process *processes;
	uint32_t process_count, process_capacity;
	struct id_map process_ids; /* to positions */
};

void measurements_release(struct measurements *measurements);

/* Takes what a process has sent. The texts live as long as the result. 0 or -errno. */
int measurements_metric(struct measurements *measurements, uint32_t process, uint32_t id,
			const char *name, const char *unit);
int measurements_take(struct measurements *measurements, uint32_t process,
		      const struct gpu_event_counters *event);

/* The kernel of a launch has been found, with its stack. */
struct measured_kernel {
	uint32_t process, correlation_id;
	struct stack_id stack;
	uint64_t start_ns;
	bool bad_time;
};
/* Takes note of it. Costs little if it was not measured. */
void measurements_place(struct measurements *measurements, const struct measured_kernel *kernel);

/* Takes in what went through the sink: NOTE_VALUE, NOTE_UNMEASURED. */
void measurements_note(struct measurements *measurements, const struct profile_item *note);

/* Notes how many launches have no values, by enum gpu_unmeasured, since the last time. */
void measurements_add_unmeasured(struct measurements *measurements,
				 const struct gpu_event_unmeasured *event);

/* Shows the numbers of stacks of those that wait (model/id_remap.h). */
void measurements_visit(struct measurements *measurements, const struct id_visitor *visitor);

/* Nothing more comes of a process. */
void measurements_forget(struct measurements *measurements, uint32_t process);

/* Wanted with --counters. */
extern const struct addon addon_measurements;

#endif
