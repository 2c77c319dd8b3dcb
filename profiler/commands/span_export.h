/* SPDX-License-Identifier: MIT */
/*
 * Sends the spans of a run to an OpenTelemetry collector: --otlp. Files of spans are outputs
 * (outputs.h).
 *
 * Two threads make and send spans during the run (live_spans.h). The session and the command never
 * wait for a collector. The maker makes requests, and waits while SPAN_EXPORT_QUEUE_BYTES are
 * queued. The other thread sends requests. Records beyond the queue of live_spans.h are lost. At
 * the end the maker completes the rest, and the span of the run. Stacks of calls and parts of a
 * run (--time) are known only at the end; with these all spans are sent then.
 *
 * Lost spans are counted and reported. They change the exit status only with --strict. At the end
 * a collector that accepts nothing for a timeout gets no more spans, nor does one after Ctrl-C.
 * The timeout is SPAN_EXPORT_TIMEOUT_MS plus twice the environment's timeout of a request.
 */
#ifndef PROFILER_COMMANDS_SPAN_EXPORT_H
#define PROFILER_COMMANDS_SPAN_EXPORT_H

#include <pthread.h>
#include <stdbool.h>
#include "profiler/base/log.h"
#include "profiler/commands/options.h"
#include "profiler/commands/otel_environment.h"
#include "profiler/send/http_post.h"
#include "profiler/send/live_spans.h"
#include "profiler/model/result.h"
#include "profiler/run/helper.h"
#include "profiler/run/identity.h"
#include "profiler/run/session.h"

#define SPAN_EXPORT_TIMEOUT_MS 30000
#define SPAN_EXPORT_PERIOD_NS UINT64_C(1000000000) /* a tick (live_spans.h) */
#define SPAN_EXPORT_QUEUE_BYTES ((size_t)4 << 20)

/* Zero-initialised is closed. Must not move while open. */
struct span_export {
	struct otel_environment otel;
	struct http_post *post; /* NULL without a collector */
	int64_t timeout_ms;
	struct session *session; /* its signals end the sending; NULL: none */
	struct log *log;
	unsigned int asked;
	bool is_interrupted;

	/* during the run */
	struct live_spans *live; /* NULL if all spans are sent at the end */
	bool has_begun, has_maker, has_reported;
	pthread_t maker;
	uint64_t next_ns; /* time of the next tick; 0 before the first one */

	/* at the end; set before the maker stops */
	const struct result *run; /* result whose span is sent; NULL: none */
	bool is_ending;
	int error;
};

/* Returns whether spans are sent during the run. */
bool span_export_is_live(const struct options *options);

/*
 * Opens the collector before the command runs, so that mistakes show at once. `helper` makes the
 * requests. `session` is NULL without signals to watch. Returns true without --otlp, and false
 * after logging the reason. Close it in any case.
 */
bool span_export_open(struct span_export *e, struct log *log, const struct options *options,
		      const struct identity *identity, const struct helper *helper,
		      struct session *session);
void span_export_close(struct span_export *e);

/*
 * Hand records over during the run, if `live` is set. live_spans_take takes a record, and says when
 * a hand-over is due. span_export_is_due returns true every SPAN_EXPORT_PERIOD_NS, for a tick.
 * span_export_hand_over hands over the taken records, and on a tick sends the pending spans.
 * `totals` are those known so far, with borrowed strings. `shapes` has the shapes of the records.
 */
bool span_export_is_due(const struct span_export *e, uint64_t now_ns);
void span_export_hand_over(struct span_export *e, const struct collected *collected,
			   const struct timeline *shapes, const struct totals *totals,
			   uint64_t now_ns);

/*
 * Sends the remaining spans, after all outputs and the last hand-over, and reports the result.
 * Call it once. `lost` becomes the number of spans that did not arrive. Returns 0, or -errno if
 * the spans could not be made.
 */
int span_export_send(struct span_export *e, struct log *log, const struct result *result,
		     uint64_t *lost);

#endif
