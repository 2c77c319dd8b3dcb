/* SPDX-License-Identifier: MIT */
/*
 * Adds the counts of one run to those of others that are one result (shape/merge.h).
 */
#ifndef PROFILER_MODEL_LEDGER_SUM_H
#define PROFILER_MODEL_LEDGER_SUM_H

#include "profiler/model/ledger.h"

/*
 * Everything but the timeline's counts, which are those of the timeline that both are in. Counts
 * are saturated; of what a ledger has once, the first difference, line or file stays. Names of
 * calls are `keep(context, name)`. False: the sums would be too large, or there is no memory for
 * the tables; then they have a part of what was to be added.
 */
bool ledger_sum_add(struct ledger *sum, const struct ledger *more, struct quota *memory,
		    const char *(*keep)(void *context, const char *name), void *context);

#endif
