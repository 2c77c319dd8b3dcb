/* SPDX-License-Identifier: MIT */
/*
 * Tells what is known of a kernel besides its times: where it is defined, what was fused into it.
 *
 * All outputs with tables of kernels show these facts. A new one is a line in kernel_facts.c.
 */
#ifndef PROFILER_TABLES_KERNEL_FACTS_H
#define PROFILER_TABLES_KERNEL_FACTS_H

#include <stdbool.h>
#include <stdint.h>
#include "profiler/model/result.h"

#define KERNEL_FACTS_MAX 5

struct kernel_fact {
	const char *key, *label; /* for scripts: "operators"; for people: "fused" */
	const char *text;
	bool is_detail; /* left out where room is small */
};

struct kernel_facts;

/* Makes the facts of all kernels, which borrow from the result. Returns NULL if out of memory. */
struct kernel_facts *kernel_facts_new(const struct result *result);
void kernel_facts_free(struct kernel_facts *facts);

/* Lists the facts of a frame. Texts are valid as long as `facts`. Returns the count, mostly 0. */
uint32_t kernel_facts_of(const struct kernel_facts *facts, const struct frame_info *frame,
			 struct kernel_fact list[KERNEL_FACTS_MAX]);

#endif
