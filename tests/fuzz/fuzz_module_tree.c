/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as the memory of a CPython process, of each version's layout: finding the paths of its
 * modules ends, and stays inside. The first byte chooses the version; the next ones are calls, as
 * bytes of addresses and of the caller; _PyRuntime is at the start of the rest.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cupti_trace/core/clock.h"
#include "cupti_trace/python/module_tree.h"

#define CALLS 8u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Time passes with each look at it, so that searches come to their limits. */
uint64_t clock_now_ns(void)
{
	static uint64_t now;

	return now += 1000000;
}

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

static void call(const struct python_reader *r, const uint8_t calls[2 * CALLS])
{
	uint32_t outer = MODULE_TREE_NONE, module;
	char path[100];

	for (uint32_t i = 0; i < CALLS; i++) {
		module = module_tree_get(r, 4096u + calls[2 * i] * 8u, outer);
		if (module == MODULE_TREE_NONE)
			continue;
		if (module_tree_path(r, module, path, sizeof(path)) &&
		    (!path[0] || !memchr(path, 0, sizeof(path))))
			abort();
		module_tree_set_name(module, i + 1);
		if (calls[2 * i + 1] & 1)
			module_tree_check(r);
		outer = calls[2 * i + 1] & 2 ? module : MODULE_TREE_NONE;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint32_t versions[] = {0x030800f0, 0x030900f0, 0x030a00f0, 0x030b00f0,
					    0x030c00f0, 0x030d00f0, 0x030e00f0, 0x030f00f0};
	const struct python_types types = {0};
	struct memory m = {.bytes = data + 1 + 2 * CALLS, .size = size - 1 - 2 * CALLS};
	struct python_memory memory = {.read = read_memory, .context = &m};
	struct python_offsets offsets;
	struct python_reader r = {&memory, &offsets, &types};

	if (size < 1 + 2 * CALLS ||
	    python_offsets_read(versions[data[0] % (sizeof(versions) / sizeof(versions[0]))],
				m.bytes, m.size, &offsets) != 0)
		return 0;
	call(&r, data + 1);
	call(&r, data + 1);
	module_tree_clear();
	return 0;
}
