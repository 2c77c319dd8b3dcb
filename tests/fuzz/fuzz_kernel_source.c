/* SPDX-License-Identifier: MIT */
/* Any bytes as a Python file: kernels in order, with clean and bounded texts. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "profiler/shape/kernel_source.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const char *text, size_t most)
{
	if (strlen(text) > most || strpbrk(text, "\n\t\033\177"))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct kernel_sources sources = {.count = 0};

	if (kernel_sources_find(&sources, (const char *)data, size) != 0)
		abort();
	for (uint32_t i = 0; i < sources.count; i++) {
		const struct kernel_source *k = &sources.list[i];

		if (kernel_sources_named(&sources, k->name) != k || k->count == 0 || k->line == 0)
			abort();
		check(k->name, 2048);
		check(k->operators, KERNEL_SOURCE_LIST + 32);
		check(k->nodes, KERNEL_SOURCE_LIST + 32);
	}
	kernel_sources_release(&sources);
	return 0;
}
