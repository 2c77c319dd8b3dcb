/* SPDX-License-Identifier: MIT */
/*
 * Has another process make requests by HTTP, one without capabilities, which loads libcurl: that of
 * run/helper.h, over one connection with it for each server.
 *
 * Nothing waits for that process longer than for the server: one that hangs, or was killed, is a
 * server that was not reached, and the text says so. The next request begins a new connection. What
 * comes from it is bounded, and believed no more than an answer of the server.
 */
#ifndef PROFILER_SEND_HTTP_CHANNEL_H
#define PROFILER_SEND_HTTP_CHANNEL_H

#include <pthread.h>
#include <stdatomic.h>
#include "profiler/send/http_request.h"

#define HTTP_CHANNEL_TIMEOUT_MS 10000 /* for libcurl to be loaded */
#define HTTP_CHANNEL_GRACE_MS 2500    /* beyond a request's time, for its outcome */

/* Makes a connection; a socket, or -errno. */
struct http_connector {
	int (*connect)(const void *context);
	const void *context;
};

struct http_channel;

/* NULL: it cannot be done, and `why` says why; the target's strings are copied. */
struct http_channel *http_channel_new(const struct http_target *target,
				      const struct http_connector *connector,
				      char why[HTTP_WHY_BYTES]);
void http_channel_free(struct http_channel *channel);

/*
 * One attempt. Ends soon after `deadline_ms` (monotonic_ms) even if that is moved meanwhile. By one
 * thread at a time.
 */
void http_channel_post(struct http_channel *channel, const void *body, size_t size,
		       _Atomic int64_t *deadline_ms, struct http_outcome *outcome);

const struct http_shown *http_channel_shown(const struct http_channel *channel);

/* The other end: serves a connection until it ends. `loading`: held while libcurl is loaded. */
void http_channel_serve(int socket, pthread_mutex_t *loading);

#endif
