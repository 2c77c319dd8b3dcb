/* SPDX-License-Identifier: MIT */
/*
 * One attempt to post a body over HTTP, by libcurl, and what became of it.
 *
 * Only http and https are spoken, no redirect is followed (a body that is meant for one server goes
 * to no other), certificates are verified, and proxies are those of libcurl's environment variables
 * (http_proxy, https_proxy, no_proxy). Of an answer at most HTTP_ANSWER_BYTES are kept and
 * HTTP_ANSWER_LIMIT read, of its header as it comes and of its text as libcurl has decompressed it;
 * and its text may take HTTP_ANSWER_MS. One whose header is whole counts, even if the rest is cut.
 *
 * It loads libcurl, so it is used in a process without capabilities: http_channel.h. By one thread
 * at a time; the connection is kept from one request to the next.
 */
#ifndef PROFILER_SEND_HTTP_REQUEST_H
#define PROFILER_SEND_HTTP_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "profiler/send/http_shown.h"

#define HTTP_ANSWER_BYTES 4096u
#define HTTP_ANSWER_LIMIT (1u << 20)
#define HTTP_ANSWER_MS 2000   /* for an answer's text, from its header on */
#define HTTP_REQUEST_MS 10000 /* one attempt, unless told otherwise or the deadline is earlier */
#define HTTP_CONNECT_MS 5000

struct http_request;

struct http_target {
	const char *url;   /* http_url.h */
	const char *query; /* added to the URL's own, without '?'; no secret; NULL: nothing */
	const char *content_type;
	const char *headers; /* further ones, http_headers.h; NULL: none */
	const char *ca_file; /* certificates to trust; NULL: SSL_CERT_FILE, or the system's */
	uint32_t request_ms; /* of one attempt; 0: HTTP_REQUEST_MS */
	bool is_compressed;  /* bodies are sent in gzip's format, which the server must know */
};

/* NULL: it cannot be done, and `why` says why; the strings are copied. */
struct http_request *http_request_new(const struct http_target *target, char why[HTTP_WHY_BYTES]);

struct http_outcome {
	long status; /* of HTTP; 0: there was no answer */
	/* no bool: it may come from another process */
	uint32_t is_accepted;      /* 2xx, and no page for browsers */
	uint32_t is_cut;           /* the end of the answer did not come, or not soon */
	uint32_t is_worth_a_retry; /* the server was busy, or not reached */
	uint32_t wait_s;           /* the server asks for so long a pause; 0: it does not say */
	uint32_t answer_size;
	/* the body; before it the fields of the header that begin with grpc-, as lines: gRPC-Web
	 * may have them in either */
	char answer[HTTP_ANSWER_BYTES + 1];
	char why[HTTP_WHY_BYTES]; /* if it was not accepted: with the server's name */
};

/*
 * Ends after `limit_ms` at the latest, or soon after `ends` returns true, which is asked once a
 * second or more often.
 */
void http_request_post(struct http_request *request, const void *body, size_t size,
		       int64_t limit_ms, bool (*ends)(void *context), void *context,
		       struct http_outcome *outcome);

void http_request_free(struct http_request *request);

#endif
