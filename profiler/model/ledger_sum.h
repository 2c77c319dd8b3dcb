/* SPDX-License-Identifier: MIT */
/*
 * Adds the counts of a run to those of other runs, for a merged result (shape/merge.h). Subtracts
 * the losses of earlier results from those of a run (--every).
 */
#ifndef PROFILER_MODEL_LEDGER_SUM_H
#define PROFILER_MODEL_LEDGER_SUM_H

#include "profiler/model/ledger.h"

/*
 * Adds all counts except the timeline's, because the merged timeline has its own. Counts saturate.
 * Single items keep the first: a difference, line or file. Names of calls become `keep(context,
 * name)`. Returns false if sums would be too large or memory is short; then some counts are added.
 */
bool ledger_sum_add(struct ledger *sum, const struct ledger *more, struct quota *memory,
		    const char *(*keep)(void *context, const char *name), void *context);

/* Subtracts losses that `before`, an earlier state of the ledger, has. None falls below 0. */
void ledger_subtract_losses(struct ledger *ledger, const struct ledger *before);

#endif
