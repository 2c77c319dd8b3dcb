// SPDX-License-Identifier: MIT
#include "profiler/model/memory_use.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cupti_trace/wire/gpu_work.h"

uint32_t memory_kind_of(uint32_t memory)
{
	if (gpu_memory_is_unified(memory))
		return MEMORY_MANAGED;
	return gpu_memory_is_device(memory) ? MEMORY_OF_DEVICE : MEMORY_OF_HOST;
}

const char *memory_kind_word(uint32_t kind)
{
	static const char *const words[MEMORY_KINDS] = {"device", "managed", "pinned host"};

	return kind < MEMORY_KINDS ? words[kind] : "unknown";
}

void memory_use_release(struct memory_use *use)
{
	free(use->totals);
	free(use->rows);
	free(use->pools);
	memset(use, 0, sizeof(*use));
}
