/* SPDX-License-Identifier: MIT */
/*
 * Parses header fields given by the user: "name=value,name=value", with URL-encoded values.
 *
 * The format is that of OTEL_EXPORTER_OTLP_HEADERS (W3C Baggage without properties). Fields
 * usually hold credentials and are never shown.
 */
#ifndef PROFILER_SEND_HTTP_HEADERS_H
#define PROFILER_SEND_HTTP_HEADERS_H

#include <stdint.h>

#define HTTP_HEADERS_MAX 32

struct http_headers {
	char *lines[HTTP_HEADERS_MAX]; /* "name: value", or "name;" for an empty value */
	uint32_t count;
};

/* Adds the fields of `list`, which may be NULL. Returns NULL, or what is wrong with the list. */
const char *http_headers_add(struct http_headers *headers, const char *list);

void http_headers_release(struct http_headers *headers);

#endif
