/* SPDX-License-Identifier: MIT */
/*
 * --otlp: the trace that a run's spans are part of, and the collector that gets them, if one was
 * named. Files of spans are outputs like others (outputs.h).
 *
 * Spans are made and sent while the run goes on (live_spans.h), by two threads of their own, so the
 * session and the command never wait for a collector: the maker makes requests, and waits if it is
 * SPAN_EXPORT_QUEUE_BYTES ahead of the other one, which sends them. What is then collected beyond
 * what live_spans.h keeps is lost. At the end the maker does the rest, and the run's span. Stacks
 * of calls, and parts of a run (--time and the like), are known at the end alone: then all is sent
 * there.
 *
 * What does not arrive is counted and reported, and the exit status stays what it was, but for
 * --strict. At the end a collector that accepts nothing for SPAN_EXPORT_TIMEOUT_MS, and twice the
 * time of a request that the environment sets, gets no more; nor does any after Ctrl-C.
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
#define SPAN_EXPORT_PERIOD_NS UINT64_C(1000000000) /* a tick of live_spans.h */
#define SPAN_EXPORT_QUEUE_BYTES ((size_t)4 << 20)

/* Zero-initialised is closed. Does not move while it is open. */
struct span_export {
	struct otel_environment otel;
	struct http_post *post; /* NULL: no collector was named, or none is to be used */
	int64_t timeout_ms;
	struct session *session; /* whose signals end the sending; NULL: none */
	struct log *log;
	unsigned int asked;
	bool is_interrupted;

	/* while the run goes on */
	struct live_spans *live; /* NULL: all is sent at the end */
	bool has_begun, has_maker, has_reported;
	pthread_t maker;
	uint64_t next_ns; /* the next tick; 0: before the first one */

	/* at the end: set before the maker is stopped, and by it */
	const struct result *run; /* whose span is to be sent; NULL: nothing is, any more */
	bool is_ending;
	int error;
};

/* Returns whether a run with these options sends its spans while it goes on. */
bool span_export_is_live(const struct options *options);

/*
 * Before the command runs, so that mistakes show at once. True without --otlp; false after logging
 * the reason. Close it in any case. `helper`: makes the requests. `session`: NULL: there is none.
 */
bool span_export_open(struct span_export *e, struct log *log, const struct options *options,
		      const struct identity *identity, const struct helper *helper,
		      struct session *session);
void span_export_close(struct span_export *e);

/*
 * While the run goes on, and with `live`. The first one takes a record, from the timeline's
 * listener; true: it is time for the other one, which hands over what was taken, and once each
 * SPAN_EXPORT_PERIOD_NS makes what waits be sent. `totals`: of the run, as far as is known; its
 * strings are borrowed. `shapes`: of the records.
 */
bool span_export_take(struct span_export *e, const struct timeline_record *record,
		      uint64_t launched_ns);
bool span_export_is_due(const struct span_export *e, uint64_t now_ns);
void span_export_hand_over(struct span_export *e, const struct collected *collected,
			   const struct timeline *shapes, const struct totals *totals,
			   uint64_t now_ns);

/*
 * After all outputs, and the last hand-over: sends the spans to the collector, if there is one, or
 * those that are left, and reports what became of them. Once. 0 or -errno: they could not be made.
 * `lost`: how many did not arrive.
 */
int span_export_send(struct span_export *e, struct log *log, const struct result *result,
		     uint64_t *lost);

#endif
