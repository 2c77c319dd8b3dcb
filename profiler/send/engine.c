// SPDX-License-Identifier: MIT
#include "profiler/send/engine.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "profiler/base/command_text.h"
#include "profiler/send/http_url.h"
#include "symbolize/util/text.h"

static const struct engine *const engines[] = {&engine_pyroscope, &engine_parca, &engine_otlp};

/*
 * Returns the engine named by the URL's scheme, and the rest of the URL. Returns NULL for an
 * unknown engine.
 */
static const struct engine *engine_of(const char *url, const char **rest)
{
	size_t scheme = strcspn(url, ":"), name = strcspn(url, "+:");

	*rest = url;
	if (name >= scheme)
		return engines[0];
	for (size_t i = 0; i < sizeof(engines) / sizeof(engines[0]); i++) {
		if (strlen(engines[i]->name) != name ||
		    strncasecmp(url, engines[i]->name, name) != 0)
			continue;
		*rest = url + name + 1;
		return engines[i];
	}
	return NULL;
}

static bool part_ends_with(const char *text, size_t size, const char *end)
{
	size_t length = strlen(end);

	return size >= length && memcmp(text + size - length, end, length) == 0;
}

/* Appends the engine's path to the server's. Returns NULL if out of memory. */
static char *make_address(const struct engine *engine, const char *url,
			  const struct http_url *parts)
{
	size_t size = parts->path_size;
	char *address;

	while (size > 0 && parts->path[size - 1] == '/')
		size--;
	if (asprintf(&address, "%.*s%s%s%.*s", (int)(parts->path + size - url), url,
		     part_ends_with(parts->path, size, engine->path) ? "" : engine->path,
		     parts->query ? "?" : "", (int)parts->query_size,
		     parts->query ? parts->query : "") < 0)
		return NULL;
	return address;
}

const struct engine *engine_find(const char *url, char **address, const char **why)
{
	const char *rest;
	const struct engine *engine = engine_of(url, &rest);
	struct http_url parts;

	*address = NULL;
	*why = "before the + stands pyroscope, parca or otlp";
	if (!engine || (*why = http_url_parse(&parts, rest)))
		return NULL;
	*address = make_address(engine, rest, &parts);
	*why = *address ? NULL : "out of memory";
	return *address ? engine : NULL;
}

/* Refuses values with characters that separate labels in the engines' text formats. */
const char *engine_parse_label(const char *text, struct engine_label *label)
{
	size_t size = strcspn(text, "="), good = 0;

	while (text[good] == '_' || (isalnum((unsigned char)text[good]) &&
				     (good > 0 || !isdigit((unsigned char)text[0]))))
		good++;
	*label = (struct engine_label){text, size, text + size + 1};
	if (text[size] != '=' || good != size || size == 0)
		return "a label is NAME=VALUE, the name of letters, digits and _";
	if (starts_with(text, "__") || starts_with(text, "service_name="))
		return "this label has its value already; OTEL_SERVICE_NAME names the service";
	for (const unsigned char *c = (const unsigned char *)label->value; *c;) {
		size_t bytes = count_utf8_bytes(c);

		if (bytes == 0 || *c < ' ' || *c == 0x7f || strchr(",{}", (char)*c))
			return "the value has a character that labels cannot have: , { } or a "
			       "control character";
		c += bytes;
	}
	return *label->value ? NULL : "the value is empty";
}

void engine_service(const struct result *result, const char *given,
		    char service[ENGINE_SERVICE_BYTES])
{
	const char *command = result->totals.command ? result->totals.command : "";
	char **words = command_words(command);
	const char *executable = words && words[0] ? base_name(words[0]) : "";

	snprintf(service, ENGINE_SERVICE_BYTES, "%s", given && *given ? given : executable);
	free(words);
	clean_text(service);
	if (!*service)
		snprintf(service, ENGINE_SERVICE_BYTES, "unknown_service");
}
