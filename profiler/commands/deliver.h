/* SPDX-License-Identifier: MIT */
/*
 * What the user gets of a result, whether it is of a run that has just ended or read from a
 * capture: the report on stderr, and the outputs, all of them as the options view the result. A
 * capture holds the result itself.
 */
#ifndef PROFILER_COMMANDS_DELIVER_H
#define PROFILER_COMMANDS_DELIVER_H

#include "profiler/base/quota.h"
#include "profiler/commands/opener.h"
#include "profiler/commands/options.h"
#include "profiler/commands/span_export.h"
#include "profiler/output/outputs.h"
#include "profiler/run/helper.h"
#include "profiler/run/supervisor.h"

/*
 * Enum writer_needs: what outputs and the view of them need of a result, and what they and the
 * report make use of; and parts of places (places.h's mask).
 */
unsigned int deliver_needs(const struct options *options);
unsigned int deliver_wants(const struct options *options);
uint32_t deliver_place_mask(const struct options *options);

/*
 * Prints what is left of the summary, and writes all outputs, even if one fails; with --open, one
 * is shown by the opener, which has been started. Then spans are sent, and the profile is pushed,
 * until a signal of the session (NULL: none) ends that. 0, or the status to exit with, after
 * logging the reason.
 */
int deliver(struct log *log, const struct options *options, struct outputs *outputs,
	    struct opener *opener, struct span_export *spans, const struct helper *helper,
	    struct session *session, const struct result *result, struct quota *memory);

#endif
