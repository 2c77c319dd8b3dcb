/* SPDX-License-Identifier: MIT */
/*
 * Records GPU work in windows only (--budget): when is chosen by duty_schedule.h.
 *
 * Between windows CUPTI makes no records of work, and calls for none of the driver's functions that
 * launch. All other callbacks stay on: contexts, modules, nodes of graphs. Callbacks of the runtime
 * are never switched, because CUPTI 13.0 then confuses ids.
 *
 * At other moments callbacks are on without records, and calls that launch are counted. Callbacks
 * alone take next to nothing.
 *
 * A launch belongs to a window if it is called in it. CUPTI has a record of it, whenever it runs:
 * switching records off concerns later launches only. So a window stays open until the launches in
 * it have returned. Graphs that run when records are switched off are an exception in CUPTI 13.0:
 * ends of their nodes are wrong. So records stay on a little longer than the last graphs took.
 * Times of nodes that ran while records were off are not used (docs/budget.md).
 *
 * The flusher's thread opens and closes windows; launching threads ask whether one is open.
 */
#ifndef CUPTI_TRACE_MAIN_DUTY_CYCLE_H
#define CUPTI_TRACE_MAIN_DUTY_CYCLE_H

#include <stdbool.h>
#include <stdint.h>
#include "cupti_trace/core/tracer.h"

/* Begins with no window open, if there is a budget. Called when records and callbacks are on. */
void duty_cycle_begin(struct tracer *tracer);

/* Returns the time of the next beginning or end of a window, ns; UINT64_MAX: there is none. */
uint64_t duty_cycle_next_ns(void);

/* Opens or closes a window if its time has come. */
void duty_cycle_step(struct tracer *tracer);

/*
 * Counts a call that launches. Returns whether it is recorded. Then the window stays open until
 * duty_cycle_launch_ends: the launch has returned, or is none of its own.
 */
bool duty_cycle_takes_launch(void);
void duty_cycle_launch_ends(void);

/* Notes that the launch which was taken is of a graph. */
void duty_cycle_launches_graph(uint32_t correlation_id);

/* Returns whether the times of a graph's node are right. */
bool duty_cycle_has_times(uint32_t correlation_id, uint64_t start_ns, uint64_t end_ns);

/* Counts records that CUPTI has made, on any thread. */
void duty_cycle_count(uint32_t records);

#endif
