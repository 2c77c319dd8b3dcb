/* SPDX-License-Identifier: MIT */
/*
 * Finds the launch of each operation of a timeline, while the caller reads the records in order.
 *
 * A timeline has a launch where its call returned, so an operation may come first. The finder reads
 * LAUNCH_FINDER_AHEAD launches ahead, and keeps as many of the latest as launch_index.h does. In
 * its index launches have a place number as their thread, and are numbered from 0 in the order of
 * the timeline.
 *
 * The result must outlive the finder. Not thread-safe.
 */
#ifndef PROFILER_MODEL_LAUNCH_FINDER_H
#define PROFILER_MODEL_LAUNCH_FINDER_H

#include "profiler/model/launch_index.h"
#include "profiler/model/result.h"

#define LAUNCH_FINDER_AHEAD (1u << 15)

struct launch_finder;

/* The result has a timeline. Returns NULL with errno set. */
struct launch_finder *launch_finder_new(const struct result *result);
void launch_finder_free(struct launch_finder *finder);

/*
 * Takes the next record of the timeline: call it for each one. Returns the launch of an operation,
 * with its place, and its stack in the result. Returns NULL for other records, and if the launch is
 * unknown or began after the operation. The pointer is valid until the next call.
 */
const struct indexed_launch *launch_finder_next(struct launch_finder *finder,
						const struct timeline_record *record);

/* Returns 0, or the first -errno of reading ahead. After an error launches are unknown. */
int launch_finder_error(const struct launch_finder *finder);

#endif
