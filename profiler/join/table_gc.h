/* SPDX-License-Identifier: MIT */
/*
 * Garbage-collects tables with --last, so that a run of days does not grow.
 *
 * Entries that only dropped items referred to are removed: stacks and their frames, places, names
 * of processes and threads, origins of launches, and devices. Stacks that a running process has
 * sent stay, because each is sent once.
 *
 * A collection visits all entries. So it runs when the tables have doubled since the last one. The
 * growth that starts it lies between TABLE_GC_LEAST and TABLE_GC_MOST.
 *
 * Not collected are texts of frames (128 MiB at most, COLLECT_TARGET_BYTES), files with code
 * (symbolize/util/table_quota.h: 65,536) and launch shapes (timeline.h: 262,144).
 */
#ifndef PROFILER_JOIN_TABLE_GC_H
#define PROFILER_JOIN_TABLE_GC_H

#include <stdint.h>

#ifndef TABLE_GC_LEAST /* entries of all tables; tests use less */
#define TABLE_GC_LEAST 65536u
#define TABLE_GC_MOST 524288u
#endif

/* Zero-initialised has collected nothing. */
struct table_gc {
	uint32_t at;    /* number of entries that starts the next collection */
	uint64_t times; /* number of collections */
};

struct collect;

/* Runs a collection if it is time. */
void table_gc_run(struct collect *c);

#endif
