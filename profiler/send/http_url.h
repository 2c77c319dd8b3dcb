/* SPDX-License-Identifier: MIT */
/*
 * Parses addresses of servers: http://HOST or https://HOST, with optional port, path, query and
 * credentials.
 *
 * Addresses are untrusted; other protocols are refused. Credentials and queries are never shown,
 * since queries often hold keys.
 */
#ifndef PROFILER_SEND_HTTP_URL_H
#define PROFILER_SEND_HTTP_URL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#define HTTP_URL_BYTES 2048 /* maximum, with the NUL */

/* Parts of a parsed text. A missing part has length 0. */
struct http_url {
	bool is_secure;   /* https */
	const char *user; /* "user:password", encoded as in the text */
	size_t user_size;
	const char *host; /* with the port: "127.0.0.1:4040", "[::1]" */
	size_t host_size;
	const char *path; /* from '/' on, without query and fragment */
	size_t path_size;
	const char *query; /* behind '?' */
	size_t query_size;
};

/* Parses a URL. Returns NULL, or what is wrong, as a text that follows "URL: ". */
const char *http_url_parse(struct http_url *url, const char *text);

/* Writes scheme, host and path, truncated to `size`. */
void http_url_show(const struct http_url *url, char *out, size_t size);

/* Decodes %XX in place. Other '%' stay. Returns the new length; the text may contain NULs. */
size_t http_url_decode(char *text, size_t size);

/* Writes the text, and encodes all but letters, digits and -._~. */
void http_url_encode(FILE *out, const char *text);

#endif
