/* SPDX-License-Identifier: MIT */
/*
 * Posts bodies to a server over HTTP, during the run or at its end.
 *
 * http_post_send puts a body into a queue of limited size, and returns at once. A thread sends the
 * bodies in order. Bodies that find no room are dropped.
 *
 * A body is sent up to HTTP_ATTEMPTS times if the server cannot be reached, or answers 429, 502,
 * 503 or 504. The first pause takes 250 ms, and each further pause twice as long. A random part,
 * up to half, is subtracted, so that many clients do not return together. Retry-After replaces the
 * pause, up to HTTP_LONGEST_WAIT_S. All other answers are final. A 2xx answer with a page for
 * browsers counts as a failure. http_post_finish waits for the rest for a limited time. Everything
 * that did not arrive is counted.
 *
 * The thread starts with the first body, so that no thread exists when the command is forked. Any
 * thread may call http_post_send and http_post_wait; only the session's thread may call the
 * others. The helper makes the requests (http_channel.h, http_request.h).
 */
#ifndef PROFILER_SEND_HTTP_POST_H
#define PROFILER_SEND_HTTP_POST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "profiler/send/http_channel.h"

#define HTTP_ATTEMPTS 5
#define HTTP_LONGEST_WAIT_S 60
#define HTTP_QUEUE_BYTES (32u << 20)

struct http_post_options {
	struct http_target
		target; /* copied; the thread compresses bodies if `is_compressed` is set */
	struct http_connector connector; /* connects to the helper */
	size_t queue_bytes;              /* bytes; 0: HTTP_QUEUE_BYTES */
	/* Returns whether a 2xx answer accepts the body. If not, sets `why`, which follows the
	 * server's name. Called on the thread. NULL: always accepted. */
	bool (*accepts)(const void *answer, size_t size, char why[HTTP_WHY_BYTES]);
	/* Returns the number of items that a 2xx answer refuses. Called on the thread. NULL: none.
	 */
	uint64_t (*count_refused)(const void *answer, size_t size);
	void (*begin_thread)(
		void); /* prepares the thread, such as by dropping privileges; may be NULL */
};

struct http_count {
	uint64_t requests, items, bytes; /* bytes before compression */
};

struct http_post_stats {
	struct http_count sent;    /* accepted, without refused items */
	struct http_count failed;  /* refused by the server, or out of attempts */
	struct http_count dropped; /* no room in the queue, or no time at the end */
	uint64_t sent_bytes;       /* bytes of accepted bodies after compression */
	uint64_t refused_items;    /* items that accepted requests refused */
	uint64_t retries;
	char why[HTTP_WHY_BYTES]; /* reason of the last failure; "": none */
	long status;              /* HTTP status of the last failure; 0: no answer */
};

struct http_post;

/* Creates a queue without sending anything. Returns NULL with the reason in `why`. */
struct http_post *http_post_new(const struct http_post_options *options, char why[HTTP_WHY_BYTES]);

/*
 * Queues a body of `items` items. Always takes ownership of the body, which is from malloc(3).
 * Returns false if the body is dropped.
 */
bool http_post_send(struct http_post *post, void *body, size_t size, uint64_t items);

/*
 * Wait until at most `bytes` bytes are queued. http_post_wait returns false if the server accepts
 * no body for `timeout_ms`, or answers only in part. It also returns false once `ends` returns
 * true; `ends` is called several times a second, and may be NULL. The timeout restarts with each
 * accepted body. It starts with each call, or for all calls with http_post_count_timeout.
 */
void http_post_count_timeout(struct http_post *post);
bool http_post_wait(struct http_post *post, size_t bytes, int64_t timeout_ms,
		    bool (*ends)(void *context), void *context);

/* Limits the time for all remaining bodies. Pauses beyond the limit are not slept. */
void http_post_limit(struct http_post *post, int64_t timeout_ms);

/* Returns the number of bodies that failed so far, and the reason of the last failure. */
uint64_t http_post_failed(struct http_post *post, char why[HTTP_WHY_BYTES]);

/* Returns the server and path without credentials and query. Valid until http_post_finish. */
const char *http_post_shown(const struct http_post *post);

/*
 * Waits up to `timeout_ms` until all bodies are sent, and up to two seconds more to end a
 * transfer. Counts the rest as dropped and frees the queue. Accepts NULL.
 */
void http_post_finish(struct http_post *post, int64_t timeout_ms, struct http_post_stats *stats);

/* Returns the pause before the next attempt, in ms. `attempt` is 1 after the first attempt. */
uint32_t http_post_pause_ms(unsigned int attempt, uint32_t random);

#endif
