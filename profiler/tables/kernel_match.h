/* SPDX-License-Identifier: MIT */
/*
 * Matches kernels of the two sides of a comparison.
 *
 * Kernels with one name match. Kernels of only one side match by family, if both sides have kernels
 * of the family (kernel_family.h): first by template, then by numbers.
 */
#ifndef PROFILER_TABLES_KERNEL_MATCH_H
#define PROFILER_TABLES_KERNEL_MATCH_H

#include <stdbool.h>
#include <stdint.h>
#include "profiler/model/result.h"
#include "profiler/tables/change.h"
#include "symbolize/util/record_set.h"

/* The criterion by which a frame matches on both sides. */
enum comparison_match { MATCHED_BY_NAME, MATCHED_BY_TEMPLATE, MATCHED_BY_NUMBERS, MATCHES };

struct matched_kernel {
	const struct frame_info *frame; /* frame of the side after, or else before */
	bool is_on[SIDES];
	bool is_matched; /* by name or by family */
	uint32_t group;  /* number of the kernel that names the group */
	enum comparison_match matched_by;
};

/* Zero-initialised is empty. */
struct kernel_matches {
	RECORD_SET(struct matched_kernel);
};

void kernel_matches_release(struct kernel_matches *matches);

/*
 * Adds the kernels of a run, which must outlive the matches. Add the runs of the side after last.
 * Returns false if out of memory.
 */
bool kernel_matches_note(struct kernel_matches *matches, const struct result *result,
			 enum comparison_side side);

/* Matches the kernels, once all runs are added. Returns false if out of memory. */
bool kernel_matches_finish(struct kernel_matches *matches);

/* Returns a kernel's position in the list by its name; RECORD_NONE for other names. */
uint32_t kernel_matches_find(const struct kernel_matches *matches, const char *name);

#endif
