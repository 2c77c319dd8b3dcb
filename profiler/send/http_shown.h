/* SPDX-License-Identifier: MIT */
/*
 * What of a server and its answers the user may see: neither credentials, of the URL, of header
 * fields or of a proxy's URL, nor the URL's query, nor a text that repeats any of them.
 */
#ifndef PROFILER_SEND_HTTP_SHOWN_H
#define PROFILER_SEND_HTTP_SHOWN_H

#include <stdbool.h>
#include "profiler/send/http_headers.h"
#include "profiler/send/http_url.h"

#define HTTP_WHY_BYTES 512

struct http_shown {
	char server[HTTP_URL_BYTES]; /* with the path */
	struct http_headers headers; /* the user's fields */
	bool has_secrets; /* in the URL or in those of proxies: an answer may repeat them */
};

/* `headers`: as http_headers.h has them. False: what is wrong is in `why`. Release it in any case.
 */
bool http_shown_read(struct http_shown *shown, const char *url, const char *headers,
		     char why[HTTP_WHY_BYTES]);
void http_shown_release(struct http_shown *shown);

/*
 * Returns whether a text from the server repeats any word that may be a credential: it is not for
 * the user's eyes.
 */
bool http_shown_is_secret(const struct http_shown *shown, const char *text);

#endif
