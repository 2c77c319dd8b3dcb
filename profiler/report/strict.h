/* SPDX-License-Identifier: MIT */
/*
 * --strict: nothing was lost and nothing is unmatched, as far as can be known.
 */
#ifndef PROFILER_REPORT_STRICT_H
#define PROFILER_REPORT_STRICT_H

#include <stdbool.h>
#include "profiler/base/log.h"
#include "profiler/profile/ledger.h"

/* Whether it is so; if not, each reason gets a line. */
bool strict_check(struct log *log, const struct ledger *ledger);

#endif
