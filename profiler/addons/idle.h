/* SPDX-License-Identifier: MIT */
/*
 * Finds the times in which GPUs were idle, by what the launching threads did (--idle).
 *
 * Operations and activities of threads are kept in a separate file (timeline.h). At the end they
 * become rows, segment by segment (idle_gaps.h).
 *
 * A device counts for the whole run if anything ran on it. One UUID is one device, whatever
 * processes use it, as in busy.h: so idle and busy times add up to the run.
 *
 * Stacks below the device's frame, "[GPU 0 idle]", are those of the launching thread. If it has
 * none, the launch that ended the gap is shown, with a mark (pseudo_frames.h).
 *
 * Lost records, and so missing or wrong time, are counted in the ledger. Times are in ns,
 * CLOCK_MONOTONIC.
 */
#ifndef PROFILER_ADDONS_IDLE_H
#define PROFILER_ADDONS_IDLE_H

#include <stdint.h>
#include "profiler/addons/addon.h"

#define IDLE_SEGMENT_RECORDS (1u << 20) /* approximate records in memory at once, 100 MiB */
#define IDLE_SEGMENT_MAX (1u << 22)     /* hard limit, however dense the records are */

struct idle_where {
	uint32_t process, tid; /* PLACE_UNKNOWN: unknown */
};

/* Zero-initialise, then call idle_init(). */
struct idle {
	const struct addon_parts *parts;       /* `idle_store` is not finished */
	uint32_t segment_records, segment_max; /* 0: the limits above */
	struct places threads, devices;        /* small numbers for records */
};

/* Returns 0 or -ENOMEM. `parts` is borrowed. */
int idle_init(struct idle *idle, const struct addon_parts *parts);
void idle_release(struct idle *idle);

/* Events of a thread, as kinds of records. In the store, `place` is the number of the thread. */
#define IDLE_KIND_OPERATION                                                        \
	TIMELINE_GPU_OPERATION /* `bytes`: launch time, 0: unknown; `work`: device \
				*/
#define IDLE_KIND_SAMPLE TIMELINE_CPU_SAMPLE
#define IDLE_KIND_OFF_CPU TIMELINE_WAIT
#define IDLE_KIND_BEGIN TIMELINE_LAUNCH
#define IDLE_KIND_END TIMELINE_CALL

/* Adds an event. As in busy.h, an operation only counts with a duration. */
void idle_add(struct idle *idle, struct idle_where where, const struct timeline_record *event);

/* Wanted if there is a store. */
extern const struct addon addon_idle;

/* Adds the rows of a run from `from_ns` to `to_ns`. Call this once, at the end of the input. */
void idle_finish(struct idle *idle, uint64_t from_ns, uint64_t to_ns, uint64_t sample_ns);

#endif
