/* SPDX-License-Identifier: MIT */
/*
 * Adds events to a profile: CPU samples, launches, GPU operations, waits and their parts, timed
 * calls.
 *
 * Each event is an item. Its flags tell whether it is counted in the ledger, adds to a row, and is
 * in the timeline.
 *
 * Items are usually added at once. For --last, items are kept in a flight recorder until the last
 * seconds are known. Then items that begin in these seconds are added, and the rest is counted as
 * left out. So rows, counts and timeline always agree.
 *
 * A note is an item that is no event, for example a measurement of an add-on. It is kept like other
 * items, and then passed to `take_note`.
 */
#ifndef PROFILER_MODEL_PROFILE_SINK_H
#define PROFILER_MODEL_PROFILE_SINK_H

#include <stdbool.h>
#include <stdint.h>
#include "cupti_trace/wire/time_range.h"
#include "profiler/model/flight_recorder.h"
#include "profiler/model/ledger.h"
#include "profiler/model/profile.h"
#include "profiler/model/timeline.h"

/*
 * Items are kept so much longer than the wanted time, because results complete later than their own
 * times.
 */
#ifndef PROFILE_SINK_SLACK_NS /* tests use less */
#define PROFILE_SINK_SLACK_NS UINT64_C(10000000000)
#endif

/* All items. The kind of the record determines the kind of row. */
#define ITEM_COUNTS (1u << 0) /* counted in the ledger */
#define ITEM_ROW (1u << 1)    /* its duration and bytes are added to a row */
#define ITEM_DRAWN (1u << 2)  /* added to the timeline, if there is one */

/* CPU samples and launches: see ledger.h. */
#define ITEM_WHOLE (1u << 3)
#define ITEM_HANDED (1u << 4)
#define ITEM_NO_PARENT (1u << 5)

/* Launches. */
#define ITEM_KERNEL (1u << 6)  /* launches a kernel or graph, in the recorded part */
#define ITEM_STACK (1u << 7)   /* has a stack, captured in the process */
#define ITEM_SKIPPED (1u << 8) /* has no stack, to limit overhead */

/* GPU operations. */
#define ITEM_MATCHED (1u << 9)
#define ITEM_BAD_TIME (1u << 10) /* no usable times: its arrival counts */

/* enum gpu_outside */
#define ITEM_STAGED (1u << 11)
#define ITEM_BEFORE (1u << 12)
#define ITEM_AFTER (1u << 13)
#define ITEM_EARLIER (1u << 14) /* launched before launches were recorded */
#define ITEM_UNSEEN (1u << 15)  /* in a graph node whose creation was missed */

#define ITEM_REPRESENTS                                                           \
	(1u << 18) /* also launches: `represents` of the record is set (--budget) \
		    */

/* Timed calls. */
#define ITEM_UNFINISHED (1u << 16) /* lasted until its process ended */

/* Notes; all have ITEM_BAD_TIME. */
#define ITEM_LASTS (1u << 17) /* wanted if any of its time is; otherwise if its start is */

/*
 * Kinds of notes. The creator defines the members of their records. `stack` is always a stack, and
 * `place` a place or PLACE_NOWHERE. In NOTE_SHARE, `shape` is a stack, too.
 */
enum note_kind {
	NOTE_SHARE = TIMELINE_KINDS, /* attribution.c: work to spread, or samples to spread by */
	NOTE_COUNT,                  /* profile_sink_count() */
	NOTE_CALLS,                  /* api_calls.c: extremes and errors of calls */
	NOTE_VALUE,                  /* measurements.c: value of a metric */
	NOTE_PC_SAMPLES,             /* pc_samples.c */
	NOTE_IDLE,                   /* idle.c */
	NOTE_ESTIMATE,               /* estimates.c */
};

/* Borrowed, except `recorder`. Zero-initialise, then set the first five. */
struct profile_sink {
	struct profile *profile;
	struct ledger *ledger;
	struct timeline *timeline; /* NULL if there is none */
	/* NULL: there are no notes */
	void (*take_note)(void *context, const struct profile_item *note);
	void *context;
	struct flight_recorder *recorder; /* owned; NULL: items are added at once */
	uint64_t now_ns;
	/* GPU operations and timed calls that were kept, including dropped ones */
	uint64_t operations, operation_ns, calls;
	uint64_t lost; /* items lost for lack of memory */
	/* --every: results take turns, and each item is in the first one that ends after its start
	 */
	bool takes_turns, is_closed;
};

/* Starts to keep items. Returns false if out of memory. */
bool profile_sink_keep(struct profile_sink *sink);
void profile_sink_release(struct profile_sink *sink);

void profile_sink_add(struct profile_sink *sink, const struct profile_item *item);

/* Adds an operation with the start of its launch, as in timeline_listener; 0: unknown. */
void profile_sink_add_launched(struct profile_sink *sink, const struct profile_item *item,
			       uint64_t launched_ns);

/*
 * Adds to a count that outlives the sink. With --last, adds only if now is in the last seconds.
 * Sums saturate.
 */
void profile_sink_count(struct profile_sink *sink, uint64_t *count, uint64_t amount);

/* Sets the time, and drops kept items that ended before `before_ns`. */
void profile_sink_advance(struct profile_sink *sink, uint64_t now_ns, uint64_t before_ns);

/*
 * Take kept items in turns (--every). A copy of the sink completes a result with those that began
 * before `until_ns`. It was closed, so it gets no more items. If the result is written,
 * profile_sink_take marks these items as parts of it: `end` is profile_sink_end when the copy was
 * made.
 */
uint64_t profile_sink_end(const struct profile_sink *sink);
void profile_sink_take(struct profile_sink *sink, uint64_t until_ns, uint64_t end);
void profile_sink_close(struct profile_sink *sink);

/*
 * Adds kept items that begin in the time range, or last into it, and frees all. The range begins
 * later if items in it were dropped.
 */
void profile_sink_finish(struct profile_sink *sink, struct time_range *time_range);

#endif
