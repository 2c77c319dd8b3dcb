/* SPDX-License-Identifier: MIT */
/*
 * The collected data of a run, before naming: rows of time by stack and place, with the tables
 * needed to name them. Owned by the collecting side (collect.h).
 * While the run goes on, it is what there is so far.
 */
#ifndef PROFILER_PROFILE_COLLECTED_H
#define PROFILER_PROFILE_COLLECTED_H

#include "profiler/base/allowance.h"
#include "profiler/profile/counters.h"
#include "profiler/profile/cut_stacks.h"
#include "profiler/profile/devices.h"
#include "profiler/profile/gpu_load.h"
#include "profiler/profile/ledger.h"
#include "profiler/profile/memory_use.h"
#include "profiler/profile/metrics.h"
#include "profiler/profile/place_names.h"
#include "profiler/profile/places.h"
#include "profiler/profile/profile.h"
#include "profiler/profile/stack_table.h"
#include "profiler/profile/timeline.h"
#include "symbolize/symbolizer.h"

struct collected {
	const struct stack_table *stacks;
	const struct profile *profile;
	const struct places *places;
	const struct place_names *place_names;
	const struct devices *devices;
	struct symbolizer *symbolizer;
	struct timeline *timeline; /* NULL: none */
	struct allowance *memory;  /* what naming takes, it takes from here; NULL: no limit */
	const struct ledger *ledger;
	const struct cut_stacks *cut;
	const struct gpu_load *load;          /* NULL: not asked for */
	const struct memory_use *memory_use;  /* its stacks are those above */
	const struct counter_table *counters; /* likewise */
	const struct stall_places *stall_places;
	const struct metrics *metrics; /* NULL: not asked for */
};

#endif
