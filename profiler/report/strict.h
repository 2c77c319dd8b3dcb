/* SPDX-License-Identifier: MIT */
/*
 * --strict: nothing was lost and nothing is unmatched, as far as is known.
 */
#ifndef PROFILER_REPORT_STRICT_H
#define PROFILER_REPORT_STRICT_H

#include <stdbool.h>
#include "profiler/base/log.h"
#include "profiler/model/result.h"

/*
 * Returns whether that holds; otherwise logs each reason. `not_kept`: stacks and names that naming
 * left out; `lost_spans`: those that a collector did not get; `not_pushed`: engines without the
 * profile.
 */
bool strict_check(struct log *log, const struct totals *totals, uint64_t not_kept,
		  uint64_t lost_spans, uint32_t not_pushed);

/* Reports the same as a table; below it, what is incomplete (losses.h). */
void strict_report(struct log *log, const struct totals *totals, uint64_t not_kept);

#endif
