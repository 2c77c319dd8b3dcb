/* SPDX-License-Identifier: MIT */
/*
 * The spans of a run that goes on: records become spans (span_maker.h) soon after they were
 * collected, so that nothing has to be kept of the run.
 *
 * Two threads share it. The session's takes each record as it is collected, and hands them over
 * with what is new in the tables that they refer to: places, names, devices, shapes, frames. That
 * costs it a copy of a record and, now and then, of a name. The other thread has tables of its own,
 * in which it names records and makes spans of them; so the session waits neither for names, nor
 * for an encoding, nor for a collector.
 *
 *	session's thread                    another thread
 *	----------------                    --------------
 *	live_spans_take, for each record    while (live_spans_wait(l))
 *	live_spans_hand_over                        live_spans_work(l);
 *	live_spans_stop                     live_spans_end
 *
 * Operations become spans at once: their launches are known (join.h waits for them), and a launch's
 * number follows from what it is. A call waits for one to two ticks, because a call around it ends,
 * and so arrives, after it. Of a call that arrives later still, the calls within it are children of
 * the run. Calls have no links, for it is never sure that all operations before their ends are
 * known: records of some come seconds late.
 *
 * Memory, for any input: LIVE_SPANS_WAITING records that wait to be worked on, 64 bytes each (more
 * are lost, and counted); LIVE_SPANS_HELD calls, 120 bytes each (then the older half does not wait
 * any longer); one request; copies of the tables above without their texts; and LIVE_SPANS_NAMES
 * bytes of names. Beyond the latter, kernels have no name.
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
#define LIVE_SPANS_TABLES (64u << 20) /* of files, for the names of timed calls */

struct live_spans_options {
	const struct span_options *spans; /* borrowed */
	enum otlp_encoding encoding;
	bool raw_names; /* result_naming.h */
	/* other bounds than LIVE_SPANS_WAITING and LIVE_SPANS_HELD; 0: these */
	uint32_t waiting_max, held_max;
	/* Gets each request, on the thread that works: span_maker.h. -ECANCELED ends all. */
	int (*put)(void *context, const void *request, size_t size, uint32_t spans);
	void *context;
};

struct live_spans;

/* NULL: out of memory. */
struct live_spans *live_spans_new(const struct live_spans_options *options);

/* When no other thread uses it any more. NULL is allowed. */
void live_spans_free(struct live_spans *l);

/* ---- the session's thread ---- */

/*
 * Before the first hand-over: the command, its start, the machine; what else is in it does not
 * matter. Strings are borrowed. 0 or -ENOMEM.
 */
int live_spans_begin(struct live_spans *l, const struct totals *totals);

/*
 * A record of the timeline, of any kind, with the start of the launch that an operation is known to
 * be of, or 0. True: many wait, so they should be handed over.
 */
bool live_spans_take(struct live_spans *l, const struct timeline_record *record,
		     uint64_t launched_ns);

/*
 * Hands over what was taken; `collected` has the tables that its records refer to, and `shapes`
 * their shapes. With `is_tick`, calls that have waited for a whole tick are decided, and a request
 * is sent even if it is not full. True: there is work for the other thread.
 */
bool live_spans_hand_over(struct live_spans *l, const struct collected *collected,
			  const struct timeline *shapes, bool is_tick);

/* Ends live_spans_wait, and live_spans_work before long. */
void live_spans_stop(struct live_spans *l);

/* How many spans there are, the run's included, and how many of them were lost before they became
 * one: they came too fast, or there was no memory. */
struct live_spans_count {
	uint64_t all, lost;
};
struct live_spans_count live_spans_count(const struct live_spans *l);

struct live_spans_kept {
	uint32_t waiting; /* records that were handed over */
	uint32_t held;    /* calls */
	uint32_t places;  /* that were handed over since there was work */
};
/* Counts what is kept. No other thread may work meanwhile. */
struct live_spans_kept live_spans_kept(const struct live_spans *l);

/* ---- another thread ---- */

/* Waits until there is something to do. False: live_spans_stop was called. */
bool live_spans_wait(struct live_spans *l);
bool live_spans_is_stopping(const struct live_spans *l);

/* Makes spans of what was handed over. */
void live_spans_work(struct live_spans *l);

/*
 * After the last hand-over and live_spans_stop: makes the spans of the rest, and the run's own. If
 * there was no other thread, the session's calls it. 0; -ECANCELED; or -ENOMEM: the run has no
 * span.
 */
int live_spans_end(struct live_spans *l, const struct result *run);

#endif
