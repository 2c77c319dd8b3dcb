/* SPDX-License-Identifier: MIT */
/*
 * What a run lost: in words for people (--strict, the summary, the report and the page), and by key
 * for programs (JSON, metrics). Both are rows of ledger_counts.h.
 *
 * A loss is something that is missing from the profile, not matched, or not equal to what CUPTI
 * counted. What is incomplete has all its time in the profile, but less of a stack or a name than
 * there was; --strict does not fail for it.
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

/*
 * Calls `visit` for each: first losses, then what is incomplete. `not_kept`: stacks and names that
 * naming left out.
 */
void losses_visit(const struct ledger *ledger, uint64_t not_kept, loss_visitor visit,
		  void *context);

/* Calls `visit` with each key and its count, 0 too. */
void losses_visit_keys(const struct ledger *ledger, uint64_t not_kept, fact_visitor visit,
		       void *context);

#endif
