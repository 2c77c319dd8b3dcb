/* SPDX-License-Identifier: MIT */
/*
 * Any bytes from the pipe, once as a whole and once in pieces: the same events come out, the same
 * is counted. The first byte says how the pieces are cut.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/sources/gpu_pipe.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct heard {
	uint64_t events;
	uint64_t digest;
};

static void mix(struct heard *h, uint64_t value)
{
	h->digest = (h->digest ^ value) * 0x9e3779b97f4a7c15u;
	h->digest ^= h->digest >> 29;
}

static void hear(void *context, uint32_t pid, const struct gpu_event *event, const char *kernel)
{
	struct heard *h = context;

	h->events++;
	mix(h, pid);
	mix(h, event->type);
	if (event->type == GPU_EVENT_KERNEL) {
		if (!kernel)
			abort();
		mix(h, event->kernel.duration_ns);
		mix(h, event->kernel.correlation_id);
	} else if (kernel) {
		abort();
	}
	for (; kernel && *kernel; kernel++)
		mix(h, (unsigned char)*kernel);
	if (event->type == GPU_EVENT_HELLO)
		mix(h, strlen(event->hello.executable));
	if (event->type == GPU_EVENT_NOTICE)
		mix(h, strlen(event->notice.detail));
}

struct outcome {
	struct heard heard;
	struct gpu_pipe_stats stats;
	char first_malformed[128];
};

/* `seed` 0: all at once. Feeds copies, so that reading past the end of a piece is seen. */
static void feed(const uint8_t *data, size_t size, uint32_t seed, struct outcome *out)
{
	struct intern strings = {0};
	struct gpu_pipe *s = gpu_pipe_new(&strings, hear, &out->heard);
	size_t at = 0;

	if (!s)
		abort();
	while (at < size) {
		size_t n = size - at;
		char *piece;

		if (seed) {
			seed = seed * 1664525 + 1013904223;
			n = 1 + (seed >> 16) % (seed & 0x8000 ? 16 : 5000);
			n = n < size - at ? n : size - at;
		}
		piece = malloc(n);
		if (!piece)
			abort();
		memcpy(piece, data + at, n);
		gpu_pipe_feed(s, piece, n);
		free(piece);
		at += n;
	}
	gpu_pipe_finish(s);
	out->stats = gpu_pipe_stats(s);
	snprintf(out->first_malformed, sizeof(out->first_malformed), "%s",
		 gpu_pipe_first_malformed(s));
	gpu_pipe_free(s);
	intern_release(&strings);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct outcome whole = {0}, pieces = {0};

	if (size < 1)
		return 0;
	feed(data + 1, size - 1, 0, &whole);
	feed(data + 1, size - 1, data[0] + 1u, &pieces);
	if (memcmp(&whole.heard, &pieces.heard, sizeof(whole.heard)) != 0 ||
	    memcmp(&whole.stats, &pieces.stats, sizeof(whole.stats)) != 0)
		abort();
	if (strcmp(whole.first_malformed, pieces.first_malformed) != 0)
		abort();
	for (const char *c = whole.first_malformed; *c; c++)
		if (*c < 0x20 || *c > 0x7e)
			abort();
	return 0;
}
