// SPDX-License-Identifier: MIT
/*
 * Pushes profiles by OTLP.
 *
 * The answer is an ExportProfilesServiceResponse. An accepted request may have refused profiles,
 * which the answer counts (collector/profiles/v1development/profiles_service.proto).
 */
#include <stdio.h>
#include "profiler/send/engine.h"
#include "profiler/send/otlp_answer.h"
#include "profiler/send/otlp_profiles.h"

static bool accepts(const void *answer, size_t size, char why[HTTP_WHY_BYTES])
{
	const struct otlp_refusal refusal = otlp_answer_read(answer, size);

	snprintf(why, HTTP_WHY_BYTES, "refused profiles%s%.*s", refusal.message_size ? ": " : "",
		 (int)(refusal.message_size < HTTP_WHY_BYTES ? refusal.message_size
							     : HTTP_WHY_BYTES),
		 refusal.message);
	return refusal.count == 0;
}

const struct engine engine_otlp = {.name = "otlp",
				   .path = "/v1development/profiles",
				   .content_type = "application/x-protobuf",
				   .is_compressed = true,
				   .write = otlp_profiles_write,
				   .accepts = accepts};
