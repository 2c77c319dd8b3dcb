/* SPDX-License-Identifier: MIT */
/*
 * Posts bodies to one server over HTTP, while the run goes on or at its end.
 *
 * http_post_send puts a body into a queue, which is bounded in bytes, and returns at once; a thread
 * sends them in order. What the queue has no room for is dropped. A body is sent again, up to
 * HTTP_ATTEMPTS times, if the server was not reached or answered 429, 502, 503 or 504: after 250
 * ms, then twice as long each time, less a random part up to half so that many clients do not come
 * back together, or after what Retry-After says, up to HTTP_LONGEST_WAIT_S. Any other answer but
 * 2xx is final, and so is 2xx with a page for browsers. http_post_finish waits for the rest, for a
 * limited time. All that did not arrive is counted.
 *
 * No thread is started before the first body, so that none exists when the command is forked.
 * Several threads may call http_post_send and http_post_wait; all else is for one, that of the
 * session. The requests are made by another
 * process (http_channel.h). http_request.h says what is sent, and what is not.
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
	struct http_target target;       /* copied; the thread compresses bodies where it says so */
	struct http_connector connector; /* with the process that makes the requests */
	size_t queue_bytes;              /* 0: HTTP_QUEUE_BYTES */
	/* On the thread: whether an answer of 2xx means that the body was accepted; if not, `why`
	 * is to follow the server's name. NULL: it does */
	bool (*accepts)(const void *answer, size_t size, char why[HTTP_WHY_BYTES]);
	/* On the thread: how many items of a body a server refuses though it answers 2xx; NULL:
	 * none */
	uint64_t (*count_refused)(const void *answer, size_t size);
	void (*begin_thread)(void); /* gives up what the thread does not need; NULL: nothing */
};

struct http_count {
	uint64_t requests, items, bytes; /* bytes as they were given, before compression */
};

struct http_post_stats {
	struct http_count sent;    /* accepted, but for the items that were refused */
	struct http_count failed;  /* not accepted: by an answer, or after all attempts */
	struct http_count dropped; /* no room in the queue, or no time left at the end */
	uint64_t sent_bytes;       /* as they went over the network, accepted ones */
	uint64_t refused_items;    /* of requests that were accepted */
	uint64_t retries;
	char why[HTTP_WHY_BYTES]; /* of the last failure; "": none */
};

struct http_post;

/* NULL: it cannot be done, and `why` says why. Nothing is sent yet. */
struct http_post *http_post_new(const struct http_post_options *options, char why[HTTP_WHY_BYTES]);

/*
 * Takes over the body, from malloc(3), in any case. `items`: how many of what is counted are in it.
 * False: it was dropped.
 */
bool http_post_send(struct http_post *post, void *body, size_t size, uint64_t items);

/*
 * Waits until no more than so many bytes are queued, as long as the server accepts bodies. False:
 * it has accepted none for `timeout_ms`, whether bodies fail or wait, or has answered only in
 * part; or `ends` has returned true, which is asked several times a second (NULL: nobody is).
 * Timeout counts from each call on, or over all calls, from http_post_count_timeout on, and again
 * from each body that is accepted.
 */
void http_post_count_timeout(struct http_post *post);
bool http_post_wait(struct http_post *post, size_t bytes, int64_t timeout_ms,
		    bool (*ends)(void *context), void *context);

/* From now on all is to be sent in that time: a pause beyond it is not waited for. */
void http_post_limit(struct http_post *post, int64_t timeout_ms);

/* How many bodies were not accepted so far, and why the last of them was not. */
uint64_t http_post_failed(struct http_post *post, char why[HTTP_WHY_BYTES]);

/* The server and path without credentials and query, until http_post_finish. */
const char *http_post_shown(const struct http_post *post);

/*
 * Waits until all is sent, for `timeout_ms` at most and a second or two to end what is being
 * sent; counts the rest as dropped and frees. NULL is allowed, for nothing.
 */
void http_post_finish(struct http_post *post, int64_t timeout_ms, struct http_post_stats *stats);

/* The pause before an attempt, 1 for the second one, with a random number. */
uint32_t http_post_pause_ms(unsigned int attempt, uint32_t random);

#endif
