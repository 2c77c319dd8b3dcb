// SPDX-License-Identifier: MIT
#include "profiler/send/otlp_answer.h"

#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>
#include "profiler/formats/protobuf.h"

/* opentelemetry/proto/collector/trace/v1/trace_service.proto */
enum { ANSWER_PARTIAL_SUCCESS = 1, PARTIAL_SUCCESS_REJECTED = 1 };

/* The count, unless it is negative. */
static uint64_t as_count(uint64_t value)
{
	return value <= INT64_MAX ? value : 0;
}

static uint64_t read_partial_success(const struct protobuf_field *field)
{
	struct protobuf_reader inside = protobuf_inside(field);
	struct protobuf_field part;
	uint64_t count = 0;

	while (protobuf_next(&inside, &part))
		if (part.number == PARTIAL_SUCCESS_REJECTED && !part.bytes)
			count = as_count(part.value);
	return count;
}

static uint64_t read_protobuf(const void *answer, size_t size)
{
	const unsigned char *bytes = answer;
	struct protobuf_reader reader = {bytes, bytes + size, false};
	struct protobuf_field field;
	uint64_t count = 0;

	while (protobuf_next(&reader, &field))
		if (field.number == ANSWER_PARTIAL_SUCCESS && field.bytes)
			count = read_partial_success(&field);
	return count;
}

/* A number, which the encoding has as a string, or as a number. */
static uint64_t number_of(const cJSON *item)
{
	const char *text = cJSON_GetStringValue(item);

	if (text && text[0] >= '0' && text[0] <= '9')
		return as_count(strtoull(text, NULL, 10));
	return cJSON_IsNumber(item) && item->valueint > 0 ? (uint64_t)item->valueint : 0;
}

static uint64_t read_json(const char *answer, size_t size)
{
	cJSON *tree = cJSON_ParseWithLength(answer, size);
	const cJSON *item = cJSON_GetObjectItemCaseSensitive(tree, "partialSuccess");
	uint64_t count = 0;

	/* "rejectedSpans" and the like: the one that begins so */
	for (item = item ? item->child : NULL; item; item = item->next)
		if (item->string && strncmp(item->string, "rejected", 8) == 0)
			count = number_of(item);
	cJSON_Delete(tree);
	return count;
}

uint64_t otlp_answer_refused(const void *answer, size_t size)
{
	const char *text = answer;

	return size && *text == '{' ? read_json(text, size) : read_protobuf(answer, size);
}
