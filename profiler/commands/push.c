// SPDX-License-Identifier: MIT
#include "profiler/commands/push.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "profiler/commands/services.h"
#include "profiler/send/engine.h"
#include "profiler/send/http_post.h"
#include "profiler/send/http_url.h"
#include "profiler/model/quantity.h"
#include "profiler/run/target_environment.h"
#include "symbolize/util/monotonic.h"

/* A --push in progress. */
struct push {
	const struct engine *engine;
	char *address;
	struct http_post *post; /* NULL after a failure */
	bool is_sent;
};

/*
 * Opens the connection to an engine. `query` may be NULL. Returns false after logging the reason.
 */
static bool open_push(struct push *p, struct log *log, const struct helper *helper, const char *url,
		      const char *query)
{
	struct http_post_options options = {.target.headers = getenv(TARGET_ENVIRONMENT_SECRET)};
	char why[HTTP_WHY_BYTES] = "";
	const char *wrong;

	p->engine = engine_find(url, &p->address, &wrong);
	if (!p->engine)
		return log_error(log, "--push takes the URL of an engine that keeps profiles: %s",
				 wrong);
	options.connector = services_http(helper);
	options.target.url = p->address;
	options.target.content_type = p->engine->content_type;
	options.target.request_ms = PUSH_TIMEOUT_MS; /* long enough for a large profile */
	options.target.is_compressed = p->engine->is_compressed;
	options.target.query = query;
	options.queue_bytes = SIZE_MAX;
	options.accepts = p->engine->accepts;
	p->post = http_post_new(&options, why);
	return p->post || log_error(log, "--push: %s", why);
}

static void release(struct push *p)
{
	free(p->address);
}

/* ---- before the run ---- */

bool push_check(struct log *log, const struct options *o, const struct identity *identity,
		const struct helper *helper)
{
	bool is_good = true;

	if (o->push_count && identity->keeps_root)
		return log_error(log, "--push is not for root on behalf of another user: not with "
				      "--as-root; write -o FILE.profile, and push it with --from");
	for (uint32_t i = 0; i < o->push_count && is_good; i++) {
		struct push p = {.engine = NULL};
		struct http_post_stats stats;

		is_good = open_push(&p, log, helper, o->pushes[i], NULL);
		http_post_finish(p.post, 0, &stats);
		release(&p);
	}
	return is_good;
}

/* ---- after it ---- */

void push_body_release(struct push_body *body)
{
	free(body->query);
	free(body->bytes);
	*body = (struct push_body){NULL};
}

bool push_encode(struct log *log, const char *url, const struct engine_profile *profile,
		 struct push_body *body)
{
	char *address;
	const char *wrong;
	const struct engine *engine = engine_find(url, &address, &wrong);
	FILE *out = open_memstream(&body->bytes, &body->size);
	int err = out && engine ? engine->write(profile, out) : -ENOMEM;

	body->query = engine && engine->query ? engine->query(profile) : NULL;
	if (out && fclose(out) != 0 && !err)
		err = -ENOMEM;
	if (!err && engine->query && !body->query)
		err = -ENOMEM;
	free(address);
	if (!err)
		return true;
	push_body_release(body);
	return log_error(log, "--push: %s", strerror(-err));
}

/* Encodes and queues the profile. Returns false after logging the reason. */
static bool send(struct push *p, struct log *log, const struct helper *helper, const char *url,
		 const struct engine_profile *profile)
{
	struct push_body body = {NULL};
	bool is_good =
		push_encode(log, url, profile, &body) && open_push(p, log, helper, url, body.query);

	if (is_good) {
		http_post_send(p->post, body.bytes, body.size, 1);
		body.bytes = NULL;
	}
	push_body_release(&body);
	return is_good;
}

/* Waiting for all engines. */
struct waiting {
	struct log *log;
	struct session *session; /* NULL without signals to watch */
	const struct push *push; /* engine waited for */
	unsigned int asked;
	bool is_interrupted;
};

static bool ends(void *context)
{
	struct waiting *w = context;

	if (++w->asked == 5)
		log_line(w->log, "Waiting for %s to take the profile; Ctrl-C ends that",
			 http_post_shown(w->push->post));
	w->is_interrupted |= w->session && session_ends_sending(w->session);
	return w->is_interrupted;
}

/* Returns whether a status refuses this body alone, and would do so again: bad, too old, too big.
 */
static bool is_about_body(long status)
{
	return status == 400 || status == 413 || status == 422;
}

enum push_answer push_send(struct log *log, const struct helper *helper, const char *url,
			   const struct push_body *body, int64_t limit_ms, struct session *session,
			   char why[HTTP_WHY_BYTES])
{
	struct push p = {.engine = NULL};
	struct waiting waiting = {.log = log, .session = session, .push = &p};
	struct http_post_stats stats = {.sent = {0}};
	char *copy = malloc(body->size + 1);

	snprintf(why, HTTP_WHY_BYTES, "out of memory");
	if (copy && open_push(&p, log, helper, url, body->query)) {
		memcpy(copy, body->bytes, body->size);
		http_post_send(p.post, copy, body->size, 1);
		copy = NULL;
		http_post_limit(p.post, limit_ms);
		if (limit_ms > 0)
			http_post_wait(p.post, 0, limit_ms, ends, &waiting);
		http_post_finish(p.post, 0, &stats);
		snprintf(why, HTTP_WHY_BYTES, "%s", stats.why);
	}
	free(copy);
	release(&p);
	if (stats.sent.requests)
		return PUSH_TAKEN;
	return is_about_body(stats.status) ? PUSH_REFUSED : PUSH_NOT_TAKEN;
}

/* Waits for a push and reports its result. Returns whether the engine took the profile. */
static bool end(const struct push *p, struct waiting *w, int64_t deadline, const char *service)
{
	char server[HTTP_URL_BYTES] = "", size[QUANTITY_BYTES];
	int64_t left = deadline - monotonic_ms();
	struct http_post_stats stats;

	w->push = p;
	if (p->post)
		snprintf(server, sizeof(server), "%s", http_post_shown(p->post));
	if (p->is_sent && left > 0 && !w->is_interrupted)
		http_post_wait(p->post, 0, left, ends, w);
	http_post_finish(p->post, 0, &stats);
	if (!p->is_sent)
		return false; /* the reason was logged */
	if (!stats.sent.requests)
		return log_error(w->log, "the profile was not pushed: %s%s",
				 w->is_interrupted ? server : stats.why,
				 w->is_interrupted ? ": interrupted" : "");
	log_line(w->log, "Pushed the profile of %s to %s (%s)", service, server,
		 bytes_text(size, stats.sent_bytes));
	return true;
}

uint32_t push_result(struct log *log, const struct options *o, const struct helper *helper,
		     struct session *session, const struct result *result)
{
	char service[ENGINE_SERVICE_BYTES];
	struct engine_profile profile = {.result = result,
					 .service = service,
					 .labels = o->push_labels,
					 .label_count = o->push_label_count};
	struct push pushes[OPTIONS_MAX_PUSHES] = {{.engine = NULL}};
	struct waiting waiting = {.log = log, .session = session};
	uint32_t failed = 0;
	int64_t deadline;

	if (!o->push_count)
		return 0;
	if (result->row_count == 0) {
		log_warn(log, "the profile is empty: nothing is pushed");
		return 0;
	}
	if (session)
		session_begin_sending(session);
	engine_service(result, getenv("OTEL_SERVICE_NAME"), service);
	for (uint32_t i = 0; i < o->push_count; i++)
		pushes[i].is_sent = send(&pushes[i], log, helper, o->pushes[i], &profile);
	deadline = monotonic_ms() + PUSH_TIMEOUT_MS;
	for (uint32_t i = 0; i < o->push_count; i++)
		if (pushes[i].is_sent)
			http_post_limit(pushes[i].post, PUSH_TIMEOUT_MS);
	for (uint32_t i = 0; i < o->push_count; i++) {
		failed += !end(&pushes[i], &waiting, deadline, service);
		release(&pushes[i]);
	}
	return failed;
}
