/* SPDX-License-Identifier: MIT */
/*
 * Reads a timeline in order, and finds the launch of each operation.
 *
 * A timeline has a launch where its call returned, so an operation may come first. The finder knows
 * the launches among the next LAUNCH_FINDER_AHEAD records, at least, and as many of the latest as
 * launch_index.h keeps. In its index launches have a place number as their thread, and are numbered
 * from 0 in the order of the timeline.
 *
 * The result must outlive the finder. Takes 23 MiB. Not thread-safe.
 */
#ifndef PROFILER_MODEL_LAUNCH_FINDER_H
#define PROFILER_MODEL_LAUNCH_FINDER_H

#include "profiler/model/launch_index.h"
#include "profiler/model/result.h"

#define LAUNCH_FINDER_AHEAD (1u << 16)

struct launch_finder;

/*
 * Takes a launch as it becomes known: in the order of the timeline, before the operations that find
 * it. Returns 0 or -errno.
 */
typedef int (*launch_taker)(void *context, const struct timeline_record *launch);

/* The result has a timeline. `take` may be NULL. Returns NULL if out of memory. */
struct launch_finder *launch_finder_new(const struct result *result, launch_taker take,
					void *context);
void launch_finder_free(struct launch_finder *finder);

/*
 * Reads the next record. Sets `launch` to the launch of an operation, with its place, and its stack
 * in the result. Sets it to NULL for other records, and if the launch is unknown or began after the
 * operation. Both are valid until the next call. Returns 1, 0 at the end, or -errno: that of
 * `take`, or of reading.
 */
int launch_finder_next(struct launch_finder *finder, const struct timeline_record **record,
		       const struct indexed_launch **launch);

#endif
