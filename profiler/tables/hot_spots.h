/* SPDX-License-Identifier: MIT */
/*
 * A result's rows summed up by the question they answer, the longest time first:
 *
 *   kernels    all launches of a kernel together
 *   copies     and other GPU work that is no kernel, by kind
 *   sites      GPU work by the program's own function that launched it: the innermost Python
 *              function of the stack, else the one that called CUDA
 *   functions  CPU samples by the function that they fell into: its own time. Its total time is
 * that of all samples whose stacks have it, once each, however often it calls itself. So callers
 * that no sample fell into have entries, too waits      waits for the GPU, and timed calls, by the
 * function that makes them; other time off the CPU by the innermost Python function, else by the
 * innermost function
 *
 * and, from the timeline, where there is one:
 *
 *   calls      CUDA calls that launch or wait, by name, with the time until they return
 *   idle       CPU samples that were taken while no GPU worked, by function, likewise
 */
#ifndef PROFILER_TABLES_HOT_SPOTS_H
#define PROFILER_TABLES_HOT_SPOTS_H

#include <stdbool.h>
#include <stdint.h>
#include "profiler/model/result.h"
#include "symbolize/util/record_set.h"

/* All rows with a frame of this name and class. */
struct hot_spot {
	const struct frame_info *frame; /* one of them */
	uint64_t count, ns, bytes;
	uint64_t total_ns;   /* of functions: with what they call */
	uint64_t last_stack; /* while it is made */
};

struct hot_spot_table {
	RECORD_SET(struct hot_spot); /* the index: while it is made */
	struct hot_spot whole;       /* all rows, also those for whose entry there was no memory */
};

/*
 * The function of the program that called CUDA there, as in `sites` and `waits`: `stack` is inside
 * the call. It is one of the stack's frames; NULL: none is known.
 */
const struct frame_info *hot_spots_site(const struct result *result, uint32_t stack);

/* Returns true for a frame that has total time: a function, or a package of folded ones. */
bool hot_spots_is_function(const struct frame_info *frame);

/* The frames that a row counts under, by table; NULL: it is not in that table. */
enum hot_spots_tables {
	HOT_SPOTS_KERNELS,
	HOT_SPOTS_COPIES,
	HOT_SPOTS_SITES,
	HOT_SPOTS_FUNCTIONS,
	HOT_SPOTS_WAITS,
	HOT_SPOTS_TABLES
};

struct hot_spots {
	union {
		struct hot_spot_table tables[HOT_SPOTS_TABLES];
		struct {
			struct hot_spot_table kernels, copies, sites, functions, waits;
		};
	};
	struct hot_spot_table calls, idle; /* of the timeline */
};

void hot_spots_frames(const struct result *result, const struct row *row,
		      const struct frame_info *frames[HOT_SPOTS_TABLES]);

/* The digest of a result, which must outlive it. NULL: out of memory. */
struct hot_spots *hot_spots_new(const struct result *result);

/* Adds what only the timeline knows. `busy`: NULL if it is not known. 0, or -errno: they are empty.
 */
struct busy;
int hot_spots_add_timeline(struct hot_spots *hot_spots, const struct result *result,
			   const struct busy *busy);

void hot_spots_free(struct hot_spots *hot_spots);

#endif
