/* SPDX-License-Identifier: MIT */
/*
 * Shares a result under way among its own files:
 *
 *	result_naming.c         names stacks, rows, counters, tables and records
 *	result_naming_frames.c  names single frames
 *	result_naming_definitions.c  finds where kernels are defined
 */
#ifndef PROFILER_SHAPE_RESULT_NAMING_PRIVATE_H
#define PROFILER_SHAPE_RESULT_NAMING_PRIVATE_H

#include "profiler/shape/named_stacks.h"
#include "profiler/shape/result_naming.h"

/* The named frames of a collected frame, outermost first: several if functions are inlined. */
struct names {
	uint32_t first, count; /* in `list`; count 0: not named yet */
};

struct naming {
	struct result result; /* first: callers hold its address */
	const struct collected *in;
	const struct naming_options *options;
	struct intern strings; /* texts made here */

	struct names *names; /* by number of the collected frame */
	uint32_t *list;
	uint32_t list_count, list_capacity;

	struct named_stacks stacks;
	/* the named stack by collected stack, as a CPU sample's and as a launch's; NONE: not yet */
	uint32_t *whole, *launched;
	uint32_t named_stacks, named_frames; /* collected ones for which there is room */

	uint32_t *path; /* the stack under way, from its innermost frame on */
	uint32_t path_capacity;

	struct row *rows;
	struct quota memory; /* pays for memory beyond the collected stacks, frames and rows */
	bool failed;         /* out of memory */
	char *links;         /* path_links.h; NULL: none */
	struct counter_table counters;
	struct result_tables tables;
	const char *kernel, *named_kernel; /* the kernel of the table row before, and its name */
};

/* Returns true for a frame with an address. */
bool naming_is_code(const struct frame *frame);

/* Returns true if the options ask for debug information. */
bool naming_reads_dwarf(const struct naming *n);

/*
 * Returns the interned `text`, which is freed. Returns `otherwise` if the quota is exceeded, and
 * NULL if out of memory.
 */
const char *naming_keep(struct naming *n, char *text, const char *otherwise);

/* Returns "[GPU_Kernel]softmax(float const*)". */
const char *naming_kernel_text(struct naming *n, const char *mangled);

/* Returns the number of a named frame, which is added if it is new. */
uint32_t naming_add_frame(struct naming *n, const struct frame_info *frame);

/* Adds where kernels are defined to the tables, which have begun. Stacks and rows are named. */
void naming_find_definitions(struct naming *n);

/* Returns the names of a stack's innermost frame. */
const struct names *naming_names_of(struct naming *n, struct stack_id stack);

#endif
