/* SPDX-License-Identifier: MIT */
/*
 * Brings hardware counters together with the stacks of the kernels that they are of. A program
 * sends the values under a launch's correlation id; where the kernel belongs is known when its
 * record has been joined with its launch. Either may come first, so the program says beforehand
 * that it will measure a launch, and what comes first is kept.
 *
 * Memory counts against the allowance of what programs send; what does not fit is counted.
 */
#ifndef PROFILER_ADDONS_MEASUREMENTS_H
#define PROFILER_ADDONS_MEASUREMENTS_H

#include "cupti_trace/wire/gpu_event.h"
#include "profiler/addons/addon.h"
#include "profiler/base/allowance.h"
#include "profiler/model/counters.h"
#include "profiler/model/ledger.h"
#include "symbolize/util/id_map.h"

/* Zero-initialise; set the first three. */
struct measurements {
	struct counter_table *counters;
	struct ledger_counters *ledger;
	struct allowance *allowance;
	bool keeps_launches;      /* for a timeline: the values of each launch, beside their sums */
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

/* Its kernel has been found to belong to this stack. Costs little if it was not measured. */
void measurements_place(struct measurements *measurements, uint32_t process,
			uint32_t correlation_id, uint32_t stack);

/* Nothing more comes of a process. */
void measurements_forget(struct measurements *measurements, uint32_t process);

/* Wanted with --counters. */
extern const struct addon addon_measurements;

#endif
