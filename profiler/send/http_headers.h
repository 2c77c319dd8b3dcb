/* SPDX-License-Identifier: MIT */
/*
 * Header fields that the user gives, in the form of OTEL_EXPORTER_OTLP_HEADERS (W3C Baggage
 * without properties): "name=value,name=value", values encoded as in URLs. They usually hold
 * credentials and are never shown.
 */
#ifndef PROFILER_SEND_HTTP_HEADERS_H
#define PROFILER_SEND_HTTP_HEADERS_H

#include <stdint.h>

#define HTTP_HEADERS_MAX 32

struct http_headers {
	char *lines[HTTP_HEADERS_MAX]; /* "name: value", or "name;" where the value is empty */
	uint32_t count;
};

/* Adds those of `list`, NULL: none. NULL, or what is wrong with it. */
const char *http_headers_add(struct http_headers *headers, const char *list);

void http_headers_release(struct http_headers *headers);

#endif
