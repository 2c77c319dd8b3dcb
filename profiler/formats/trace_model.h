/* SPDX-License-Identifier: MIT */
/*
 * The course of a run as events in order of time, for formats that viewers of timelines read: the
 * records of the timeline, sorted, on tracks (trace_tracks.h), with what connects them.
 *
 *	struct trace_model *model = trace_model_new(result);
 *	... trace_model_tracks(model): those that are there from the start ...
 *	err = trace_model_run(model, visit, context);
 *	trace_model_free(model);
 *
 * What is derived from records here, for all formats alike:
 *  - Lanes: slices on one track never overlap. A record without a duration is an instant.
 *  - Flows, from a launch to each operation that it started: the last launch of the process with
 *    the operation's correlation id that did not begin after it. An operation without one has no
 *    flow; so every flow has both ends, the earlier one first.
 *  - NVTX ranges. The timeline has no record of them, but stacks of launches show which ranges
 *    were open. A range that consecutive launches of a thread show is drawn from the beginning of
 *    the first to the end of the last; so ranges look shorter than they were, and two in a row
 *    with one name, without a launch between them, look like one.
 *  - Counters of each device of a process: how many operations run, and how many have been
 *    launched but not started. Those without a flow are in the first one only.
 *
 * Records stay in the timeline's file. In memory are 12 bytes for each, 24 while they are sorted, 4
 * more if there are NVTX ranges, and 16 for each that is not over at a time.
 */
#ifndef PROFILER_FORMATS_TRACE_MODEL_H
#define PROFILER_FORMATS_TRACE_MODEL_H

#include <stdbool.h>
#include <stdint.h>
#include "profiler/formats/trace_tracks.h"
#include "profiler/model/result.h"

enum trace_event_kind {
	TRACE_TRACK, /* a further lane: precedes what is on it */
	TRACE_BEGIN, /* a slice: a launch, an operation, a wait or a timed call */
	TRACE_END,   /* of the slice that is open on its track */
	TRACE_INSTANT,
	TRACE_SAMPLE, /* of the CPU, on a thread's track */
	TRACE_RANGE_BEGIN,
	TRACE_RANGE_END, /* of the innermost range */
	TRACE_COUNTERS,  /* of a device: from now on; 0 before the first ones */
};

/* Fields that a kind does not have are 0. */
struct trace_event {
	enum trace_event_kind kind;
	uint32_t track;
	uint64_t time_ns; /* never decreases from one event to the next; but for TRACE_TRACK */
	const struct timeline_record *record; /* of a slice's begin, an instant, a sample */
	uint32_t stack;                       /* of the record: result_record_stack */
	uint32_t frame;                       /* of a range */
	uint64_t running, queued;             /* of a device */
	bool running_changed, queued_changed;
	/* of a launch: all it started; of an operation: one, or none. Numbered from 1 */
	uint32_t first_flow, flow_count;
};

/* What the records add up to. */
struct trace_sums {
	uint64_t records;
	uint64_t count[TIMELINE_KINDS], ns[TIMELINE_KINDS];
	uint64_t flows;
	uint64_t without_launch; /* operations with a correlation id, but no flow */
	uint64_t first_ns;       /* when the run or the first record began */
};

struct trace_model;

/* NULL with errno. The result must outlive the model; a result without timeline has no events. */
struct trace_model *trace_model_new(const struct result *result);
void trace_model_free(struct trace_model *model);

/* Grows with TRACE_TRACK. */
const struct trace_tracks *trace_model_tracks(const struct trace_model *model);
struct trace_sums trace_model_sums(const struct trace_model *model);

/* Does the same for the summary: records are what is counted. */
struct written trace_model_written(const struct trace_model *model);

/* Calls `visit` with each event, once. 0, or -errno: the rest is missing. */
int trace_model_run(struct trace_model *model,
		    void (*visit)(void *context, const struct trace_event *event), void *context);

/*
 * Calls `visit` with what else there is to say of a run, name by name: the command, what its
 * records add up to, and all that is missing from it.
 */
void trace_facts(const struct result *result, const struct trace_sums *sums, fact_visitor visit,
		 void *context);

/* The frame that names a record: the innermost one of its stack; NULL: it has none. */
const struct frame_info *trace_frame(const struct result *result, uint32_t stack);

/* A call of the driver, "cuLaunchKernel", not "cudaLaunchKernel"; NULL: it is none. */
bool trace_is_of_driver(const char *name);

enum trace_interface { TRACE_UNKNOWN_API, TRACE_RUNTIME_API, TRACE_DRIVER_API };

/* Returns the interface of the call that the frame names. */
enum trace_interface trace_interface(const struct frame_info *frame);

/*
 * Why a launch or a wait failed: "cudaErrorInvalidValue"; "error 1234" if it has no name, or its
 * interface is not known; NULL: it did not fail. `stack` is the record's in the result.
 */
#define TRACE_ERROR_BYTES 24
const char *trace_error(const struct result *result, const struct timeline_record *record,
			uint32_t stack, char text[TRACE_ERROR_BYTES]);

/* For records without one: "launch". */
const char *trace_kind_word(unsigned int kind);

#endif
