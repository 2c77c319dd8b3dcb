/* SPDX-License-Identifier: MIT */
/*
 * Makes one attempt to post a body over HTTP with libcurl, and classifies the outcome.
 *
 * Only http and https are allowed. Redirects are not followed: a body meant for one server goes to
 * no other. Certificates are verified. Proxies are those of libcurl's environment variables
 * (http_proxy, https_proxy, no_proxy).
 *
 * HTTP_ANSWER_BYTES of an answer are kept, and HTTP_ANSWER_LIMIT are read. The limit counts the
 * header, and the body after decompression. The body may take HTTP_ANSWER_MS. An answer with a
 * complete header counts even if its body is cut.
 *
 * Requests load libcurl, so only a process without capabilities may use them (http_channel.h). One
 * thread at a time may use a request. The connection is kept between attempts.
 */
#ifndef PROFILER_SEND_HTTP_REQUEST_H
#define PROFILER_SEND_HTTP_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "profiler/send/http_shown.h"

#define HTTP_ANSWER_BYTES 4096u
#define HTTP_ANSWER_LIMIT (1u << 20)
#define HTTP_ANSWER_MS 2000   /* ms for the body of an answer, after its header */
#define HTTP_REQUEST_MS 10000 /* ms for an attempt, unless the target or the deadline has less */
#define HTTP_CONNECT_MS 5000

struct http_request;

struct http_target {
	const char *url;   /* http_url.h */
	const char *query; /* appended to the URL's query, without '?'; not secret; NULL: none */
	const char *content_type;
	const char *headers; /* further fields (http_headers.h); NULL: none */
	const char *ca_file; /* trusted certificates; NULL: SSL_CERT_FILE, or the system's */
	uint32_t request_ms; /* for one attempt; 0: HTTP_REQUEST_MS */
	bool is_compressed;  /* bodies are gzip-encoded; the server must support that */
};

/* Sets up a request; copies the strings. Returns NULL with the reason in `why`. */
struct http_request *http_request_new(const struct http_target *target, char why[HTTP_WHY_BYTES]);

struct http_outcome {
	long status; /* HTTP status; 0: no answer */
	/* integers instead of bool, since another process sends them */
	uint32_t is_accepted;      /* 2xx, and not a page for browsers */
	uint32_t is_cut;           /* the end of the answer is missing or late */
	uint32_t is_worth_a_retry; /* server busy or unreachable */
	uint32_t wait_s;           /* pause that the server asks for; 0: none given */
	uint32_t answer_size;
	/* header fields that begin with grpc-, as lines, then the body: gRPC-Web uses either */
	char answer[HTTP_ANSWER_BYTES + 1];
	char why[HTTP_WHY_BYTES]; /* reason of a failure, with the server's name */
};

/*
 * Posts a body. Ends after `limit_ms` at the latest, or soon after `ends` returns true. `ends` is
 * called at least once a second.
 */
void http_request_post(struct http_request *request, const void *body, size_t size,
		       int64_t limit_ms, bool (*ends)(void *context), void *context,
		       struct http_outcome *outcome);

void http_request_free(struct http_request *request);

#endif
