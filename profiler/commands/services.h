/* SPDX-License-Identifier: MIT */
/*
 * Starts the helper (run/helper.h) with the services that commands need.
 *
 * The helper makes HTTP requests for --otlp URL and --push. A service that needs another library
 * is one more row of the table.
 */
#ifndef PROFILER_COMMANDS_SERVICES_H
#define PROFILER_COMMANDS_SERVICES_H

#include "profiler/commands/options.h"
#include "profiler/send/http_channel.h"
#include "profiler/run/helper.h"

/*
 * Starts the helper if the options need it. Call it while the process has one thread. Returns 0 or
 * -errno.
 */
int services_start(struct helper *helper, const struct options *options,
		   const struct identity *identity);

/* Returns a connector to the helper, which must not move. */
struct http_connector services_http(const struct helper *helper);

#endif
