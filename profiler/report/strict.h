/* SPDX-License-Identifier: MIT */
/*
 * Checks --strict: nothing known was lost or unmatched.
 */
#ifndef PROFILER_REPORT_STRICT_H
#define PROFILER_REPORT_STRICT_H

#include <stdbool.h>
#include "profiler/base/log.h"
#include "profiler/model/result.h"

/*
 * Returns whether nothing was lost, and logs each loss. `not_kept` counts stacks and names that
 * naming dropped, `lost_spans` spans that did not arrive, and `not_pushed` engines without the
 * profile.
 */
bool strict_check(struct log *log, const struct totals *totals, uint64_t not_kept,
		  uint64_t lost_spans, uint32_t not_pushed);

/* Prints the losses as a table, followed by incomplete data (losses.h). */
void strict_report(struct log *log, const struct totals *totals, uint64_t not_kept);

#endif
