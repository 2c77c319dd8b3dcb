/* SPDX-License-Identifier: MIT */
/*
 * Finds the launch of an operation, by process and correlation id, among the latest launches.
 *
 * A table of LAUNCH_INDEX_ENTRIES entries, in sets of LAUNCH_INDEX_WAYS. Correlation ids that
 * follow each other share a set or have the next one, so that adding and finding stay in the
 * processor's caches. A full set drops the launch that began first. So a process alone keeps the
 * launches of its latest LAUNCH_INDEX_ENTRIES ids. It takes 16 MiB.
 *
 * Times are in ns, CLOCK_MONOTONIC. Zero-initialised is empty and valid. Not thread-safe.
 */
#ifndef PROFILER_MODEL_LAUNCH_INDEX_H
#define PROFILER_MODEL_LAUNCH_INDEX_H

#include <stdint.h>

#define LAUNCH_INDEX_ENTRIES (1u << 19)
#define LAUNCH_INDEX_WAYS 4u

/* A launch that was found. */
struct indexed_launch {
	uint64_t key; /* process and correlation id */
	uint64_t start_ns;
	uint32_t thread, stack; /* any numbers of the caller */
	uint32_t number;        /* any number of the caller */
	uint32_t call_ns;       /* duration of the call, at most UINT32_MAX */
};

struct launch_index {
	struct indexed_launch *entries; /* NULL until the first launch is added */
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
