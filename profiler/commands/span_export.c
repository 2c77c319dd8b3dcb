// SPDX-License-Identifier: MIT
#include "profiler/commands/span_export.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include "profiler/output/otlp_answer.h"
#include "profiler/report/quantity.h"
#include "profiler/session/privilege.h"

#define QUEUE_BYTES ((size_t)4 << 20)

static void begin_thread(void)
{
	privilege_drop_thread();
}

static bool open_post(struct span_export *e, struct log *log, const char *where)
{
	struct otel_collector collector;
	char why[HTTP_WHY_BYTES];

	if (!otel_environment_collector(&e->otel, log, where, &collector))
		return false;
	e->post = http_post_new(
		&(struct http_post_options){
			.target = {.url = collector.url,
				   .content_type = e->otel.encoding == OTLP_JSON
							   ? "application/json"
							   : "application/x-protobuf",
				   .headers = collector.headers,
				   .ca_file = collector.ca_file,
				   .request_ms = collector.request_ms,
				   .is_compressed = collector.is_compressed},
			.queue_bytes = 2 * QUEUE_BYTES,
			.count_refused = otlp_answer_refused,
			.begin_thread = begin_thread},
		why);
	e->patience_ms = SPAN_EXPORT_PATIENCE_MS + INT64_C(2) * collector.request_ms;
	if (!e->post)
		log_error(log, "--otlp: %s", why);
	return e->post != NULL;
}

bool span_export_open(struct span_export *e, struct log *log, const struct options *options,
		      const struct identity *identity, const struct supervisor_link *supervisor)
{
	if (options->span_file_count == 0 && !options->span_server)
		return true;
	if (!otel_environment_read(&e->otel, log))
		return false;
	e->otel.spans.has_stacks = options->span_stacks;
	if (!(e->otel.spans.context.flags & TRACE_SAMPLED))
		log_warn(log, "the trace in TRACEPARENT is not sampled: there will be no spans; "
			      "unset it for a trace of their own");
	if (!options->span_server)
		return true;
	if (identity->keeps_root) {
		log_error(log, "--otlp: spans are not sent by root on behalf of another user: not "
			       "with --as-root; write --otlp FILE, or -o FILE.profile, and send "
			       "that with --from");
		return false;
	}
	e->log = log;
	e->supervisor = supervisor;
	return open_post(e, log, options->span_server);
}

void span_export_close(struct span_export *e)
{
	struct http_post_stats stats;

	http_post_finish(e->post, 0, &stats);
	e->post = NULL;
	otel_environment_release(&e->otel);
}

/* ---- sending ---- */

/* Asked while we wait for the collector. */
static bool ends(void *context)
{
	struct span_export *e = context;
	struct supervisor_signal signal;
	int more = 0;

	if (++e->asked == 5)
		log_line(e->log, "Waiting for %s to take the spans%s", http_post_shown(e->post),
			 e->supervisor ? "; Ctrl-C ends that" : "");
	while (e->supervisor && (more = supervisor_next_signal(e->supervisor, &signal)) == 1)
		e->is_interrupted |= signal.number == SIGINT || signal.number == SIGTERM ||
				     signal.number == SIGHUP;
	e->is_interrupted |= more < 0;
	return e->is_interrupted;
}

static bool wait_for(struct span_export *e, size_t queued)
{
	return !e->is_interrupted && http_post_wait(e->post, queued, e->patience_ms, ends, e);
}

static int put(void *context, const void *request, size_t size, uint32_t spans)
{
	struct span_export *e = context;
	void *body;

	if (!wait_for(e, QUEUE_BYTES))
		return -ETIMEDOUT;
	body = malloc(size);
	if (body)
		memcpy(body, request, size);
	http_post_send(e->post, body, size, spans);
	return 0;
}

static void report(const struct span_export *e, const char *shown, uint64_t lost,
		   const struct http_post_stats *stats)
{
	struct log *log = e->log;
	const struct http_count *sent = &stats->sent;
	char text[QUANTITY_BYTES];

	log_line(log, "Sent %" PRIu64 " span%s (%s in %" PRIu64 " request%s) to %s", sent->items,
		 sent->items == 1 ? "" : "s", bytes_text(text, stats->sent_bytes), sent->requests,
		 sent->requests == 1 ? "" : "s", shown);
	if (lost)
		log_warn(log, "%" PRIu64 " span%s did not arrive%s%s", lost, lost == 1 ? "" : "s",
			 e->is_interrupted      ? ": interrupted"
			 : stats->why[0]        ? ": "
			 : stats->refused_items ? ": the collector refused them"
						: "",
			 e->is_interrupted ? "" : stats->why);
}

int span_export_send(struct span_export *e, struct log *log, const struct result *result,
		     uint64_t *lost)
{
	struct http_post_stats stats;
	struct written written;
	char shown[HTTP_WHY_BYTES];
	uint64_t total;
	int err;

	*lost = 0;
	if (!e->post)
		return 0;
	if (e->supervisor)
		supervisor_report_written(e->supervisor);
	snprintf(shown, sizeof(shown), "%s", http_post_shown(e->post));
	err = spans_write(result, &e->otel.spans, e->otel.encoding, put, e, &written, &total);
	if (err != -ETIMEDOUT)
		wait_for(e, 0);
	http_post_finish(e->post, 0, &stats);
	e->post = NULL;
	if (err && err != -ETIMEDOUT) {
		log_error(log, "making the spans: %s", strerror(-err));
		return err;
	}
	*lost = total - stats.sent.items;
	report(e, shown, *lost, &stats);
	return 0;
}
