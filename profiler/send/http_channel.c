// SPDX-License-Identifier: MIT
#include "profiler/send/http_channel.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "symbolize/util/monotonic.h"
#include "symbolize/util/text.h"

#define ASKING_MS 200 /* interval of checking a deadline that may move */
#define STRINGS 5
#define TEXT_LIMIT (1u << 20) /* bytes of a string in a target */

/*
 * Messages to the helper. First comes the target, answered by `struct opened`. Then come requests,
 * as `struct posting` and a body, each answered by `struct http_outcome`.
 */
struct target_head {
	uint32_t sizes[STRINGS]; /* with the NUL; 0 for NULL. The strings follow this struct */
	uint32_t request_ms;
	uint32_t is_compressed;
};

struct opened {
	uint32_t is_done;
	char why[HTTP_WHY_BYTES];
};

struct posting {
	uint64_t size;
	int64_t limit_ms;
};

struct http_channel {
	struct http_shown shown;
	struct http_connector connector;
	struct target_head head;
	char *strings; /* strings that follow `head` */
	size_t strings_size;
	int socket; /* -1 without a connection */
};

/* ---- in profile: whole messages, for some time ---- */

struct time_limit {
	const _Atomic int64_t *deadline_ms; /* deadline that may move; NULL: none */
	int64_t end_ms;
};

static bool is_late(const struct time_limit *limit)
{
	int64_t now_ms = monotonic_ms();

	return now_ms >= limit->end_ms ||
	       (limit->deadline_ms && now_ms >= atomic_load(limit->deadline_ms));
}

enum direction { SENDS, RECEIVES };

/*
 * Sends or receives until `end`. Returns 0; -ETIMEDOUT with `*at` at the first missing byte; or
 * -EPIPE if the peer closed the socket.
 */
static int transfer(int socket, enum direction direction, char **at, const char *end,
		    const struct time_limit *limit)
{
	while (*at < end) {
		struct pollfd ready = {.fd = socket,
				       .events = direction == SENDS ? POLLOUT : POLLIN};
		size_t size = (size_t)(end - *at);
		ssize_t n;

		if (is_late(limit))
			return -ETIMEDOUT;
		if (poll(&ready, 1, ASKING_MS) <= 0)
			continue;
		n = direction == SENDS ? send(socket, *at, size, MSG_NOSIGNAL | MSG_DONTWAIT)
				       : recv(socket, *at, size, MSG_DONTWAIT);
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			continue;
		if (n <= 0)
			return -EPIPE;
		*at += n;
	}
	return 0;
}

static int send_all(int socket, const void *data, size_t size, const struct time_limit *limit)
{
	char *at = (char *)(uintptr_t)data;

	return transfer(socket, SENDS, &at, at + size, limit);
}

static int receive(int socket, void *data, size_t size, const struct time_limit *limit)
{
	char *at = data;

	return transfer(socket, RECEIVES, &at, at + size, limit);
}

/* ---- in profile: the connection ---- */

static void hang_up(struct http_channel *c)
{
	if (c->socket >= 0)
		close(c->socket);
	c->socket = -1;
}

/*
 * Connects to the helper and sends the target. Returns 0; -EPROTO with the helper's reason in
 * `why`; or another -errno.
 */
static int open_connection(struct http_channel *c, _Atomic int64_t *deadline_ms,
			   char why[HTTP_WHY_BYTES])
{
	const struct time_limit limit = {deadline_ms, monotonic_ms() + HTTP_CHANNEL_TIMEOUT_MS};
	struct opened opened;
	int err;

	c->socket = c->connector.connect(c->connector.context);
	if (c->socket < 0)
		return c->socket;
	err = send_all(c->socket, &c->head, sizeof(c->head), &limit);
	if (!err)
		err = send_all(c->socket, c->strings, c->strings_size, &limit);
	if (!err)
		err = receive(c->socket, &opened, sizeof(opened), &limit);
	if (!err && !opened.is_done) {
		snprintf(why, HTTP_WHY_BYTES, "%.*s", HTTP_WHY_BYTES - 1, opened.why);
		clean_text(why);
		err = -EPROTO;
	}
	if (err)
		hang_up(c);
	return err;
}

static bool keep_target(struct http_channel *c, const struct http_target *target)
{
	const char *const strings[STRINGS] = {target->url, target->query, target->content_type,
					      target->headers, target->ca_file};
	char *at;

	c->head = (struct target_head){.request_ms = target->request_ms ? target->request_ms
									: HTTP_REQUEST_MS,
				       .is_compressed = target->is_compressed};
	for (int i = 0; i < STRINGS; i++) {
		size_t size = strings[i] ? strlen(strings[i]) + 1 : 0;

		if (size > TEXT_LIMIT)
			return false;
		c->head.sizes[i] = (uint32_t)size;
		c->strings_size += size;
	}
	c->strings = at = malloc(c->strings_size);
	for (int i = 0; c->strings && i < STRINGS; i++) {
		memcpy(at, strings[i] ? strings[i] : "", c->head.sizes[i]);
		at += c->head.sizes[i];
	}
	return c->strings != NULL;
}

struct http_channel *http_channel_new(const struct http_target *target,
				      const struct http_connector *connector,
				      char why[HTTP_WHY_BYTES])
{
	struct http_channel *c = calloc(1, sizeof(*c));

	snprintf(why, HTTP_WHY_BYTES, "out of memory");
	if (!c)
		return NULL;
	c->connector = *connector;
	c->socket = -1;
	/* a helper that does not answer now is tried again with each request */
	if (http_shown_read(&c->shown, target->url, target->headers, why) &&
	    keep_target(c, target) && open_connection(c, NULL, why) != -EPROTO)
		return c;
	http_channel_free(c);
	return NULL;
}

void http_channel_free(struct http_channel *c)
{
	if (!c)
		return;
	hang_up(c);
	http_shown_release(&c->shown);
	free(c->strings);
	free(c);
}

const struct http_shown *http_channel_shown(const struct http_channel *channel)
{
	return &channel->shown;
}

/* ---- in profile: a request ---- */

/*
 * Receives the outcome of a request. At the deadline tells the helper to stop, and receives the
 * outcome up to then.
 */
static int await_outcome(int socket, struct http_outcome *outcome, const struct time_limit *limit)
{
	struct time_limit rest = {NULL, 0};
	char *at = (char *)outcome, *end = at + sizeof(*outcome);
	int err = transfer(socket, RECEIVES, &at, end, limit);

	if (err != -ETIMEDOUT || monotonic_ms() >= limit->end_ms)
		return err;
	shutdown(socket, SHUT_WR);
	rest.end_ms = monotonic_ms() + HTTP_CHANNEL_GRACE_MS;
	err = transfer(socket, RECEIVES, &at, end, &rest);
	return err ? err : -ESHUTDOWN;
}

static int request(struct http_channel *c, const void *body, size_t size,
		   const _Atomic int64_t *deadline_ms, struct http_outcome *outcome)
{
	int64_t now_ms = monotonic_ms(), left_ms = atomic_load(deadline_ms) - now_ms;
	struct posting posting = {size,
				  left_ms < c->head.request_ms ? left_ms : c->head.request_ms};
	const struct time_limit limit = {deadline_ms,
					 now_ms + posting.limit_ms + HTTP_CHANNEL_GRACE_MS};
	int err = send_all(c->socket, &posting, sizeof(posting), &limit);

	if (!err)
		err = send_all(c->socket, body, size, &limit);
	return err ? err : await_outcome(c->socket, outcome, &limit);
}

/* Copies an outcome from the helper, whose contents are untrusted. */
static void take_outcome(struct http_outcome *o, const struct http_outcome *received)
{
	*o = *received;
	if (o->answer_size > HTTP_ANSWER_BYTES)
		o->answer_size = HTTP_ANSWER_BYTES;
	o->answer[o->answer_size] = '\0';
	o->why[HTTP_WHY_BYTES - 1] = '\0';
	clean_text(o->why);
}

void http_channel_post(struct http_channel *c, const void *body, size_t size,
		       _Atomic int64_t *deadline_ms, struct http_outcome *outcome)
{
	struct http_outcome received;
	int err = 0;

	*outcome = (struct http_outcome){0};
	if (c->socket < 0)
		err = open_connection(c, deadline_ms, outcome->why);
	if (!err)
		err = request(c, body, size, deadline_ms, &received);
	if (!err || err == -ESHUTDOWN)
		take_outcome(outcome, &received);
	else if (err != -EPROTO)
		snprintf(outcome->why, sizeof(outcome->why), "%.200s: %s", c->shown.server,
			 err == -ETIMEDOUT ? "no answer in time"
			 : err == -EPIPE   ? "profile-helper, the process that sends, has ended"
					   : strerror(-err));
	if (err)
		hang_up(c);
}

/* ---- in the helper ---- */

static bool read_whole(int socket, void *data, size_t size)
{
	char *at = data;

	while (size > 0) {
		ssize_t n = recv(socket, at, size, MSG_WAITALL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		at += n;
		size -= (size_t)n;
	}
	return true;
}

static bool write_whole(int socket, const void *data, size_t size)
{
	return send(socket, data, size, MSG_NOSIGNAL) == (ssize_t)size;
}

static bool read_strings(int socket, const struct target_head *head, char *strings[STRINGS])
{
	for (int i = 0; i < STRINGS; i++) {
		uint32_t size = head->sizes[i];

		if (size == 0)
			continue;
		strings[i] = size <= TEXT_LIMIT ? malloc(size) : NULL;
		if (!strings[i] || !read_whole(socket, strings[i], size) || strings[i][size - 1])
			return false;
	}
	return strings[0] && strings[2];
}

/*
 * Reads the target and answers. Returns NULL if the request cannot be set up; the answer has the
 * reason.
 */
static struct http_request *take_target(int socket, pthread_mutex_t *loading)
{
	char *strings[STRINGS] = {NULL};
	struct http_request *request = NULL;
	struct opened opened = {0};
	struct target_head head;

	if (read_whole(socket, &head, sizeof(head)) && read_strings(socket, &head, strings)) {
		const struct http_target target = {.url = strings[0],
						   .query = strings[1],
						   .content_type = strings[2],
						   .headers = strings[3],
						   .ca_file = strings[4],
						   .request_ms = head.request_ms,
						   .is_compressed = head.is_compressed};

		pthread_mutex_lock(loading);
		request = http_request_new(&target, opened.why);
		pthread_mutex_unlock(loading);
		opened.is_done = request != NULL;
		write_whole(socket, &opened, sizeof(opened));
	}
	for (int i = 0; i < STRINGS; i++)
		free(strings[i]);
	return request;
}

/* Returns whether the profiler gave up the request, or has ended. */
static bool is_unwanted(void *context)
{
	struct pollfd peer = {.fd = *(int *)context, .events = POLLRDHUP};

	return poll(&peer, 1, 0) > 0;
}

static bool answer_posting(struct http_request *request, int socket, const struct posting *posting,
			   const void *body)
{
	struct http_outcome outcome;

	http_request_post(request, body, posting->size, posting->limit_ms, is_unwanted, &socket,
			  &outcome);
	return write_whole(socket, &outcome, sizeof(outcome));
}

void http_channel_serve(int socket, pthread_mutex_t *loading)
{
	struct http_request *request = take_target(socket, loading);
	struct posting posting;
	bool is_good = request;

	while (is_good && read_whole(socket, &posting, sizeof(posting))) {
		char *body = malloc(posting.size + 1);

		is_good = body && read_whole(socket, body, posting.size) &&
			  answer_posting(request, socket, &posting, body);
		free(body);
	}
	http_request_free(request);
}
