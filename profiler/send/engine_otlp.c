// SPDX-License-Identifier: MIT
/*
 * The answer is an ExportProfilesServiceResponse: what it refuses of a request that it took is
 * counted there (collector/profiles/v1development/profiles_service.proto).
 */
#include <string.h>
#include "profiler/send/engine.h"
#include "profiler/send/otlp_profiles.h"
#include "profiler/formats/protobuf.h"

enum { RESPONSE_PARTIAL_SUCCESS = 1 };
enum { PARTIAL_SUCCESS_REJECTED = 1, PARTIAL_SUCCESS_MESSAGE = 2 };

/* Returns whether any profile was refused; with a message, if there is one. */
static bool read_partial_success(struct protobuf_reader *r, char why[HTTP_WHY_BYTES])
{
	struct protobuf_field field;
	uint64_t rejected = 0;
	int size = 0;
	const char *message = "";

	while (protobuf_next(r, &field)) {
		if (field.number == PARTIAL_SUCCESS_REJECTED && !field.bytes)
			rejected = field.value;
		if (field.number == PARTIAL_SUCCESS_MESSAGE && field.bytes) {
			message = (const char *)field.bytes;
			size = field.size < HTTP_WHY_BYTES ? (int)field.size : HTTP_WHY_BYTES;
		}
	}
	snprintf(why, HTTP_WHY_BYTES, "refused profiles%s%.*s", size ? ": " : "", size, message);
	return rejected > 0;
}

static bool accepts(const void *answer, size_t size, char why[HTTP_WHY_BYTES])
{
	struct protobuf_reader r = {answer, (const unsigned char *)answer + size, false};
	struct protobuf_field field;

	while (protobuf_next(&r, &field)) {
		struct protobuf_reader inside;

		if (field.number != RESPONSE_PARTIAL_SUCCESS || !field.bytes)
			continue;
		inside = protobuf_inside(&field);
		if (read_partial_success(&inside, why))
			return false;
	}
	return true;
}

const struct engine engine_otlp = {.name = "otlp",
				   .path = "/v1development/profiles",
				   .content_type = "application/x-protobuf",
				   .is_compressed = true,
				   .write = otlp_profiles_write,
				   .accepts = accepts};
