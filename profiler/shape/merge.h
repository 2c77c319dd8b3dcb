/* SPDX-License-Identifier: MIT */
/*
 * Merges the captures of a job's ranks into one result, from which every output is written as from
 * that of one run.
 *
 * All rows, records and counts of each capture are in it once. Equal frames and stacks are one, so
 * a job of many ranks that run the same program takes little more than one of them; each capture
 * can be freed once it is added. Processes keep their rank, which is part of their names, "rank 3:
 * train.py 4711": processes of two machines or containers are never one, whatever their pids.
 *
 * The times of the result are those of the wall clock, since 1970. Captures of one machine (boot.h)
 * are placed by its CLOCK_MONOTONIC, so their times compare exactly. Machines are placed by their
 * wall clocks, and then aligned by the collectives that they took part in together (clock_fit.h),
 * if there are enough; struct rank_info has the error of both. A capture without a wall clock is
 * assumed to start when the first one does, unless another one is of the same machine.
 *
 * Of the kernels of collectives, the time for which a rank waited for the last one to come
 * (collectives.h) is below them, in rows of their own: `[waiting for rank 3]`, without operations.
 * A row keeps the sum of both; where it has less time than its operations lasted, as with --stalls,
 * no more than it has becomes waiting. Needs the captures' timelines, but not that of the result.
 *
 * Captures may hold anything: sums that are too large are refused.
 */
#ifndef PROFILER_SHAPE_MERGE_H
#define PROFILER_SHAPE_MERGE_H

#include "profiler/base/quota.h"
#include "profiler/model/result.h"

struct merge;

enum merge_error {
	MERGE_OK,
	MERGE_NO_RANK,   /* the capture has none */
	MERGE_SAME_RANK, /* as another one: merge_source_of has it */
	MERGE_MERGED,    /* it is of several ranks already */
	MERGE_TOO_LARGE, /* for `memory`, or sums that do not fit */
	MERGE_NO_MEMORY,
	MERGE_SYSTEM /* errno has the reason: the timeline */
};

/*
 * `folder`: where the timeline is kept (timeline.h); NULL: without one. Tables are taken from
 * `memory`, which must outlive the merge. NULL with errno.
 */
struct merge *merge_new(const char *folder, struct quota *memory);
void merge_free(struct merge *m);

/*
 * Adds a run. It may be freed afterwards; `source`, which names it, is borrowed. After an error
 * only merge_free is allowed, unless it is one of the capture's rank.
 */
enum merge_error merge_add(struct merge *m, const struct result *run, const char *source);

/* The source of the rank that was added; NULL: none. */
const char *merge_source_of(const struct merge *m, uint32_t rank);

/* The rank whose run measured other things than the first one, or in another way; false: none. */
bool merge_has_other_measure(const struct merge *m, uint32_t *rank);

/* Completes the result, which lives as long as the merge. NULL with errno. */
const struct result *merge_finish(struct merge *m);

#endif
