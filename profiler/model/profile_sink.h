/* SPDX-License-Identifier: MIT */
/*
 * The one place through which a profile gets what happened: CPU samples, launches, GPU operations,
 * waits and their parts, timed calls. Each is an item: it is counted in the ledger, adds to a row,
 * and is in the timeline, as its flags say.
 *
 * Usually that is done at once. Where only the last seconds of a run are wanted (--last), items are
 * kept (flight_recorder.h) until it is known which seconds these are: then those that begin in them
 * are taken in, as if nothing else had happened, and the rest is counted as left out. So rows,
 * counts and timeline are of the same items in either case.
 *
 * A note is an item that is no record: what an add-on has measured, for example. It is kept in the
 * same way, and then goes to `take_note`.
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
 * Items are kept for so long beyond the wanted time: results are complete a little later than the
 * moment that they are of.
 */
#ifndef PROFILE_SINK_SLACK_NS /* tests use less */
#define PROFILE_SINK_SLACK_NS UINT64_C(10000000000)
#endif

/* Of any item. The kind of its record says which kind of row it adds to. */
#define ITEM_COUNTS (1u << 0) /* in the ledger */
#define ITEM_ROW (1u << 1)    /* adds its duration, and its bytes, to a row */
#define ITEM_DRAWN (1u << 2)  /* is in the timeline, if there is one */

/* Of CPU samples and launches: ledger.h. */
#define ITEM_WHOLE (1u << 3)
#define ITEM_HANDED (1u << 4)
#define ITEM_NO_PARENT (1u << 5)

/* Of launches. */
#define ITEM_KERNEL (1u << 6)  /* of a kernel or graph, in the part that is recorded */
#define ITEM_STACK (1u << 7)   /* has a stack, captured in the process */
#define ITEM_SKIPPED (1u << 8) /* has none, for the time that it takes */

/* Of GPU operations. */
#define ITEM_MATCHED (1u << 9)
#define ITEM_BAD_TIME (1u << 10) /* without usable times: it counts as of its arrival */
#define ITEM_STAGED (1u << 11)
#define ITEM_BEFORE (1u << 12) /* gpu_outside */
#define ITEM_AFTER (1u << 13)
#define ITEM_EARLIER (1u << 14) /* launched before launches were recorded */
#define ITEM_UNSEEN (1u << 15)  /* of a graph node whose creation was not seen */

/* Of timed calls. */
#define ITEM_UNFINISHED (1u << 16) /* lasted until its process ended */

/* Of notes, with ITEM_BAD_TIME. */
#define ITEM_LASTS (1u << 17) /* wanted if any of its time is; otherwise if its beginning is */

/*
 * Kinds of notes. Who makes them says what the fields of their records are. The record's `stack` is
 * a number of a stack, its `place` PLACE_NOWHERE or that of a place; also its `shape` is a stack in
 * NOTE_SHARE.
 */
enum note_kind {
	NOTE_SHARE = TIMELINE_KINDS, /* attribution.c: work to spread, or to spread it by */
	NOTE_CALLS,                  /* api_calls.c: sums of calls */
	NOTE_VALUE,                  /* measurements.c: of a metric */
	NOTE_UNMEASURED,             /* measurements.c: why some launches have none */
	NOTE_PC_SAMPLES,             /* pc_samples.c */
	NOTE_PC_TOTALS,              /* pc_samples.c */
	NOTE_IDLE,                   /* idle.c */
};

/* All borrowed. Zero-initialise, then set the first five. */
struct profile_sink {
	struct profile *profile;
	struct ledger *ledger;
	struct timeline *timeline; /* NULL: none */
	/* NULL: there are no notes */
	void (*take_note)(void *context, const struct profile_item *note);
	void *context;
	struct flight_recorder *recorder; /* owned; NULL: items are taken in at once */
	uint64_t now_ns;
	/* GPU operations that were kept, and forgotten since or not */
	uint64_t operations, operation_ns;
	uint64_t lost; /* for lack of memory */
};

/* From now on items are kept. False: out of memory. */
bool profile_sink_keep(struct profile_sink *sink);
void profile_sink_release(struct profile_sink *sink);

void profile_sink_add(struct profile_sink *sink, const struct profile_item *item);

/*
 * Does the same for an operation whose launch is known, and when it began (timeline_listener); 0:
 * it is not.
 */
void profile_sink_add_launched(struct profile_sink *sink, const struct profile_item *item,
			       uint64_t launched_ns);

/* It is `now_ns`, and items that ended before `before_ns` will not be wanted. */
void profile_sink_advance(struct profile_sink *sink, uint64_t now_ns, uint64_t before_ns);

/*
 * Takes in kept items that begin in the window, or last into it, and frees all. The window begins
 * later if items were forgotten that are in it.
 */
void profile_sink_finish(struct profile_sink *sink, struct time_range *time_range);

#endif
