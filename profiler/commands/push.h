/* SPDX-License-Identifier: MIT */
/*
 * Pushes the profile to profile engines at the end of the run: --push.
 *
 * Engines get the result that an output file would show. The service is OTEL_SERVICE_NAME, or the
 * name of the command. Header fields may hold credentials, so they come from PROFILE_PUSH_HEADERS:
 * everybody can read a command line.
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
 * Checks the URLs before the command runs, so that mistakes show at once. Returns true without
 * --push, and false after logging the reason.
 */
bool push_check(struct log *log, const struct options *options, const struct identity *identity,
		const struct helper *helper);

/*
 * Pushes the profile to all engines and reports the results. A signal of the session ends the
 * waiting; `session` may be NULL. Returns the number of engines that did not take the profile; the
 * reasons are logged.
 */
uint32_t push_result(struct log *log, const struct options *options, const struct helper *helper,
		     struct session *session, const struct result *result);

#endif
