/* SPDX-License-Identifier: MIT */
/*
 * The collected data of a run, before naming: rows of time by stack and place, with the tables
 * needed to name them. Owned by the collecting side (collect.h).
 * While the run goes on, it is what there is so far.
 */
#ifndef PROFILER_MODEL_COLLECTED_H
#define PROFILER_MODEL_COLLECTED_H

#include "profiler/base/quota.h"
#include "profiler/model/counters.h"
#include "profiler/model/cut_stacks.h"
#include "profiler/model/devices.h"
#include "profiler/model/flight_recorder.h"
#include "profiler/model/gpu_load.h"
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
	struct timeline *timeline; /* NULL: none */
	struct quota *memory;      /* what naming takes, it takes from here; NULL: no limit */
	const struct ledger *ledger;
	const struct cut_stacks *cut;
	const struct gpu_load *load;          /* NULL: not asked for */
	const struct counter_table *counters; /* its stacks are those above */
	const struct result_tables *tables;   /* their stacks are those above; may be NULL */
	const struct metrics *metrics;        /* NULL: not asked for */
	/*
	 * With --last, while the run goes on: items that are in no row yet. Those from
	 * `last_from_ns` on count. Numbers of stacks have changed so many times.
	 */
	struct flight_recorder *kept; /* NULL: all is in rows */
	uint64_t last_from_ns, renumbered;
};

#endif
