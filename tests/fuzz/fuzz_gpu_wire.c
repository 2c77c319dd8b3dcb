/* SPDX-License-Identifier: MIT */
/*
 * Any line into the decoder. What decodes is encoded, and the result decodes to the same event
 * again, except that strings may be cut or cleaned by the first encoding.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cupti_trace/wire/gpu_wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void expect(int so)
{
	if (!so)
		abort();
}

/* Decodes a copy of exactly this size, so that reading past its end is seen. */
static int decode(struct gpu_wire_decoder *decoder, const void *line, size_t length,
		  struct gpu_event *event)
{
	char *copy = malloc(length ? length : 1);
	int err;

	expect(copy != NULL);
	memcpy(copy, line, length);
	err = gpu_wire_decode(decoder, copy, length, event);
	free(copy);
	return err;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct gpu_wire_decoder *first = gpu_wire_decoder_new(), *second = gpu_wire_decoder_new();
	char line[GPU_WIRE_LINE_MAX], again[GPU_WIRE_LINE_MAX], third[GPU_WIRE_LINE_MAX];
	struct gpu_event event, same;
	int n, m;

	expect(first && second);
	if (decode(first, data, size, &event) == 0) {
		expect(event.type > GPU_EVENT_NONE && event.type < GPU_EVENT_TYPES);
		n = gpu_wire_encode(&event, line, sizeof(line));
		expect(n > 0 && line[n - 1] == '\n' && !memchr(line, '\n', (size_t)n - 1));
		expect(decode(second, line, (size_t)n - 1, &same) == 0);
		expect(same.type == event.type);
		/* an escaped U+FFFD becomes the character itself; after that nothing changes */
		m = gpu_wire_encode(&same, again, sizeof(again));
		expect(m > 0 && m <= n);
		expect(decode(first, again, (size_t)m - 1, &event) == 0);
		expect(event.type == same.type);
		n = gpu_wire_encode(&event, third, sizeof(third));
		expect(n == m && memcmp(again, third, (size_t)n) == 0);
	}
	gpu_wire_decoder_free(first);
	gpu_wire_decoder_free(second);
	return 0;
}
