/* SPDX-License-Identifier: MIT */
/*
 * Merges the captures of a job's ranks into one result, from which every output can be written.
 *
 * All rows, records and counts of each capture are in the result once. Equal frames and stacks
 * become one, so many ranks of one program take little more memory than one rank. Each capture can
 * be freed once it is added. The rank is part of a process's name, "rank 3: train.py 4711". So
 * processes of two machines or containers stay apart, whatever their pids.
 *
 * Times of the result are those of the wall clock, in ns since 1970. Captures of one machine
 * (boot.h) are placed by its CLOCK_MONOTONIC, so their times compare exactly. Machines are placed
 * by their wall clocks. Machines that share enough collectives are then aligned by these
 * (clock_fit.h). struct rank_info has the error of both. A capture without a wall clock starts with
 * the first capture, unless another capture is of its machine.
 *
 * A rank may wait in a collective's kernel for the last rank (collectives.h). This time has a row
 * of its own below the kernel, `[waiting for rank 3]`, without operations. The two rows keep the
 * sum. With --stalls a row may have less time than its operations lasted; then no more than its
 * time becomes waiting. This needs the captures' timelines, but not a timeline of the result.
 *
 * Captures are untrusted: sums that are too large are refused.
 */
#ifndef PROFILER_SHAPE_MERGE_H
#define PROFILER_SHAPE_MERGE_H

#include "profiler/base/quota.h"
#include "profiler/model/result.h"

struct merge;

enum merge_error {
	MERGE_OK,
	MERGE_NO_RANK,   /* the capture has no rank */
	MERGE_SAME_RANK, /* merge_source_of has a capture of this rank */
	MERGE_MERGED,    /* the capture is of several ranks already */
	MERGE_TOO_LARGE, /* more than `memory`, or sums that do not fit */
	MERGE_NO_MEMORY,
	MERGE_SYSTEM /* the timeline failed: errno has the reason */
};

/*
 * Makes an empty merge. `folder` keeps the timeline (timeline.h); NULL: no timeline. Tables are
 * taken from `memory`, which must outlive the merge. Returns NULL with errno set.
 */
struct merge *merge_new(const char *folder, struct quota *memory);
void merge_free(struct merge *m);

/*
 * Adds a run, which may be freed afterwards. `source` names the run and is borrowed. After
 * MERGE_TOO_LARGE, MERGE_NO_MEMORY and MERGE_SYSTEM only merge_free is allowed.
 */
enum merge_error merge_add(struct merge *m, const struct result *run, const char *source);

/* Returns the source of a rank that was added. Returns NULL for other ranks. */
const char *merge_source_of(const struct merge *m, uint32_t rank);

/* Finds a rank whose run measured other things than the first run. Returns false if none did. */
bool merge_has_other_measure(const struct merge *m, uint32_t *rank);

/* Completes the result, which lives as long as the merge. Returns NULL with errno set. */
const struct result *merge_finish(struct merge *m);

#endif
