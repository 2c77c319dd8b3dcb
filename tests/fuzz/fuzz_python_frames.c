/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as the memory of a CPython process, of each version's layout: reading ends, and stays
 * inside. The first byte chooses the version; the thread's state is at the start of the rest.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "symbolize/python_frames.h"

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

static void read_all(const struct python_memory *memory, const struct python_offsets *offsets)
{
	static struct python_stack stack;
	static struct python_code code;
	const struct python_types types = {0};

	python_frames_read(memory, offsets, BASE, &stack);
	if (stack.count > PYTHON_FRAMES_MAX)
		abort();
	for (uint32_t i = 0; i < stack.count; i++)
		if (stack.frames[i].anchor && !stack.frames[i].is_entry)
			abort();
	for (uint32_t i = 0; i < stack.count && i < 4; i++) {
		python_line(memory, offsets, &stack.frames[i]);
		if (python_code_read(memory, offsets, &types, stack.frames[i].code, &code) == 0 &&
		    (!memchr(code.name, 0, sizeof(code.name)) ||
		     !memchr(code.qualname, 0, sizeof(code.qualname)) ||
		     !memchr(code.path, 0, sizeof(code.path))))
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint32_t versions[] = {0x030800f0, 0x030a00f0, 0x030b00f0, 0x030c00f0,
					    0x030d00f0, 0x030e00f0, 0x030f00f0};
	struct memory m = {.bytes = data + 1, .size = size - 1};
	struct python_memory memory = {.read = read_memory, .context = &m};
	struct python_offsets offsets;
	uint32_t hex;

	if (size < 1)
		return 0;
	hex = versions[data[0] % (sizeof(versions) / sizeof(versions[0]))];
	if (python_offsets_read(hex, m.bytes, m.size, &offsets) == 0)
		read_all(&memory, &offsets);
	return 0;
}
