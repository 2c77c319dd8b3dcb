/* SPDX-License-Identifier: MIT */
/*
 * Makes the spans of a run while it goes on: records become spans (span_maker.h) soon after they
 * are collected, and need not be kept.
 *
 * Two threads share the work. The session's thread takes records, and hands them over with new
 * entries of the tables that records refer to: places, names, devices, shapes, frames. This costs
 * the session a copy of each record, and of new names. The working thread has its own tables. It
 * names the records and makes spans, so the session never waits for names, an encoding or a
 * collector.
 *
 *	session's thread                    working thread
 *	----------------                    --------------
 *	live_spans_take, for each record    while (live_spans_wait(l))
 *	live_spans_hand_over                        live_spans_work(l);
 *	live_spans_stop                     live_spans_end
 *
 * An operation becomes a span at once. Its launch is known (join.h waits for the launch), and
 * gives the parent's id. A call waits for one to two ticks, because an outer call ends later, and
 * so arrives later. If the outer call arrives later still, its inner calls become children of the
 * run. Calls have no links to operations, since records of some operations come seconds late.
 *
 * Memory is bounded for any input. LIVE_SPANS_WAITING records wait for work, 64 bytes each; more
 * are dropped and counted. LIVE_SPANS_HELD calls wait for outer calls, 120 bytes each; then the
 * older half stops waiting. There is one request, copies of the tables without their texts, and
 * LIVE_SPANS_NAMES bytes of names. Beyond these, kernels have no name.
 */
#ifndef PROFILER_SEND_LIVE_SPANS_H
#define PROFILER_SEND_LIVE_SPANS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "profiler/formats/span_maker.h"
#include "profiler/model/collected.h"

#define LIVE_SPANS_WAITING (1u << 19)
#define LIVE_SPANS_HELD (1u << 16)
#define LIVE_SPANS_NAMES (64u << 20)
#define LIVE_SPANS_TABLES (64u << 20) /* bytes of tables of files, for names of timed calls */

struct live_spans_options {
	const struct span_options *spans; /* borrowed */
	enum otlp_encoding encoding;
	bool raw_names; /* result_naming.h */
	/* limits; 0: LIVE_SPANS_WAITING and LIVE_SPANS_HELD */
	uint32_t waiting_max, held_max;
	/* Receives each request on the working thread (span_maker.h). Returning -ECANCELED ends all
	 * work. */
	int (*put)(void *context, const void *request, size_t size, uint32_t spans);
	void *context;
};

struct live_spans;

/* Returns NULL if out of memory. */
struct live_spans *live_spans_new(const struct live_spans_options *options);

/* Frees `l`, which no other thread may use any more. Accepts NULL. */
void live_spans_free(struct live_spans *l);

/* ---- the session's thread ---- */

/*
 * Sets command, start and machine before the first hand-over; ignores other totals. Borrows
 * strings. Returns 0 or -ENOMEM.
 */
int live_spans_begin(struct live_spans *l, const struct totals *totals);

/*
 * Takes a record of any kind from the timeline. `launched_ns` is the start of an operation's
 * launch, or 0 if unknown. Returns true if a hand-over is due.
 */
bool live_spans_take(struct live_spans *l, const struct timeline_record *record,
		     uint64_t launched_ns);

/*
 * Hands over the records taken. `collected` and `shapes` have the tables that the records refer
 * to. With `is_tick`, resolves calls that have waited for a whole tick, and sends a partial
 * request. Returns true if the other thread has work.
 */
bool live_spans_hand_over(struct live_spans *l, const struct collected *collected,
			  const struct timeline *shapes, bool is_tick);

/* Ends live_spans_wait at once, and live_spans_work soon. */
void live_spans_stop(struct live_spans *l);

/*
 * Returns the number of spans, including the run's, and the number of lost records. Records are
 * lost if they come too fast, or if memory is short.
 */
struct live_spans_count {
	uint64_t all, lost;
};
struct live_spans_count live_spans_count(const struct live_spans *l);

struct live_spans_kept {
	uint32_t waiting; /* records handed over */
	uint32_t held;    /* calls waiting for outer calls */
	uint32_t places;  /* places handed over and not fetched */
};
/* Returns the numbers of kept entries. No other thread may work meanwhile. */
struct live_spans_kept live_spans_kept(const struct live_spans *l);

/* ---- another thread ---- */

/* Waits for work. Returns false after live_spans_stop. */
bool live_spans_wait(struct live_spans *l);
bool live_spans_is_stopping(const struct live_spans *l);

/* Makes spans of the records handed over. */
void live_spans_work(struct live_spans *l);

/*
 * Makes the remaining spans, and the run's. Call it after the last hand-over and live_spans_stop;
 * without another thread, from the session's. Returns 0, -ECANCELED, or -ENOMEM if the run has no
 * span.
 */
int live_spans_end(struct live_spans *l, const struct result *run);

#endif
