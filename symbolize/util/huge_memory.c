// SPDX-License-Identifier: MIT
#include "symbolize/util/huge_memory.h"

#include <stdlib.h>
#include <sys/mman.h>

#define HUGE_PAGE ((size_t)1 << 21)

void *huge_memory(size_t size)
{
	void *memory;

	if (size < 2 * HUGE_PAGE)
		return malloc(size);
	size = (size + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
	memory = aligned_alloc(HUGE_PAGE, size);
	if (memory)
		madvise(memory, size, MADV_HUGEPAGE);
	return memory;
}
