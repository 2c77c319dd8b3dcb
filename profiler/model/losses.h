/* SPDX-License-Identifier: MIT */
/*
 * Lists what a run lost: in words for people (--strict, the summary, the report and the page), and
 * by key for programs (JSON, metrics). Both are rows of ledger_counts.h.
 *
 * A loss is data that is missing from the profile, not matched, or not equal to CUPTI's counts.
 * Incomplete data has all its time in the profile, but lacks a part of its stack or name; --strict
 * does not fail for it.
 */
#ifndef PROFILER_MODEL_LOSSES_H
#define PROFILER_MODEL_LOSSES_H

#include <stdbool.h>
#include <stdint.h>
#include "profiler/model/ledger.h"

struct loss {
	const char *what; /* in the plural, without a number */
	uint64_t count;   /* not 0 */
	bool is_incomplete;
	bool is_listed; /* the summary has no sentence of its own for it */
};

typedef void (*loss_visitor)(void *context, const struct loss *loss);

/* Visits losses, then incomplete data. `not_kept`: stacks and names that naming left out. */
void losses_visit(const struct ledger *ledger, uint64_t not_kept, loss_visitor visit,
		  void *context);

/* Visits each key with its count, which may be 0. */
void losses_visit_keys(const struct ledger *ledger, uint64_t not_kept, fact_visitor visit,
		       void *context);

#endif
