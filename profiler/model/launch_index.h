/* SPDX-License-Identifier: MIT */
/*
 * Finds the launch of an operation, by process and correlation id, among the latest launches.
 *
 * The index has two generations of LAUNCH_INDEX_ENTRIES launches each. When the newer one is full,
 * it becomes the older one, and the launches of the older one are dropped. So at least the latest
 * LAUNCH_INDEX_ENTRIES launches are found. It takes 25 MiB at most, and less for fewer launches.
 *
 * A timeline has a launch where its call returned. So operations may come before their launch; see
 * launch_finder.h. Times are in ns, CLOCK_MONOTONIC.
 *
 * Zero-initialised is empty and valid. Not thread-safe.
 */
#ifndef PROFILER_MODEL_LAUNCH_INDEX_H
#define PROFILER_MODEL_LAUNCH_INDEX_H

#include <stdint.h>
#include "symbolize/util/record_set.h"

#define LAUNCH_INDEX_ENTRIES (1u << 18)

/* A launch that was found. `thread` and `stack` are any numbers of the caller. */
struct indexed_launch {
	uint64_t key; /* process and correlation id */
	uint64_t start_ns;
	uint32_t thread, stack;
	uint32_t number;  /* any number of the caller */
	uint32_t call_ns; /* duration of the call, at most UINT32_MAX */
};

struct launch_index {
	RECORD_SET(struct indexed_launch) newer, older;
	uint32_t limit; /* entries of a generation; 0: LAUNCH_INDEX_ENTRIES */
};

/*
 * Adds a launch, whose key is set here. It replaces one with an equal process and correlation id. A
 * launch with the correlation id 0 is not added. Returns 0, or -ENOMEM with the launch not added.
 */
int launch_index_add(struct launch_index *index, uint32_t process, uint32_t correlation,
		     struct indexed_launch launch);

/*
 * Returns the latest launch with this process and correlation id, or NULL. The pointer is valid
 * until the next addition.
 */
const struct indexed_launch *launch_index_find(const struct launch_index *index, uint32_t process,
					       uint32_t correlation);

void launch_index_release(struct launch_index *index);

#endif
