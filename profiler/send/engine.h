/* SPDX-License-Identifier: MIT */
/*
 * Engines that keep profiles, and how each takes one over HTTP:
 *
 *   pyroscope  POST /ingest, a profile of pprof; service, labels and time in the query. Grafana
 *              Pyroscope, and Grafana Alloy's pyroscope.receive_http
 *   parca      gRPC-Web (github.com/grpc/grpc, doc/PROTOCOL-WEB.md): WriteRaw of Parca's
 *              ProfileStoreService, a profile of pprof with labels
 *   otlp       POST /v1development/profiles: OTLP's profiles, for OpenTelemetry collectors
 *              (otlp_profiles.h)
 *
 * The scheme of a URL names the engine: parca+http://HOST. Without a name it is Pyroscope. The path
 * above follows that of the URL, unless it is there already. Sources: Pyroscope's documentation
 * ("Server HTTP API") and pkg/ingester/pyroscope of github.com/grafana/pyroscope;
 * proto/parca/profilestore/v1alpha1/profilestore.proto of github.com/parca-dev/parca.
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
	const char *name; /* "name=value" as the user gave it */
	size_t name_size;
	const char *value;
};

/* A profile to push; all is borrowed. */
struct engine_profile {
	const struct result *result;
	const char *service;
	const struct engine_label *labels;
	uint32_t label_count;
};

struct engine {
	const char *name, *path, *content_type;
	bool is_compressed; /* to be compressed on the way: what is written is not */
	/* What the URL says of the profile, encoded, to be freed; NULL: out of memory. Or NULL */
	char *(*query)(const struct engine_profile *profile);
	/* The body. 0 or -errno. */
	int (*write)(const struct engine_profile *profile, FILE *out);
	/* As http_post.h has it: whether an answer of 2xx accepts the profile. NULL: it does */
	bool (*accepts)(const void *answer, size_t size, char why[HTTP_WHY_BYTES]);
};

extern const struct engine engine_pyroscope, engine_parca, engine_otlp;

/*
 * The engine of a URL and the address to post to, to be freed. NULL: it is not a URL of an engine,
 * and `why` says why, to follow "URL: "; or out of memory.
 */
const struct engine *engine_find(const char *url, char **address, const char **why);

/* NULL: good; otherwise what is wrong: letters, digits and '_' as in Prometheus, '=' and a value.
 */
const char *engine_parse_label(const char *text, struct engine_label *label);

/* The service's name: `given`, or if that is NULL or "" the name of the executable that was run. */
#define ENGINE_SERVICE_BYTES 256
void engine_service(const struct result *result, const char *given,
		    char service[ENGINE_SERVICE_BYTES]);

#endif
