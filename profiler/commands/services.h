/* SPDX-License-Identifier: MIT */
/*
 * What the helper (run/helper.h) does for the commands: requests by HTTP, for --otlp URL and
 * --push. A further library, as NVML, is one more line in the table.
 */
#ifndef PROFILER_COMMANDS_SERVICES_H
#define PROFILER_COMMANDS_SERVICES_H

#include "profiler/commands/options.h"
#include "profiler/send/http_channel.h"
#include "profiler/run/helper.h"

/* Starts the helper if the options need one. In a process of one thread. 0 or -errno. */
int services_start(struct helper *helper, const struct options *options,
		   const struct identity *identity);

/* Connections with the helper, which stays where it is. */
struct http_connector services_http(const struct helper *helper);

#endif
