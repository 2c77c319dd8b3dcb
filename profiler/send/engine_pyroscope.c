// SPDX-License-Identifier: MIT
#include "profiler/send/engine.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "profiler/send/http_url.h"
#include "profiler/formats/writer.h"

#define SECOND UINT64_C(1000000000)

/*
 * Returns Pyroscope's name of an application: "service{name=value,name=value}". Pyroscope allows
 * letters, digits and ._-/ in the service. Returns NULL if out of memory.
 */
static char *application(const struct engine_profile *profile)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	for (const char *c = profile->service; *c; c++)
		putc(isalnum((unsigned char)*c) || strchr("._-/", *c) ? *c : '_', out);
	putc('{', out);
	for (uint32_t i = 0; i < profile->label_count; i++)
		fprintf(out, "%s%s", i ? "," : "", profile->labels[i].name);
	putc('}', out);
	if (fclose(out) == 0)
		return text;
	free(text);
	return NULL;
}

/* Returns the query, with the time range rounded outwards to whole seconds. */
static char *make_query(const struct engine_profile *profile)
{
	const struct totals *totals = &profile->result->totals;
	uint64_t end = (uint64_t)time(NULL) * SECOND, start, ns;
	char *name = application(profile), *query = NULL;
	size_t size;
	FILE *out = name ? open_memstream(&query, &size) : NULL;

	totals_profiled(totals, &start, &ns);
	if (start)
		end = start + ns;
	else
		start = end - ns;
	if (out) {
		fputs("name=", out);
		http_url_encode(out, name);
		fprintf(out, "&from=%" PRIu64 "&until=%" PRIu64 "&format=pprof&spyName=profile",
			start / SECOND, end / SECOND + 1);
	}
	free(name);
	if (out && fclose(out) == 0)
		return query;
	free(query);
	return NULL;
}

static int write_body(const struct engine_profile *profile, FILE *out)
{
	const struct writer_options options = {.unit_ns = 1, .has_few_labels = true};
	struct written written;

	return pprof_writer.write(profile->result, &options, out, &written);
}

const struct engine engine_pyroscope = {.name = "pyroscope",
					.path = "/ingest",
					.content_type = "application/octet-stream",
					.query = make_query,
					.write = write_body};
