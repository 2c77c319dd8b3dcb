/* SPDX-License-Identifier: MIT */
/*
 * Decides which texts about a server the user may see.
 *
 * Credentials in the URL, in header fields and in proxy URLs are hidden. So is the query of the
 * URL, and any answer that repeats one of these texts.
 */
#ifndef PROFILER_SEND_HTTP_SHOWN_H
#define PROFILER_SEND_HTTP_SHOWN_H

#include <stdbool.h>
#include "profiler/send/http_headers.h"
#include "profiler/send/http_url.h"

#define HTTP_WHY_BYTES 512

struct http_shown {
	char server[HTTP_URL_BYTES]; /* scheme, host and path */
	struct http_headers headers; /* fields given by the user */
	bool has_secrets; /* the URL or a proxy URL has secrets, which answers may repeat */
};

/*
 * Parses the URL and the header list (http_headers.h). Returns false with the reason in `why`.
 * Release in any case.
 */
bool http_shown_read(struct http_shown *shown, const char *url, const char *headers,
		     char why[HTTP_WHY_BYTES]);
void http_shown_release(struct http_shown *shown);

/* Returns whether a text from the server repeats a possible credential, and must not be shown. */
bool http_shown_is_secret(const struct http_shown *shown, const char *text);

#endif
