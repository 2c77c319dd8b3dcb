/* SPDX-License-Identifier: MIT */
/*
 * Posts over HTTP through the helper, a process without capabilities that loads libcurl
 * (run/helper.h).
 *
 * Each server has a connection with the helper. No call waits longer for the helper than for the
 * server. A helper that hangs or was killed counts as an unreachable server, with its own error
 * text. The next request opens a new connection. Answers of the helper are bounded, and as
 * untrusted as those of a server.
 */
#ifndef PROFILER_SEND_HTTP_CHANNEL_H
#define PROFILER_SEND_HTTP_CHANNEL_H

#include <pthread.h>
#include <stdatomic.h>
#include "profiler/send/http_request.h"

#define HTTP_CHANNEL_TIMEOUT_MS 10000 /* ms to load libcurl */
#define HTTP_CHANNEL_GRACE_MS 2500    /* ms beyond a request's timeout, to receive its outcome */

/* Connects to the helper. Returns a socket, or -errno. */
struct http_connector {
	int (*connect)(const void *context);
	const void *context;
};

struct http_channel;

/* Opens a channel; copies the strings of the target. Returns NULL with the reason in `why`. */
struct http_channel *http_channel_new(const struct http_target *target,
				      const struct http_connector *connector,
				      char why[HTTP_WHY_BYTES]);
void http_channel_free(struct http_channel *channel);

/*
 * Makes one attempt. Ends soon after `deadline_ms` (monotonic_ms), which may move meanwhile. One
 * thread at a time may call it.
 */
void http_channel_post(struct http_channel *channel, const void *body, size_t size,
		       _Atomic int64_t *deadline_ms, struct http_outcome *outcome);

const struct http_shown *http_channel_shown(const struct http_channel *channel);

/*
 * Serves a connection in the helper until the connection ends. Holds `loading` while loading
 * libcurl.
 */
void http_channel_serve(int socket, pthread_mutex_t *loading);

#endif
