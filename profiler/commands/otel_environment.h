/* SPDX-License-Identifier: MIT */
/*
 * Reads OpenTelemetry's environment variables: trace context, service, resource and collector.
 *
 * Sources: OpenTelemetry specification, "Environment Variable Specification", "OTLP Exporter",
 * "Environment Variables as Context Propagation Carriers". An empty variable counts as unset. A
 * wrong value is reported and ignored.
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
	enum otlp_encoding encoding; /* encoding for the collector */
	char url[HTTP_URL_BYTES];    /* URL of the collector */
	char *text;                  /* copy of OTEL_RESOURCE_ATTRIBUTES */
	struct span_attribute resource[OTEL_RESOURCE_MAX];
};

/*
 * Reads TRACEPARENT, TRACESTATE, OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES. Returns false
 * after logging that random numbers are unavailable. The environment must not move until its
 * release, which is due in any case.
 */
bool otel_environment_read(struct otel_environment *environment, struct log *log);
void otel_environment_release(struct otel_environment *environment);

/*
 * Returns whether OTEL_SDK_DISABLED is "true", in any case of letters. Then collectors get no
 * spans. Files are still written, since the command line names them.
 */
bool otel_environment_disables(struct log *log);

#define OTEL_FROM_ENVIRONMENT "env"

/*
 * Fills `collector` with borrowed strings. `where` is a URL or OTEL_FROM_ENVIRONMENT. A URL
 * without a path gets /v1/traces. The variables OTEL_EXPORTER_OTLP_TRACES_* and
 * OTEL_EXPORTER_OTLP_* add PROTOCOL, HEADERS, TIMEOUT (ms), COMPRESSION and CERTIFICATE. Returns
 * false after logging the reason.
 */
bool otel_environment_collector(struct otel_environment *environment, struct log *log,
				const char *where, struct http_target *collector);

#endif
