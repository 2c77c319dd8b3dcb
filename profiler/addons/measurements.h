/* SPDX-License-Identifier: MIT */
/*
 * Joins hardware counters with the stacks of their kernels.
 *
 * A program sends values with a launch's correlation id. The kernel's stack is known when its
 * record has been joined with its launch. Either may come first. So the program announces each
 * launch that it will measure, and the first half is kept.
 *
 * Memory is charged to the quota for data from programs; values without room are counted.
 *
 * Values go through the profile's sink as notes, one each. The notes of a launch are adjacent, and
 * have the start time of the kernel. So with --last, values belong to the kernels in the profile.
 */
#ifndef PROFILER_ADDONS_MEASUREMENTS_H
#define PROFILER_ADDONS_MEASUREMENTS_H

#include "profiler/addons/addon.h"
#include "profiler/model/counters.h"
#include "symbolize/util/record_set.h"

/* Zero-initialise, then set the first four. */
struct measurements {
	struct counter_table *counters;
	struct profile_sink *sink; /* with the ledger; its `take_note` calls measurements_note() */
	struct quota *quota;
	bool keeps_launches; /* for a timeline: keeps the values of each launch beside sums */
	bool lists_launch;   /* there is room for the values of the current launch */
	RECORD_SET(struct measurement); /* waiting for their other half */
	RECORD_SET(struct measured_process) processes;
};

void measurements_release(struct measurements *measurements);

/* Add an event of a process. Texts live as long as the result. Return 0 or -errno. */
int measurements_metric(struct measurements *measurements, uint32_t process, uint32_t id,
			const char *name, const char *unit);
int measurements_take(struct measurements *measurements, uint32_t process,
		      const struct gpu_event_counters *event);

/* A kernel that was joined with its launch. */
struct measured_kernel {
	uint32_t process, correlation_id;
	struct stack_id stack;
	uint64_t start_ns;
	bool bad_time;
};
/* Adds the kernel's stack. Costs little if the kernel was not measured. */
void measurements_place(struct measurements *measurements, const struct measured_kernel *kernel);

/* Adds a note from the sink: NOTE_VALUE. */
void measurements_note(void *measurements, const struct profile_item *note);

/* Adds counts of launches without values, by enum gpu_unmeasured, since the previous event. */
void measurements_add_unmeasured(struct measurements *measurements,
				 const struct gpu_event_unmeasured *event);

/* Visits the stacks in use. */
void measurements_visit(void *measurements, const struct id_visitor *visitor);

/* Drops a process that has ended. */
void measurements_forget(void *measurements, uint32_t process);

/* Wanted with --counters. */
extern const struct addon addon_measurements;

#endif
