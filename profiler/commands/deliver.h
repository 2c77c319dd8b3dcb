/* SPDX-License-Identifier: MIT */
/*
 * Delivers a result to the user: the report on stderr, outputs, spans and pushes.
 *
 * The result is of a run that has ended, or of a capture. All outputs show the view of the
 * options, except captures, which keep the whole result.
 */
#ifndef PROFILER_COMMANDS_DELIVER_H
#define PROFILER_COMMANDS_DELIVER_H

#include "profiler/base/quota.h"
#include "profiler/commands/opener.h"
#include "profiler/commands/options.h"
#include "profiler/commands/span_export.h"
#include "profiler/output/outputs.h"
#include "profiler/report/ending.h"
#include "profiler/run/helper.h"
#include "profiler/run/supervisor.h"

#define DELIVER_FINDINGS_RECORDS (UINT64_C(1) << 23) /* 470 MB */

/*
 * Return masks of enum writer_needs, and of parts of places (places.h).
 *   deliver_needs: required by outputs and the view
 *   deliver_wants: also what the report and findings can use
 * deliver_shows_timeline returns false if findings alone use the timeline. Then it is bounded by
 * DELIVER_FINDINGS_RECORDS, and a longer one is dropped: nothing that the user asked for is lost.
 */
unsigned int deliver_needs(const struct options *options);
unsigned int deliver_wants(const struct options *options);
bool deliver_shows_timeline(const struct options *options);
uint32_t deliver_place_mask(const struct options *options);

/*
 * Prints the rest of the summary and the findings, and writes all outputs, even if one fails. With
 * --open, shows one by the opener, which is running. Then sends spans and pushes the profile, until
 * a signal of the session. `session` is NULL without signals to watch. Sets `ending`, which the
 * caller closes after the last message. Returns 0, or the exit status after logging the reason.
 */
int deliver(struct log *log, const struct options *options, struct outputs *outputs,
	    struct opener *opener, struct span_export *spans, const struct helper *helper,
	    struct session *session, const struct result *result, struct quota *memory,
	    struct ending *ending);

#endif
