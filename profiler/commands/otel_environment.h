/* SPDX-License-Identifier: MIT */
/*
 * What the environment says of spans, as the OpenTelemetry specification has it ("Environment
 * Variable Specification", "OTLP Exporter", "Environment Variables as Context Propagation
 * Carriers"): whose trace they are in, whose service and resource, and how a collector is reached.
 *
 * A variable that is empty counts as one that is not set. One with a wrong value is reported, and
 * as good as not set.
 */
#ifndef PROFILER_COMMANDS_OTEL_ENVIRONMENT_H
#define PROFILER_COMMANDS_OTEL_ENVIRONMENT_H

#include <stdbool.h>
#include "profiler/base/log.h"
#include "profiler/send/http_request.h"
#include "profiler/formats/spans.h"

#define OTEL_RESOURCE_MAX 128u /* attributes; a longer list is a wrong value */

struct otel_environment {
	struct span_options spans;
	enum otlp_encoding encoding; /* for the collector */
	char url[HTTP_URL_BYTES];    /* of the collector */
	char *text;                  /* of the attributes */
	struct span_attribute resource[OTEL_RESOURCE_MAX];
};

/*
 * Reads TRACEPARENT, TRACESTATE, OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES. False after
 * logging the reason: there are no random numbers. Does not move while it is used; release it in
 * any case.
 */
bool otel_environment_read(struct otel_environment *environment, struct log *log);
void otel_environment_release(struct otel_environment *environment);

/*
 * Returns whether OTEL_SDK_DISABLED is "true" in any case: nothing is sent to a collector then.
 * Files are written, for the command line names them.
 */
bool otel_environment_disables(struct log *log);

#define OTEL_FROM_ENVIRONMENT "env"

/*
 * Fills `collector` with borrowed strings. `where`: a URL, to whose host /v1/traces is added if it
 * has no path; or OTEL_FROM_ENVIRONMENT. The rest is what OTEL_EXPORTER_OTLP_TRACES_* and
 * OTEL_EXPORTER_OTLP_* say: PROTOCOL, HEADERS, TIMEOUT (ms), COMPRESSION, CERTIFICATE. False after
 * logging the reason.
 */
bool otel_environment_collector(struct otel_environment *environment, struct log *log,
				const char *where, struct http_target *collector);

#endif
