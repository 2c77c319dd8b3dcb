/* SPDX-License-Identifier: MIT */
/*
 * The address of a server: http://HOST or https://HOST, with a port, a path, a query and
 * credentials where it has them. It may come from anywhere; what it says of files or of other
 * protocols is refused. Credentials and queries, which often hold keys, are never shown.
 */
#ifndef PROFILER_SEND_HTTP_URL_H
#define PROFILER_SEND_HTTP_URL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#define HTTP_URL_BYTES 2048 /* at most, with the NUL */

/* Parts of the text that was parsed; lengths of 0: it has none. */
struct http_url {
	bool is_secure;   /* https */
	const char *user; /* "user:password", encoded as in the text */
	size_t user_size;
	const char *host; /* with the port: "127.0.0.1:4040", "[::1]" */
	size_t host_size;
	const char *path; /* from its '/' on; without query and fragment */
	size_t path_size;
	const char *query; /* behind '?' */
	size_t query_size;
};

/* NULL, or why it is no such address: a text to follow "URL: ". */
const char *http_url_parse(struct http_url *url, const char *text);

/* Scheme, host and path, as much of it as there is room for. */
void http_url_show(const struct http_url *url, char *out, size_t size);

/*
 * Decodes %41 and the like in place; a '%' that is followed by something else stays. The new
 * length: the text may contain NULs then.
 */
size_t http_url_decode(char *text, size_t size);

/* Writes the text with all but letters, digits and -._~ encoded. */
void http_url_encode(FILE *out, const char *text);

#endif
