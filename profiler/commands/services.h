/* SPDX-License-Identifier: MIT */
/*
 * Starts the helper (run/helper.h) with the services that commands need.
 *
 * The helper makes HTTP requests for --otlp URL and --push, and reads the state of GPUs. A service
 * that needs another library is one more row of the table.
 */
#ifndef PROFILER_COMMANDS_SERVICES_H
#define PROFILER_COMMANDS_SERVICES_H

#include "profiler/commands/options.h"
#include "profiler/send/http_channel.h"
#include "profiler/run/gpu_watch.h"
#include "profiler/run/helper.h"

/*
 * Starts the helper if the options need it. Call it while the process has one thread. Returns 0 or
 * -errno.
 */
int services_start(struct helper *helper, const struct options *options,
		   const struct identity *identity);

/* Return connectors to the helper, which must not move. */
struct http_connector services_http(const struct helper *helper);
struct gpu_watch_connector services_gpu_states(const struct helper *helper);

#endif
