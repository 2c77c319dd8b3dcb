/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as the memory of a CPython process, of each version's layout: reading the names of its
 * threads ends, and stays inside. The first byte chooses the version; _PyRuntime is at the start of
 * the rest.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "symbolize/python_threads.h"

#define BASE UINT64_C(0x7f0000000000)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct memory {
	const uint8_t *bytes;
	size_t size;
};

/* Addresses are taken modulo 64 KiB, so that pointers that lead somewhere are easily found. */
static bool read_memory(void *context, uint64_t address, void *out, size_t size)
{
	const struct memory *m = context;
	uint64_t at = address & 0xffff;

	if (address < 4096 || at >= m->size || size > m->size - at)
		return false;
	memcpy(out, m->bytes + at, size);
	return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint32_t versions[] = {0x030800f0, 0x030900f0, 0x030a00f0, 0x030b00f0,
					    0x030c00f0, 0x030d00f0, 0x030e00f0, 0x030f00f0};
	static struct python_threads threads;
	const struct python_types types = {0};
	struct python_threads_places places = {0};
	struct memory m = {.bytes = data + 1, .size = size - 1};
	struct python_memory memory = {.read = read_memory, .context = &m};
	struct python_offsets offsets;

	if (size < 1 ||
	    python_offsets_read(versions[data[0] % (sizeof(versions) / sizeof(versions[0]))],
				m.bytes, m.size, &offsets) != 0)
		return 0;
	for (int i = 0; i < 2; i++) {
		python_threads_read(&memory, &offsets, &types, BASE, &places, &threads);
		if (threads.count > PYTHON_THREADS_MAX)
			abort();
		for (uint32_t k = 0; k < threads.count; k++)
			if (!threads.names[k].tid || !threads.names[k].text[0] ||
			    !memchr(threads.names[k].text, 0, sizeof(threads.names[k].text)))
				abort();
	}
	return 0;
}
