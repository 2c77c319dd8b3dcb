/* SPDX-License-Identifier: MIT */
/*
 * Where only the last seconds of a run are kept (--last): forgets what only older items referred
 * to, so that a run of days does not grow. These are stacks and their frames, places, names of
 * processes and threads, origins of launches, and devices. What a running process has sent stays:
 * it sends each stack once.
 *
 * That takes a look at all that is kept, so it is done when the tables have grown by as much as was
 * left the last time (TABLE_GC_MOST at most), or by TABLE_GC_LEAST.
 *
 * What stays: texts of frames (128 MiB at most, COLLECT_TARGET_BYTES), files with code
 * (symbolize/util/table_quota.h: 65,536) and launch shapes (timeline.h: 262,144).
 */
#ifndef PROFILER_JOIN_TABLE_GC_H
#define PROFILER_JOIN_TABLE_GC_H

#include <stdint.h>

#ifndef TABLE_GC_LEAST /* entries of all tables; tests use less */
#define TABLE_GC_LEAST 65536u
#define TABLE_GC_MOST 524288u
#endif

/* Zero-initialised has forgotten nothing. */
struct table_gc {
	uint32_t at;    /* how many entries there are when the tables are looked through next */
	uint64_t times; /* so far */
};

struct collect;

/* Forgets if it is time. */
void table_gc_run(struct collect *c);

#endif
