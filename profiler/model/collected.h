/* SPDX-License-Identifier: MIT */
/*
 * Groups the data of a run before naming: rows of time by stack and place, and the tables that name
 * them.
 *
 * The collecting side (collect.h) owns all of them. While the run goes on, they hold the data so
 * far.
 */
#ifndef PROFILER_MODEL_COLLECTED_H
#define PROFILER_MODEL_COLLECTED_H

#include "profiler/base/quota.h"
#include "profiler/model/counters.h"
#include "profiler/model/cut_stacks.h"
#include "profiler/model/devices.h"
#include "profiler/model/flight_recorder.h"
#include "profiler/model/gpu_load.h"
#include "profiler/model/gpu_state.h"
#include "profiler/model/ledger.h"
#include "profiler/model/metrics.h"
#include "profiler/model/place_names.h"
#include "profiler/model/places.h"
#include "profiler/model/profile.h"
#include "profiler/model/result_table.h"
#include "profiler/model/stack_table.h"
#include "profiler/model/timeline.h"
#include "symbolize/symbolizer.h"

struct collected {
	const struct stack_table *stacks;
	const struct profile *profile;
	const struct places *places;
	const struct place_names *place_names;
	const struct devices *devices;
	struct symbolizer *symbolizer;
	struct timeline *timeline; /* NULL if there is none */
	struct quota *memory;      /* quota for naming; NULL: no limit */
	const struct ledger *ledger;
	const struct cut_stacks *cut;
	const struct gpu_load *load;          /* NULL if not requested */
	const struct counter_table *counters; /* rows refer to `stacks` */
	const struct result_tables *tables;   /* rows refer to `stacks`; may be NULL */
	const struct metrics *metrics;        /* NULL if not requested */
	const struct gpus_now *gpus;          /* NULL without GPU work */
	/*
	 * With --last, during the run: items that are not in rows yet. Items that begin before
	 * `last_from_ns` do not count. `renumbered`: how often stacks were renumbered.
	 */
	struct flight_recorder *kept; /* NULL: all items are in rows */
	uint64_t last_from_ns, renumbered;
};

#endif
