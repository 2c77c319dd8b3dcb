/* SPDX-License-Identifier: MIT */
/*
 * --otlp: the trace that a run's spans are part of, and the collector that gets them, if one was
 * named. Files of spans are outputs like others (outputs.h).
 *
 * All is sent when the run is over, so the command never waits for a collector; 4 MiB at a time are
 * in memory. What does not arrive is counted and reported, and the exit status stays what it was,
 * but for --strict. A collector that accepts nothing for SPAN_EXPORT_PATIENCE_MS, and twice the
 * time of a request that the environment sets, gets no more; nor does any after
 * Ctrl-C.
 */
#ifndef PROFILER_COMMANDS_SPAN_EXPORT_H
#define PROFILER_COMMANDS_SPAN_EXPORT_H

#include <stdbool.h>
#include "profiler/base/log.h"
#include "profiler/commands/options.h"
#include "profiler/commands/otel_environment.h"
#include "profiler/output/http_post.h"
#include "profiler/profile/result.h"
#include "profiler/session/identity.h"
#include "profiler/session/supervisor.h"

#define SPAN_EXPORT_PATIENCE_MS 30000

/* Zero-initialised is closed. Does not move while it is open. */
struct span_export {
	struct otel_environment otel;
	struct http_post *post; /* NULL: no collector was named */
	int64_t patience_ms;
	const struct supervisor_link *supervisor; /* whose signals end the sending; NULL: none */
	struct log *log;
	unsigned int asked;
	bool is_interrupted;
};

/*
 * Before the command runs, so that mistakes show at once. True without --otlp; false after logging
 * the reason. Close it in any case. `supervisor`: NULL: there is none.
 */
bool span_export_open(struct span_export *e, struct log *log, const struct options *options,
		      const struct identity *identity, const struct supervisor_link *supervisor);
void span_export_close(struct span_export *e);

/*
 * After all outputs: sends the spans to the collector, if there is one, and reports what became of
 * them. Once. 0 or
 * -errno: they could not be made. `lost`: how many did not arrive.
 */
int span_export_send(struct span_export *e, struct log *log, const struct result *result,
		     uint64_t *lost);

#endif
