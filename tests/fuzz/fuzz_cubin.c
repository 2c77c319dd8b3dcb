/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as a cubin, as the library would send it and the profiler reads it: no crash, no leak,
 * and no text longer than the file.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "cupti_trace/hw/cubin_lines.h"
#include "symbolize/cubin.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static size_t sent, whole;
static const char *begin;

/* In place of the pipe. */
void sink_put(struct sink *sink, const struct gpu_event *event)
{
	const struct gpu_event_cubin *e = &event->cubin;

	(void)sink;
	if (e->count == 0 || e->count > GPU_CUBIN_PIECE || e->offset > whole ||
	    e->count > whole - e->offset || e->size != whole ||
	    (const char *)e->bytes != begin + e->offset)
		abort();
	sent += e->count;
}

static void look_up(const struct cubin *cubin, const char *function, size_t size)
{
	struct cubin_place place;

	for (uint64_t pc = 0; pc < 0x600; pc += 24) {
		if (!cubin_find(cubin, function, pc, &place))
			continue;
		if (place.function_count > CUBIN_MAX_DEPTH + 1)
			abort();
		for (uint32_t i = 0; i < place.function_count; i++)
			if (strlen(place.functions[i]) > size)
				abort();
		/* a folder, a slash and a file */
		if (place.file && strlen(place.file) > 2 * size + 2)
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *image = malloc(size + 1);
	struct cubin *cubin;

	if (!image)
		return 0;
	memcpy(image, data, size);
	sent = 0;
	whole = size;
	begin = image;
	if (cubin_lines_size(image, size) > 0) {
		cubin_lines_send(image, size, 1, NULL);
		if (sent != cubin_lines_size(image, size))
			abort();
	}
	if (cubin_open(&cubin, image, size) == 0) {
		look_up(cubin, "_Z4tinyy", size);
		look_up(cubin, "_Z5otherPj", size);
		cubin_close(cubin);
	}
	free(image);
	return 0;
}
