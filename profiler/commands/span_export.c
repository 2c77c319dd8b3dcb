// SPDX-License-Identifier: MIT
#include "profiler/commands/span_export.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "profiler/commands/services.h"
#include "profiler/send/otlp_answer.h"
#include "profiler/model/quantity.h"
#include "profiler/run/privilege.h"
#include "symbolize/util/worker_thread.h"

/* Prepares a thread: no privilege, and low priority to leave the CPUs to the program. */
static void begin_thread(void)
{
	privilege_drop_thread();
	privilege_lower_priority();
}

static bool open_post(struct span_export *e, struct log *log, const struct helper *helper,
		      const char *where)
{
	struct http_post_options options = {.connector = services_http(helper),
					    .queue_bytes = 2 * SPAN_EXPORT_QUEUE_BYTES,
					    .count_refused = otlp_answer_refused,
					    .begin_thread = begin_thread};
	char why[HTTP_WHY_BYTES];

	if (!otel_environment_collector(&e->otel, log, where, &options.target))
		return false;
	e->post = http_post_new(&options, why);
	e->timeout_ms = SPAN_EXPORT_TIMEOUT_MS + INT64_C(2) * options.target.request_ms;
	return e->post || log_error(log, "--otlp: %s", why);
}

/* ---- sending ---- */

/* Returns whether waiting for the collector must end. Logs a message after a second. */
static bool ends(void *context)
{
	struct span_export *e = context;

	if (++e->asked == 5)
		log_line(e->log, "Waiting for %s to take the spans; Ctrl-C ends that",
			 http_post_shown(e->post));
	e->is_interrupted |= e->session && session_ends_sending(e->session);
	return e->is_interrupted;
}

static bool wait_for(struct span_export *e, size_t queued)
{
	return !e->is_interrupted && http_post_wait(e->post, queued, e->timeout_ms, ends, e);
}

static bool is_stopping(void *context)
{
	const struct span_export *e = context;

	return live_spans_is_stopping(e->live);
}

/*
 * Waits for room in the queue, in the maker's thread. Records that arrive meanwhile wait, or are
 * lost.
 */
static void await_room(struct span_export *e)
{
	while (!http_post_wait(e->post, SPAN_EXPORT_QUEUE_BYTES, SPAN_EXPORT_TIMEOUT_MS,
			       is_stopping, e) &&
	       !live_spans_is_stopping(e->live))
		;
}

static int put(void *context, const void *request, size_t size, uint32_t spans)
{
	struct span_export *e = context;
	void *body;

	if (!e->is_ending)
		await_room(e);
	else if (!wait_for(e, SPAN_EXPORT_QUEUE_BYTES))
		return -ECANCELED;
	body = malloc(size);
	if (body)
		memcpy(body, request, size);
	http_post_send(e->post, body, size, spans);
	return 0;
}

/* ---- while the run goes on ---- */

bool span_export_is_live(const struct options *o)
{
	const struct run_options *run = options_run(o);

	return o->span_server && run && !o->span_stacks && !run->measure.last_ns &&
	       !slice_is_part(&o->view.slice);
}

/*
 * Starts to send spans during the run, unless they are sent at the end. Returns false if out of
 * memory.
 */
static bool open_live(struct span_export *e, struct log *log, const struct options *o)
{
	const struct run_options *run = options_run(o);

	if (!run)
		return true;
	if (!span_export_is_live(o)) {
		log_line(log, "With %s, spans are sent when the run is over",
			 o->span_stacks         ? "--otlp-stacks"
			 : run->measure.last_ns ? "--last"
						: "a part of the run");
		return true;
	}
	e->live = live_spans_new(&(struct live_spans_options){.spans = &e->otel.spans,
							      .encoding = e->otel.encoding,
							      .raw_names = o->naming.raw_names,
							      .put = put,
							      .context = e});
	return e->live || log_error(log, "out of memory");
}

/* Starts the timeout of a collector that accepts nothing. */
static void begin_ending(struct span_export *e)
{
	e->is_ending = true;
	http_post_count_timeout(e->post);
}

/* Sends the remaining spans and the span of the run. */
static void end_live(struct span_export *e)
{
	begin_ending(e);
	e->error = live_spans_end(e->live, e->run);
}

static void *make_spans(void *arg)
{
	struct span_export *e = arg;

	begin_thread();
	while (live_spans_wait(e->live))
		live_spans_work(e->live);
	if (e->run)
		end_live(e);
	return NULL;
}

/*
 * Starts the maker, after the command was forked. Without the thread, spans are made at the end.
 */
static void start_maker(struct span_export *e)
{
	e->has_maker = true;
	if (worker_thread_start(&e->maker, 0, make_spans, e) != 0)
		e->has_maker = false;
}

static void stop_maker(struct span_export *e)
{
	if (!e->has_maker)
		return;
	live_spans_stop(e->live);
	pthread_join(e->maker, NULL);
	e->has_maker = false;
}

bool span_export_is_due(const struct span_export *e, uint64_t now_ns)
{
	return e->live && now_ns >= e->next_ns;
}

/* Warns once, during the run, that spans do not arrive. */
static void report_failure(struct span_export *e)
{
	char why[HTTP_WHY_BYTES];

	if (e->has_reported || !http_post_failed(e->post, why))
		return;
	e->has_reported = true;
	log_warn(e->log, "spans do not arrive: %s; others are still sent", why);
}

void span_export_hand_over(struct span_export *e, const struct collected *collected,
			   const struct timeline *shapes, const struct totals *totals,
			   uint64_t now_ns)
{
	bool is_due = span_export_is_due(e, now_ns), is_tick = is_due && e->next_ns;

	if (!e->has_begun)
		live_spans_begin(e->live, totals);
	e->has_begun = true;
	if (is_due)
		e->next_ns = now_ns + SPAN_EXPORT_PERIOD_NS;
	live_spans_hand_over(e->live, collected, shapes, is_tick);
	if (!e->has_maker && live_spans_count(e->live).all > 1)
		start_maker(e);
	report_failure(e);
}

/* ---- start and end ---- */

bool span_export_open(struct span_export *e, struct log *log, const struct options *options,
		      const struct identity *identity, const struct helper *helper,
		      struct session *session)
{
	bool is_sampled, sends = options->span_server && !otel_environment_disables(log);

	if (options->span_server && !sends)
		log_line(log, "No spans are sent: OTEL_SDK_DISABLED is true");
	if (options->span_file_count == 0 && !sends)
		return true;
	if (!otel_environment_read(&e->otel, log))
		return false;
	e->otel.spans.has_stacks = options->span_stacks;
	is_sampled = e->otel.spans.context.flags & TRACE_SAMPLED;
	if (!is_sampled)
		log_warn(log, "the trace in TRACEPARENT is not sampled: there will be no spans; "
			      "unset it for a trace of their own");
	if (!sends)
		return true;
	if (identity->keeps_root)
		return log_error(
			log, "--otlp: spans are not sent by root on behalf of another user: not "
			     "with --as-root; write --otlp FILE, or -o FILE.profile, and send "
			     "that with --from");
	e->log = log;
	e->session = session;
	return open_post(e, log, helper, options->span_server) &&
	       (!is_sampled || open_live(e, log, options));
}

void span_export_close(struct span_export *e)
{
	struct http_post_stats stats;

	stop_maker(e);
	http_post_finish(e->post, 0, &stats);
	e->post = NULL;
	live_spans_free(e->live);
	e->live = NULL;
	otel_environment_release(&e->otel);
}

/* ---- what became of them ---- */

static void report(const struct span_export *e, const char *shown, uint64_t lost,
		   const struct http_post_stats *stats)
{
	struct log *log = e->log;
	const struct http_count *sent = &stats->sent;
	char text[QUANTITY_BYTES];

	log_line(log, "Sent %" PRIu64 " span%s (%s in %" PRIu64 " request%s) to %s", sent->items,
		 sent->items == 1 ? "" : "s", bytes_text(text, stats->sent_bytes), sent->requests,
		 sent->requests == 1 ? "" : "s", shown);
	log_warn_if(log, lost, "# span{|s} did not arrive%s%s",
		    e->is_interrupted      ? ": interrupted"
		    : stats->why[0]        ? ": "
		    : stats->refused_items ? ": the collector refused them"
					   : ": they came faster than they could be sent",
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
	if (e->session)
		session_begin_sending(e->session);
	snprintf(shown, sizeof(shown), "%s", http_post_shown(e->post));
	if (e->live) {
		e->run = result;
		if (e->has_maker)
			stop_maker(e);
		else
			end_live(e);
		err = e->error;
		total = live_spans_count(e->live).all;
	} else {
		begin_ending(e);
		err = spans_write(result, &e->otel.spans, e->otel.encoding, put, e, &written,
				  &total);
	}
	if (err != -ECANCELED)
		wait_for(e, 0);
	http_post_finish(e->post, 0, &stats);
	e->post = NULL;
	if (err && err != -ECANCELED) {
		log_error(log, "making the spans: %s", strerror(-err));
		return err;
	}
	*lost = total - stats.sent.items;
	report(e, shown, *lost, &stats);
	return 0;
}
