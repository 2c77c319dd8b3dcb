// SPDX-License-Identifier: MIT
#include "profiler/send/http_post.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include "profiler/formats/gzip.h"
#include "symbolize/util/monotonic.h"
#include "symbolize/util/text.h"
#include "symbolize/util/worker_thread.h"

#define FIRST_PAUSE_MS 250u
#define ASKING_MS 200

struct body {
	struct body *next;
	void *data;
	size_t size;
	uint64_t items;
};

struct http_post {
	struct http_channel *channel; /* used by the thread only, once the thread runs */
	struct http_post_options options;
	struct http_outcome outcome; /* used by the thread only */
	_Atomic int64_t deadline_ms;
	pthread_t thread;
	bool has_thread;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	/* guarded by the lock */
	struct body *first, **last; /* the first body may be in transfer */
	size_t queued_bytes;
	bool is_closing;
	int64_t accepted_ms; /* time of the last accepted body; 0: none */
	int64_t since_ms; /* start of the timeout; 0: each call of http_post_wait starts its own */
	struct http_post_stats stats;
};

const char *http_post_shown(const struct http_post *p)
{
	return http_channel_shown(p->channel)->server;
}

static void count(struct http_count *count, const struct body *body)
{
	count->requests++;
	count->items += body->items;
	count->bytes += body->size;
}

uint32_t http_post_pause_ms(unsigned int attempt, uint32_t random)
{
	uint32_t whole = FIRST_PAUSE_MS << (attempt < 10 ? attempt - 1 : 9);

	return whole - random % (whole / 2 + 1);
}

static uint32_t random_number(void)
{
	uint32_t number;

	if (getrandom(&number, sizeof(number), GRND_NONBLOCK) != sizeof(number))
		number = (uint32_t)monotonic_ns();
	return number;
}

static struct timespec at_ms(int64_t ms)
{
	return (struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
}

/* ---- the thread ---- */

/* Returns the body in gzip format; the caller frees it. Returns NULL if out of memory. */
static char *compress_body(const struct body *body, size_t *size)
{
	char *packed = NULL;
	FILE *out = open_memstream(&packed, size);
	struct gzip *gzip = out ? gzip_new(out) : NULL;
	bool is_good = gzip && !gzip_write(gzip, body->data, body->size) && !gzip_finish(gzip);

	gzip_free(gzip);
	if (out && fclose(out) != 0)
		is_good = false;
	if (is_good)
		return packed;
	free(packed);
	return NULL;
}

/* Sleeps until `end`. The caller holds the lock. Returns false if the deadline is earlier. */
static bool pause_until(struct http_post *p, int64_t end)
{
	while (monotonic_ms() < end) {
		int64_t deadline = atomic_load(&p->deadline_ms);
		struct timespec until = at_ms(end);

		if (deadline <= end)
			return false;
		pthread_cond_timedwait(&p->changed, &p->lock, &until);
	}
	return true;
}

/*
 * Sleeps before the next attempt. The caller holds the lock. Returns false if the body must not be
 * sent again.
 */
static bool wait_for_retry(struct http_post *p, unsigned int attempt)
{
	struct http_outcome *o = &p->outcome;
	int64_t pause_ms;

	if (o->is_accepted || !o->is_worth_a_retry)
		return false;
	if (attempt == HTTP_ATTEMPTS) {
		append_text(o->why, sizeof(o->why), ", %u times", attempt);
		return false;
	}
	pause_ms = o->wait_s ? o->wait_s * INT64_C(1000)
			     : http_post_pause_ms(attempt, random_number());
	if (o->wait_s > HTTP_LONGEST_WAIT_S || !pause_until(p, monotonic_ms() + pause_ms)) {
		if (o->wait_s)
			append_text(o->why, sizeof(o->why), ", and asks for a pause of %u s",
				    o->wait_s);
		return false;
	}
	p->stats.retries++;
	return true;
}

static void try_often(struct http_post *p, const void *data, size_t size)
{
	bool again = true;

	for (unsigned int attempt = 1; again; attempt++) {
		http_channel_post(p->channel, data, size, &p->deadline_ms, &p->outcome);
		pthread_mutex_lock(&p->lock);
		again = wait_for_retry(p, attempt);
		pthread_mutex_unlock(&p->lock);
	}
}

/* Counts the outcome of a body. The caller holds the lock. */
static void count_outcome(struct http_post *p, const struct body *body, size_t sent_bytes,
			  uint64_t refused)
{
	struct http_post_stats *stats = &p->stats;

	if (!p->outcome.is_accepted) {
		count(&stats->failed, body);
		memcpy(stats->why, p->outcome.why, sizeof(stats->why));
		stats->status = p->outcome.status;
		return;
	}
	if (!p->outcome.is_cut)
		p->accepted_ms = monotonic_ms();
	count(&stats->sent, body);
	stats->sent_bytes += sent_bytes;
	if (refused > body->items)
		refused = body->items;
	stats->sent.items -= refused;
	stats->refused_items += refused;
}

/* Checks the answer of a protocol that reports refusals in a 2xx answer. */
static void check_answer(struct http_post *p)
{
	struct http_outcome *o = &p->outcome;
	char why[HTTP_WHY_BYTES] = "";

	if (p->options.accepts(o->answer, o->answer_size, why))
		return;
	o->is_accepted = false;
	if (http_shown_is_secret(http_channel_shown(p->channel), why))
		snprintf(why, sizeof(why),
			 "refused it, in words that are not shown: they may hold credentials");
	clean_text(why);
	snprintf(o->why, sizeof(o->why), "%.200s %.300s", http_post_shown(p), why);
}

static void deliver(struct http_post *p, const struct body *body)
{
	struct http_outcome *o = &p->outcome;
	bool compresses = p->options.target.is_compressed;
	size_t size = body->size;
	char *packed = compresses ? compress_body(body, &size) : NULL;
	uint64_t refused = 0;

	*o = (struct http_outcome){.why = "out of memory"};
	if (packed || !compresses)
		try_often(p, packed ? packed : body->data, size);
	free(packed);
	if (o->is_accepted && p->options.accepts)
		check_answer(p);
	if (o->is_accepted && p->options.count_refused)
		refused = p->options.count_refused(o->answer, o->answer_size);
	pthread_mutex_lock(&p->lock);
	count_outcome(p, body, size, refused);
	pthread_mutex_unlock(&p->lock);
}

/* Removes the first body from the queue. The caller holds the lock. */
static void drop_first(struct http_post *p)
{
	struct body *body = p->first;

	p->first = body->next;
	if (!p->first)
		p->last = &p->first;
	p->queued_bytes -= body->size;
	free(body->data);
	free(body);
}

static void *send_bodies(void *arg)
{
	struct http_post *p = arg;

	if (p->options.begin_thread)
		p->options.begin_thread();
	pthread_mutex_lock(&p->lock);
	for (;;) {
		while (!p->first && !p->is_closing)
			pthread_cond_wait(&p->changed, &p->lock);
		if (!p->first || monotonic_ms() >= atomic_load(&p->deadline_ms))
			break;
		pthread_mutex_unlock(&p->lock);
		deliver(p, p->first);
		pthread_mutex_lock(&p->lock);
		drop_first(p);
		pthread_cond_broadcast(&p->changed);
	}
	pthread_mutex_unlock(&p->lock);
	return NULL;
}

static bool start_thread(struct http_post *p)
{
	if (!p->has_thread)
		p->has_thread = worker_thread_start(&p->thread, 0, send_bodies, p) == 0;
	return p->has_thread;
}

/* ---- for the session ---- */

struct http_post *http_post_new(const struct http_post_options *options, char why[HTTP_WHY_BYTES])
{
	struct http_post *p = calloc(1, sizeof(*p));
	pthread_condattr_t monotonic;

	snprintf(why, HTTP_WHY_BYTES, "out of memory");
	if (!p)
		return NULL;
	p->channel = http_channel_new(&options->target, &options->connector, why);
	if (!p->channel) {
		free(p);
		return NULL;
	}
	p->options = *options;
	p->options.target = (struct http_target){.is_compressed = options->target.is_compressed};
	if (!p->options.queue_bytes)
		p->options.queue_bytes = HTTP_QUEUE_BYTES;
	p->last = &p->first;
	atomic_init(&p->deadline_ms, INT64_MAX);
	pthread_mutex_init(&p->lock, NULL);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&p->changed, &monotonic);
	pthread_condattr_destroy(&monotonic);
	return p;
}

/*
 * Appends a body to the queue. The caller holds the lock. Returns NULL, or the reason for dropping
 * the body.
 */
static const char *enqueue(struct http_post *p, struct body *body)
{
	if (body->size > p->options.queue_bytes - p->queued_bytes)
		return "its answers did not come fast enough, and the queue was full";
	if (!start_thread(p))
		return "no thread could be started";
	*p->last = body;
	p->last = &body->next;
	p->queued_bytes += body->size;
	pthread_cond_broadcast(&p->changed);
	return NULL;
}

bool http_post_send(struct http_post *p, void *data, size_t size, uint64_t items)
{
	const struct body given = {.data = data, .size = size, .items = items};
	struct body *body = malloc(sizeof(*body));
	const char *why = "out of memory";

	pthread_mutex_lock(&p->lock);
	if (body && data) {
		*body = given;
		why = enqueue(p, body);
	}
	if (why) {
		count(&p->stats.dropped, &given);
		snprintf(p->stats.why, sizeof(p->stats.why), "%.200s: %s", http_post_shown(p), why);
	}
	pthread_mutex_unlock(&p->lock);
	if (!why)
		return true;
	free(data);
	free(body);
	return false;
}

/* Returns when http_post_wait times out. The caller holds the lock. */
static int64_t end_of_timeout(const struct http_post *p, int64_t since_ms, int64_t timeout_ms)
{
	return (p->accepted_ms > since_ms ? p->accepted_ms : since_ms) + timeout_ms;
}

void http_post_count_timeout(struct http_post *p)
{
	pthread_mutex_lock(&p->lock);
	p->since_ms = monotonic_ms();
	pthread_mutex_unlock(&p->lock);
}

bool http_post_wait(struct http_post *p, size_t bytes, int64_t timeout_ms,
		    bool (*ends)(void *context), void *context)
{
	bool is_good, has_ended = false;
	int64_t since_ms, end;

	pthread_mutex_lock(&p->lock);
	since_ms = p->since_ms ? p->since_ms : monotonic_ms();
	end = end_of_timeout(p, since_ms, timeout_ms);
	while (p->queued_bytes > bytes && !has_ended && monotonic_ms() < end) {
		int64_t next_ms = monotonic_ms() + ASKING_MS;
		struct timespec until = at_ms(next_ms < end ? next_ms : end);

		if (pthread_cond_timedwait(&p->changed, &p->lock, &until) == ETIMEDOUT && ends) {
			pthread_mutex_unlock(&p->lock);
			has_ended = ends(context);
			pthread_mutex_lock(&p->lock);
		}
		end = end_of_timeout(p, since_ms, timeout_ms);
	}
	is_good = p->queued_bytes <= bytes && (p->queued_bytes == 0 || monotonic_ms() < end);
	pthread_mutex_unlock(&p->lock);
	return is_good;
}

void http_post_limit(struct http_post *p, int64_t timeout_ms)
{
	atomic_store(&p->deadline_ms, monotonic_ms() + timeout_ms);
}

uint64_t http_post_failed(struct http_post *p, char why[HTTP_WHY_BYTES])
{
	uint64_t failed;

	pthread_mutex_lock(&p->lock);
	failed = p->stats.failed.requests;
	memcpy(why, p->stats.why, HTTP_WHY_BYTES);
	pthread_mutex_unlock(&p->lock);
	return failed;
}

static void count_rest(struct http_post *p, struct http_post_stats *stats)
{
	for (const struct body *body = p->first; body; body = body->next)
		count(&stats->dropped, body);
	if (p->first && !*stats->why)
		snprintf(stats->why, sizeof(stats->why), "%.200s: no answer in time",
			 http_post_shown(p));
}

void http_post_finish(struct http_post *p, int64_t timeout_ms, struct http_post_stats *stats)
{
	*stats = (struct http_post_stats){0};
	if (!p)
		return;
	http_post_limit(p, timeout_ms);
	pthread_mutex_lock(&p->lock);
	p->is_closing = true;
	pthread_cond_broadcast(&p->changed);
	pthread_mutex_unlock(&p->lock);
	if (p->has_thread)
		pthread_join(p->thread, NULL);
	*stats = p->stats;
	count_rest(p, stats);
	while (p->first)
		drop_first(p);
	http_channel_free(p->channel);
	pthread_mutex_destroy(&p->lock);
	pthread_cond_destroy(&p->changed);
	free(p);
}
