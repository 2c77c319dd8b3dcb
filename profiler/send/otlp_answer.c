// SPDX-License-Identifier: MIT
#include "profiler/send/otlp_answer.h"

#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>
#include "profiler/formats/protobuf.h"

/* opentelemetry/proto/collector/trace/v1/trace_service.proto */
enum { ANSWER_PARTIAL_SUCCESS = 1 };
enum { PARTIAL_SUCCESS_REJECTED = 1, PARTIAL_SUCCESS_MESSAGE = 2 };

struct otlp_refusal otlp_answer_read(const void *answer, size_t size)
{
	const unsigned char *bytes = answer;
	struct protobuf_reader reader = {bytes, bytes + size, false};
	struct protobuf_field field, part;
	struct otlp_refusal refusal = {.message = ""};

	while (protobuf_next(&reader, &field)) {
		struct protobuf_reader inside = protobuf_inside(&field);

		if (field.number != ANSWER_PARTIAL_SUCCESS || !field.bytes)
			continue;
		while (protobuf_next(&inside, &part)) {
			if (part.number == PARTIAL_SUCCESS_REJECTED && !part.bytes)
				refusal.count = part.value;
			if (part.number == PARTIAL_SUCCESS_MESSAGE && part.bytes) {
				refusal.message = (const char *)part.bytes;
				refusal.message_size = part.size;
			}
		}
	}
	return refusal;
}

/* Converts a signed field to a count. Negative values count as 0. */
static uint64_t as_count(uint64_t value)
{
	return value <= INT64_MAX ? value : 0;
}

/* Returns a count, which JSON encodes as a string or a number. */
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

	/* "rejectedSpans", "rejectedProfiles" ... */
	for (item = item ? item->child : NULL; item; item = item->next)
		if (item->string && strncmp(item->string, "rejected", 8) == 0)
			count = number_of(item);
	cJSON_Delete(tree);
	return count;
}

uint64_t otlp_answer_refused(const void *answer, size_t size)
{
	const char *text = answer;

	return size && *text == '{' ? read_json(text, size)
				    : as_count(otlp_answer_read(answer, size).count);
}
