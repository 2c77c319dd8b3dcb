/* SPDX-License-Identifier: MIT */
/*
 * --push: hands the profile to engines that keep profiles, at the end of the run.
 *
 * Each gets what an output file would show. The service is OTEL_SERVICE_NAME, or the command's
 * name; header fields, which may hold credentials, come from PROFILE_PUSH_HEADERS: the command line
 * can be read by everybody.
 */
#ifndef PROFILER_COMMANDS_PUSH_H
#define PROFILER_COMMANDS_PUSH_H

#include <stdbool.h>
#include <stdint.h>
#include "profiler/base/log.h"
#include "profiler/commands/options.h"
#include "profiler/model/result.h"
#include "profiler/run/helper.h"
#include "profiler/run/identity.h"
#include "profiler/run/session.h"

#define PUSH_TIMEOUT_MS 30000 /* for all engines together */

/*
 * Before the command runs, so that mistakes show at once. True if nothing is to be pushed; false
 * after logging the reason.
 */
bool push_check(struct log *log, const struct options *options, const struct identity *identity,
		const struct helper *helper);

/*
 * Pushes it to all engines, and says so. A signal of the session ends that; NULL: there is none.
 * The number of those that did not take it; why is logged.
 */
uint32_t push_result(struct log *log, const struct options *options, const struct helper *helper,
		     struct session *session, const struct result *result);

#endif
