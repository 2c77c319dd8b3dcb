/* SPDX-License-Identifier: MIT */
/*
 * Describes profile engines, and sends a profile to each over HTTP.
 *
 *   pyroscope  POST /ingest with a pprof profile; service, labels and time are in the query. For
 *              Grafana Pyroscope, and Grafana Alloy's pyroscope.receive_http
 *   parca      gRPC-Web (github.com/grpc/grpc, doc/PROTOCOL-WEB.md): WriteRaw of Parca's
 *              ProfileStoreService with a pprof profile and labels
 *   otlp       POST /v1development/profiles with OTLP profiles, for OpenTelemetry collectors
 *              (otlp_profiles.h)
 *
 * The scheme of a URL names the engine: parca+http://HOST. The default is Pyroscope. The engine's
 * path is appended to the URL's path, unless the URL has it already.
 *
 * Sources: Pyroscope's documentation ("Server HTTP API") and pkg/ingester/pyroscope of
 * github.com/grafana/pyroscope; proto/parca/profilestore/v1alpha1/profilestore.proto of
 * github.com/parca-dev/parca.
 */
#ifndef PROFILER_SEND_ENGINE_H
#define PROFILER_SEND_ENGINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include "profiler/send/http_request.h"
#include "profiler/model/result.h"

#define ENGINE_LABELS_MAX 16u

struct engine_label {
	const char *name; /* "name=value" as given by the user */
	size_t name_size;
	const char *value;
};

/* A profile to push. All pointers are borrowed. */
struct engine_profile {
	const struct result *result;
	const char *service;
	const struct engine_label *labels;
	uint32_t label_count;
};

struct engine {
	const char *name, *path, *content_type;
	bool is_compressed; /* compress the body for the transfer */
	/* Returns the URL-encoded query; the caller frees it. Returns NULL if out of memory. May be
	 * NULL. */
	char *(*query)(const struct engine_profile *profile);
	/* Writes the body. Returns 0 or -errno. */
	int (*write)(const struct engine_profile *profile, FILE *out);
	/* Returns whether a 2xx answer accepts the profile (http_post.h). NULL: always accepted. */
	bool (*accepts)(const void *answer, size_t size, char why[HTTP_WHY_BYTES]);
};

extern const struct engine engine_pyroscope, engine_parca, engine_otlp;

/*
 * Returns the engine of a URL, and the address to post to, which the caller frees. Returns NULL
 * with the reason in `why`, which follows "URL: ".
 */
const struct engine *engine_find(const char *url, char **address, const char **why);

/*
 * Parses "NAME=VALUE" with a name of letters, digits and '_', as in Prometheus. Returns NULL, or
 * what is wrong.
 */
const char *engine_parse_label(const char *text, struct engine_label *label);

/*
 * Writes the name of the service: `given`, or the name of the executable if `given` is NULL or "".
 */
#define ENGINE_SERVICE_BYTES 256
void engine_service(const struct result *result, const char *given,
		    char service[ENGINE_SERVICE_BYTES]);

#endif
