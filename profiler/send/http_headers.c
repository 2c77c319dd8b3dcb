// SPDX-License-Identifier: MIT
#include "profiler/send/http_headers.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "profiler/send/http_url.h"

static void trim(const char **text, size_t *size)
{
	while (*size && isspace((unsigned char)**text)) {
		++*text;
		--*size;
	}
	while (*size && isspace((unsigned char)(*text)[*size - 1]))
		--*size;
}

/* Returns whether the text is a token of RFC 9110. */
static bool is_name(const char *name, size_t size)
{
	for (size_t i = 0; i < size; i++)
		if (!isalnum((unsigned char)name[i]) && !strchr("!#$%&'*+-.^_`|~", name[i]))
			return false;
	return size > 0;
}

/*
 * Returns whether the value has no line break or other control character. A line break would start
 * another field.
 */
static bool is_value(const char *value, size_t size)
{
	for (size_t i = 0; i < size; i++)
		if (((unsigned char)value[i] < ' ' && value[i] != '\t') || value[i] == 0x7f)
			return false;
	return true;
}

static const char *add(struct http_headers *headers, const char *pair, size_t size)
{
	const char *equals = memchr(pair, '=', size), *name = pair, *value;
	size_t name_size, value_size;
	char *decoded, *line = NULL;
	bool is_good;

	if (!equals)
		return "a field has no '='";
	name_size = (size_t)(equals - name);
	value = equals + 1;
	value_size = size - name_size - 1;
	trim(&name, &name_size);
	trim(&value, &value_size);
	if (!is_name(name, name_size))
		return "a field's name is missing or has a wrong character";
	if (headers->count == HTTP_HEADERS_MAX)
		return "there are more than 32 fields";
	decoded = strndup(value, value_size);
	if (!decoded)
		return "out of memory";
	value_size = http_url_decode(decoded, value_size);
	is_good = is_value(decoded, value_size);
	if (is_good && asprintf(&line, "%.*s%s%.*s", (int)name_size, name, value_size ? ": " : ";",
				(int)value_size, decoded) < 0)
		line = NULL;
	free(decoded);
	if (!is_good)
		return "a field's value has a control character";
	if (!line)
		return "out of memory";
	headers->lines[headers->count++] = line;
	return NULL;
}

const char *http_headers_add(struct http_headers *headers, const char *list)
{
	const char *why = NULL;

	while (list && *list && !why) {
		const char *pair = list;
		size_t size = strcspn(list, ",");

		list += size;
		list += *list == ',';
		trim(&pair, &size);
		if (size)
			why = add(headers, pair, size);
	}
	return why;
}

void http_headers_release(struct http_headers *headers)
{
	for (uint32_t i = 0; i < headers->count; i++)
		free(headers->lines[i]);
	headers->count = 0;
}
