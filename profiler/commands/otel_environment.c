// SPDX-License-Identifier: MIT
#include "profiler/commands/otel_environment.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define TIMEOUT_MAX_MS 600000

/* Returns the value of a variable. Returns NULL if the variable is unset or empty. */
static const char *otel_variable(const char *name)
{
	const char *value = getenv(name);

	return value && *value ? value : NULL;
}

bool otel_environment_disables(struct log *log)
{
	const char *value = otel_variable("OTEL_SDK_DISABLED");

	if (!value || strcasecmp(value, "false") == 0)
		return false;
	if (strcasecmp(value, "true") == 0)
		return true;
	log_warn(log, "OTEL_SDK_DISABLED is neither true nor false: spans are sent");
	return false;
}

/* ---- attributes of the resource ---- */

/*
 * Decodes "%2C" and the like in place. Returns false for a malformed sequence or a decoded NUL.
 */
static bool decode(char *text)
{
	size_t size;

	for (const char *at = strchr(text, '%'); at; at = strchr(at + 1, '%'))
		if (!isxdigit((unsigned char)at[1]) || !isxdigit((unsigned char)at[2]))
			return false;
	size = http_url_decode(text, strlen(text));
	text[size] = '\0';
	return strlen(text) == size;
}

/* Trims spaces and tabs in place. */
static char *trim(char *text)
{
	char *end;

	text += strspn(text, " \t");
	for (end = text + strlen(text); end > text && (end[-1] == ' ' || end[-1] == '\t');)
		*--end = '\0';
	return text;
}

/*
 * Adds an attribute. A later value of a key replaces an earlier one. Returns false if there are
 * too many.
 */
static bool add_attribute(struct otel_environment *e, const char *key, const char *value)
{
	uint32_t at = 0;

	while (at < e->spans.resource_count && strcmp(e->resource[at].key, key) != 0)
		at++;
	if (at == OTEL_RESOURCE_MAX)
		return false;
	e->resource[at] = (struct span_attribute){key, value};
	if (at == e->spans.resource_count)
		e->spans.resource_count++;
	return true;
}

/* Parses "key=value,key=value", URL-encoded. Returns false for anything else. */
static bool read_attributes(struct otel_environment *e)
{
	char *rest = e->text, *pair, *value;

	while ((pair = strsep(&rest, ",")) != NULL) {
		pair = trim(pair);
		if (!*pair && (!rest || !*rest))
			continue; /* a comma at the end */
		value = strchr(pair, '=');
		if (!value)
			return false;
		*value++ = '\0';
		pair = trim(pair);
		value = trim(value);
		if (!*pair || !decode(pair) || !decode(value) || !*pair)
			return false;
		if (!add_attribute(e, pair, value))
			return false;
	}
	return true;
}

static bool read_resource(struct otel_environment *e, struct log *log)
{
	const char *attributes = otel_variable("OTEL_RESOURCE_ATTRIBUTES");

	e->spans.service = otel_variable("OTEL_SERVICE_NAME");
	e->spans.resource = e->resource;
	if (!attributes)
		return true;
	e->text = strdup(attributes);
	if (!e->text)
		return log_error(log, "out of memory");
	if (!read_attributes(e)) {
		e->spans.resource_count = 0;
		log_warn(log,
			 "OTEL_RESOURCE_ATTRIBUTES is not a list of key=value, at most %u, "
			 "separated by commas: it is left out",
			 OTEL_RESOURCE_MAX);
	}
	return true;
}

/* ---- the trace ---- */

static bool read_context(struct otel_environment *e, struct log *log)
{
	const char *parent = otel_variable("TRACEPARENT");
	int err = parent ? trace_context_continue(&e->spans.context, parent,
						  otel_variable("TRACESTATE"))
			 : -EINVAL;

	if (parent && err == -EINVAL)
		log_warn(log, "TRACEPARENT is not a trace context of W3C, 00-TRACE-PARENT-FLAGS: "
			      "the spans begin a trace of their own");
	if (err == -EINVAL)
		err = trace_context_begin(&e->spans.context);
	return !err || log_error(log, "no random numbers for the spans: %s", strerror(-err));
}

bool otel_environment_read(struct otel_environment *e, struct log *log)
{
	*e = (struct otel_environment){.text = NULL};
	return read_context(e, log) && read_resource(e, log);
}

/* ---- the collector ---- */

/* Returns the value of OTEL_EXPORTER_OTLP_TRACES_NAME, or else of OTEL_EXPORTER_OTLP_NAME. */
static const char *exporter_variable(const char *name)
{
	char whole[64];
	const char *value;

	snprintf(whole, sizeof(whole), "OTEL_EXPORTER_OTLP_TRACES_%s", name);
	value = otel_variable(whole);
	if (value)
		return value;
	snprintf(whole, sizeof(whole), "OTEL_EXPORTER_OTLP_%s", name);
	return otel_variable(whole);
}

/* Appends the path of traces to a base URL. Returns the length of the URL. */
static int append_path(struct otel_environment *e, const char *base)
{
	size_t length = strlen(base);

	return snprintf(e->url, sizeof(e->url), "%s%sv1/traces", base,
			length && base[length - 1] == '/' ? "" : "/");
}

static bool find_url(struct otel_environment *e, struct log *log, const char *where)
{
	const char *whole = where, *base = NULL, *wrong;
	struct http_url url;
	int length;

	if (strcmp(where, OTEL_FROM_ENVIRONMENT) == 0) {
		whole = otel_variable("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT");
		base = otel_variable("OTEL_EXPORTER_OTLP_ENDPOINT");
	} else if (!http_url_parse(&url, where) && url.path_size <= 1 && !url.query) {
		whole = NULL;
		base = where;
	}
	if (!whole && !base)
		return log_error(log, "--otlp env: OTEL_EXPORTER_OTLP_ENDPOINT is not set");
	length = whole ? snprintf(e->url, sizeof(e->url), "%s", whole) : append_path(e, base);
	wrong = length >= (int)sizeof(e->url) ? "it is too long" : http_url_parse(&url, e->url);
	return !wrong || log_error(log, "--otlp: the URL: %s", wrong);
}

static bool find_encoding(struct otel_environment *e, struct log *log)
{
	const char *protocol = exporter_variable("PROTOCOL");

	e->encoding = OTLP_PROTOBUF;
	if (!protocol || strcmp(protocol, "http/protobuf") == 0)
		return true;
	if (strcmp(protocol, "http/json") == 0) {
		e->encoding = OTLP_JSON;
		return true;
	}
	return log_error(
		log, "OTEL_EXPORTER_OTLP_PROTOCOL: profile sends http/protobuf or http/json, no "
		     "other; collectors take these at port 4318");
}

/* Returns the timeout in ms, or 0 for the default. */
static uint32_t find_timeout(struct log *log)
{
	const char *text = exporter_variable("TIMEOUT");
	char *end;
	unsigned long value;

	if (!text)
		return 0;
	errno = 0;
	value = strtoul(text, &end, 10);
	if (text[0] >= '0' && text[0] <= '9' && !*end && !errno && value <= TIMEOUT_MAX_MS)
		return (uint32_t)value;
	log_warn(log,
		 "OTEL_EXPORTER_OTLP_TIMEOUT is not a number of milliseconds up to %d: it is left "
		 "out",
		 TIMEOUT_MAX_MS);
	return 0;
}

bool otel_environment_collector(struct otel_environment *e, struct log *log, const char *where,
				struct http_target *collector)
{
	const char *compression = exporter_variable("COMPRESSION");
	bool is_gzip = compression && strcmp(compression, "gzip") == 0;

	if (!find_url(e, log, where) || !find_encoding(e, log))
		return false;
	if (compression && !is_gzip && strcmp(compression, "none") != 0)
		log_warn(log, "OTEL_EXPORTER_OTLP_COMPRESSION is neither gzip nor none: none");
	*collector = (struct http_target){.url = e->url,
					  .content_type = e->encoding == OTLP_JSON
								  ? "application/json"
								  : "application/x-protobuf",
					  .headers = exporter_variable("HEADERS"),
					  .ca_file = exporter_variable("CERTIFICATE"),
					  .request_ms = find_timeout(log),
					  .is_compressed = is_gzip};
	return true;
}

void otel_environment_release(struct otel_environment *e)
{
	free(e->text);
}
