/* SPDX-License-Identifier: MIT */
/*
 * Which kernels of two sides are the same, for a comparison: those of one name; then, of those that
 * only one side has, all of a family that both sides have (kernel_family.h), first by template,
 * then by numbers.
 */
#ifndef PROFILER_TABLES_KERNEL_MATCH_H
#define PROFILER_TABLES_KERNEL_MATCH_H

#include <stdbool.h>
#include <stdint.h>
#include "profiler/model/result.h"
#include "profiler/tables/change.h"
#include "symbolize/util/record_set.h"

/* By which a frame or kernel is the same on both sides. */
enum comparison_match { MATCHED_BY_NAME, MATCHED_BY_TEMPLATE, MATCHED_BY_NUMBERS, MATCHES };

struct matched_kernel {
	const struct frame_info *frame; /* of the side after, if it is there */
	bool is_on[SIDES];
	bool is_matched; /* with others, or by its name */
	uint32_t group;  /* the kernel whose name stands for it */
	enum comparison_match matched_by;
};

/* Zero-initialised is empty. */
struct kernel_matches {
	RECORD_SET(struct matched_kernel);
};

void kernel_matches_release(struct kernel_matches *matches);

/*
 * Adds the kernels of a run, which must outlive them; the runs of the side after come last. False:
 * out of memory.
 */
bool kernel_matches_note(struct kernel_matches *matches, const struct result *result,
			 enum comparison_side side);

/* All runs were noted. False: out of memory. */
bool kernel_matches_finish(struct kernel_matches *matches);

/* The place of a name in the list; RECORD_NONE: it is no kernel's. */
uint32_t kernel_matches_find(const struct kernel_matches *matches, const char *name);

#endif
