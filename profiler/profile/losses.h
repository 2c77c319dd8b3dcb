/* SPDX-License-Identifier: MIT */
/*
 * What a run lost, in words for people: --strict, the report and the page all list the same.
 *
 * A loss is something that is missing from the profile, not matched, or not equal to what CUPTI
 * counted. What is incomplete has all its time in the profile, but less of a stack or a name than
 * there was; --strict does not fail for it.
 */
#ifndef PROFILER_PROFILE_LOSSES_H
#define PROFILER_PROFILE_LOSSES_H

#include <stdbool.h>
#include <stdint.h>
#include "profiler/profile/ledger.h"

struct loss {
	const char *what; /* in the plural, without a number */
	uint64_t count;   /* not 0 */
	bool is_incomplete;
};

typedef void (*loss_visitor)(void *context, const struct loss *loss);

/*
 * Calls `visit` for each: first losses, then what is incomplete. `alone`: the ledger is that of a
 * trace; `not_kept`: stacks and names that naming left out.
 */
void losses_visit(const struct ledger *ledger, bool alone, uint64_t not_kept, loss_visitor visit,
		  void *context);

#endif
