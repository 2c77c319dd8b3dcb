/* SPDX-License-Identifier: MIT */
/*
 * Which runtime generated the code that has no names, and how it can be made to give them.
 *
 * Where at least UNNAMED_CODE_PERCENT and UNNAMED_CODE_SAMPLES of the CPU samples have such code in
 * their stacks, one line says what to do about the runtime with most of it. A runtime is known by
 * its file in the stacks of the process: not only in those of its generated code, which may have no
 * whole stack at all.
 */
#ifndef PROFILER_REPORT_UNNAMED_CODE_H
#define PROFILER_REPORT_UNNAMED_CODE_H

#include "profiler/base/log.h"
#include "profiler/model/result.h"

#define UNNAMED_CODE_PERCENT 5
#define UNNAMED_CODE_SAMPLES 6u /* fewer tell nothing */

void unnamed_code_report(struct log *log, const struct result *result);

#endif
