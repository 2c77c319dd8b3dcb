/* SPDX-License-Identifier: MIT */
/*
 * Finds the runtime that generated unnamed code, and prints how the runtime can supply names.
 *
 * The hint appears if at least UNNAMED_CODE_PERCENT and UNNAMED_CODE_SAMPLES of the CPU samples
 * have such code in their stacks. A runtime is recognized by its file in any stack of the process,
 * since stacks of generated code may be incomplete.
 */
#ifndef PROFILER_REPORT_UNNAMED_CODE_H
#define PROFILER_REPORT_UNNAMED_CODE_H

#include "profiler/base/log.h"
#include "profiler/model/result.h"

#define UNNAMED_CODE_PERCENT 5
#define UNNAMED_CODE_SAMPLES 6u /* minimum for a hint */

void unnamed_code_report(struct log *log, const struct result *result);

#endif
