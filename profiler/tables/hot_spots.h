/* SPDX-License-Identifier: MIT */
/*
 * Sums up a result's rows by the question that they answer, the longest time first.
 *
 *   kernels    all launches of a kernel
 *   copies     GPU work that is no kernel, by kind
 *   sites      GPU work by the program's function that launched it: the innermost Python
 *              function, else the function that called CUDA
 *   functions  CPU samples by innermost function: own time. Total time: all samples whose stacks
 *              have the function, once each, even in a recursion. So callers without samples of
 *              their own have entries, too.
 *   waits      waits for the GPU and timed calls, by the function that makes them; other time off
 *              the CPU, by the innermost Python function, else by the innermost function
 *
 * From the timeline, if there is one:
 *
 *   calls      CUDA calls that launch or wait, by name, with the time until they return
 *   idle       CPU samples taken while no GPU worked, by function as in `functions`
 */
#ifndef PROFILER_TABLES_HOT_SPOTS_H
#define PROFILER_TABLES_HOT_SPOTS_H

#include <stdbool.h>
#include <stdint.h>
#include "profiler/model/result.h"
#include "symbolize/util/record_set.h"

/* The sum of all rows with a frame of this name and class. */
struct hot_spot {
	const struct frame_info *frame; /* one such frame */
	uint64_t count, ns, bytes;
	uint64_t total_ns;   /* functions alone: time with callees */
	uint64_t last_stack; /* used while the sums are made */
};

struct hot_spot_table {
	RECORD_SET(struct hot_spot); /* indexed while the sums are made */
	struct hot_spot whole;       /* all rows, also those without memory for an entry */
};

/*
 * Returns the program's function that called CUDA, as in `sites` and `waits`. `stack` is inside the
 * call. Returns NULL if the function is unknown.
 */
const struct frame_info *hot_spots_site(const struct result *result, uint32_t stack);

/* Returns true for a frame that has total time: a function, or a package of folded ones. */
bool hot_spots_is_function(const struct frame_info *frame);

/* Tables of rows. hot_spots_frames finds a row's frame in each; NULL if the row is not in it. */
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
	struct hot_spot_table calls, idle; /* from the timeline */
};

void hot_spots_frames(const struct result *result, const struct row *row,
		      const struct frame_info *frames[HOT_SPOTS_TABLES]);

/* Sums up a result, which must outlive the sums. Returns NULL if out of memory. */
struct hot_spots *hot_spots_new(const struct result *result);

/*
 * Sums up the launching functions of one kernel or kind of other GPU work, the longest time first.
 * `work` is an entry's frame of `kernels` or `copies`. The caller calls hot_spot_table_release().
 */
void hot_spots_sites_of(struct hot_spot_table *sites, const struct result *result,
			const struct frame_info *work);
void hot_spot_table_release(struct hot_spot_table *table);

/* Adds `calls` and `idle`. `busy` is NULL if unknown. Returns 0, or -errno with both empty. */
struct busy;
int hot_spots_add_timeline(struct hot_spots *hot_spots, const struct result *result,
			   const struct busy *busy);

void hot_spots_free(struct hot_spots *hot_spots);

#endif
