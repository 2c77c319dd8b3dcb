/* SPDX-License-Identifier: MIT */
/*
 * CUDA_VISIBLE_DEVICES, as far as the stand-ins know it: numbers of GPUs, in the order in which the
 * program sees them. As in the driver, the list ends before a number that there is not, or that was
 * there before.
 */
#ifndef TESTS_FAKE_CUDA_VISIBLE_H
#define TESTS_FAKE_CUDA_VISIBLE_H

#include <stdbool.h>
#include <stdlib.h>

/* Returns how many of `gpus` are visible; `of` gets the GPU of each, if it is not NULL. */
static inline int fake_cuda_visible(int gpus, int *of)
{
	const char *text = getenv("CUDA_VISIBLE_DEVICES");
	unsigned long seen = 0;
	int count = 0;

	if (!text) {
		for (; count < gpus && of; count++)
			of[count] = count;
		return gpus;
	}
	while (*text) {
		char *end;
		long gpu = strtol(text, &end, 10);

		if (end == text || gpu < 0 || gpu >= gpus || (seen & 1ul << gpu))
			break;
		seen |= 1ul << gpu;
		if (of)
			of[count] = (int)gpu;
		count++;
		text = *end == ',' ? end + 1 : end;
	}
	return count;
}

#endif
