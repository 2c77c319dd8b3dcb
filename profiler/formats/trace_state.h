/* SPDX-License-Identifier: MIT */
/*
 * Gives the state of GPUs (gpu_courses.h) as counters of a timeline, for all formats alike.
 *
 * Each GPU has a group of counters, of which those exist that are not always 0. A value holds from
 * the start of its reading to the next value. Equal values in a row are given once. Numbers are
 * whole: MHz, W, degrees, bytes, bytes per second. "clocks limited" is a percentage of the
 * readings: 0 or 100 but in long runs.
 */
#ifndef PROFILER_FORMATS_TRACE_STATE_H
#define PROFILER_FORMATS_TRACE_STATE_H

#include "profiler/tables/gpu_courses.h"

struct trace_counter {
	uint32_t gpu;   /* number in `courses` */
	uint32_t kind;  /* for trace_counter_name() */
	uint64_t shown; /* last value */
	bool has_shown;
};

struct trace_state {
	struct gpu_courses courses;
	struct trace_counter *counters; /* by GPU */
	uint32_t count;
	uint32_t *first;  /* by GPU: its first counter; and the end */
	uint32_t *next;   /* by GPU: the row that is not given yet */
	uint64_t next_ns; /* start of the first of these rows; UINT64_MAX: none is left */
};

/* Returns 0, or -ENOMEM. */
int trace_state_init(struct trace_state *state, const struct result *result);
void trace_state_release(struct trace_state *state);

/* Returns the name of a counter, with its unit: "SM clock (MHz)". */
const char *trace_counter_name(const struct trace_counter *counter);

/* Returns whether a counter is one of the few that a page has room for: the SM clock, the power. */
bool trace_counter_is_main(const struct trace_counter *counter);

/* Returns the name of a GPU's group of counters: "GPU 0: state". */
#define TRACE_STATE_NAME_BYTES (DEVICE_LABEL_BYTES + 16)
const char *trace_state_name(const struct trace_state *state, uint32_t gpu,
			     char name[TRACE_STATE_NAME_BYTES]);

/*
 * Calls `visit` with the values that hold from a time up to `until_ns` on, in order of time, once
 * each.
 */
typedef void (*trace_state_visitor)(void *context, uint32_t counter, uint64_t time_ns,
				    uint64_t value);
void trace_state_until(struct trace_state *state, uint64_t until_ns, trace_state_visitor visit,
		       void *context);

#endif
