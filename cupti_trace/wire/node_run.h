/* SPDX-License-Identifier: MIT */
/*
 * Puts the operations of a graph's launch into one line (gpu_event_node_run), and takes them out
 * again. A launch of a graph has a record for each node, and the next launch has records much
 * like them. So what is equal at each launch is defined once (gpu_event_node_work), and an
 * operation is four small numbers.
 *
 * The sender's part runs inside the user's program: it allocates the definitions, and writes into
 * the caller's buffer. The caller writes the lines of the definitions before they are used.
 *
 * Taking out what was put in gives events equal to the sender's (tests/unit/test_node_run.c).
 */
#ifndef CUPTI_TRACE_WIRE_NODE_RUN_H
#define CUPTI_TRACE_WIRE_NODE_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "cupti_trace/wire/gpu_event.h"
#include "symbolize/util/record_set.h"

/* ---- the sender ---- */

/* Most bytes of a step, and of a line's start with its first step and its end. */
#define NODE_RUN_STEP_BYTES 76u
#define NODE_RUN_LINE_BYTES 240u
#define NODE_RUN_END_BYTES 3u

/* Zero-initialised is valid. */
struct node_runs {
	RECORD_SET(struct gpu_node_work) works; /* the last definitions, GPU_NODE_WORKS at most */
	uint32_t earlier;                       /* number of those before; ids go on */
	/* by the low bits of a node's id: position of its last work, from 1 on */
	uint16_t last_works[GPU_NODE_WORKS];
	/* the line that is open */
	uint32_t steps; /* 0: none */
	uint32_t correlation_id, graph_id;
	uint64_t node_id, end_ns; /* its last operation's */
};

/*
 * Returns the id of an event's work, and sets `*is_new` if it must be sent first. Returns 0 if the
 * event must have a line of its own: it is no node's operation, has no usable times, is outside the
 * time of tracing, or memory ran out.
 */
uint32_t node_runs_define(struct node_runs *runs, const struct gpu_event *event, bool *is_new);

/* Returns whether the event can go on in the open line, given a work's id. */
bool node_runs_continues(const struct node_runs *runs, const struct gpu_event *event);

/*
 * Begins a line whose first step is the event. Returns its length without the end, at most
 * NODE_RUN_LINE_BYTES - NODE_RUN_END_BYTES; 0: `size` is less than NODE_RUN_LINE_BYTES.
 */
size_t node_runs_begin(struct node_runs *runs, const struct gpu_event *event, uint32_t work_id,
		       char *buffer, size_t size);

/* Adds a step to the line: at most NODE_RUN_STEP_BYTES. Returns their number. */
size_t node_runs_add(struct node_runs *runs, const struct gpu_event *event, uint32_t work_id,
		     char *buffer);

/* Ends the line with NODE_RUN_END_BYTES. */
void node_runs_end(struct node_runs *runs, char *buffer);

void node_runs_release(struct node_runs *runs);

/* Returns the number of steps in a line that the functions above have written. */
uint32_t node_run_steps_of(const char *line, size_t length);

/* ---- the receiver ---- */

/* The operation at which a run is being read. */
struct node_run_at {
	uint64_t node_id, start_ns, end_ns;
};

static inline struct node_run_at node_run_start(const struct gpu_event_node_run *run)
{
	return (struct node_run_at){run->node_id, run->start_ns, run->start_ns};
}

/*
 * Moves to the operation of a step. Returns false if its id or its start is not one that an event
 * may have.
 */
static inline bool node_run_move(struct node_run_at *at, const struct gpu_node_step *step)
{
	/* steps are less than 2^62 in amount, and ends below 2^63 + 2^61: sums cannot wrap twice */
	at->node_id += (uint64_t)step->node;
	at->start_ns = at->end_ns + (uint64_t)step->start_ns;
	at->end_ns = at->start_ns + step->duration_ns;
	return at->node_id - 1 < INT64_MAX && at->start_ns <= INT64_MAX;
}

/* Returns whether every step leads to an operation that an event may have. */
bool node_run_is_sane(const struct gpu_event_node_run *run);

/* Makes the event of an operation. */
void node_run_event(const struct gpu_event_node_run *run, const struct node_run_at *at,
		    const struct gpu_node_work *work, struct gpu_event *event);

#endif
