/* SPDX-License-Identifier: MIT */
/*
 * Turns a run into events in order of time, for formats of timelines: the timeline's records,
 * sorted, on tracks (trace_tracks.h), with what connects them.
 *
 *	struct trace_model *model = trace_model_new(result);
 *	... trace_model_tracks(model): the first tracks ...
 *	err = trace_model_run(model, visit, context);
 *	trace_model_free(model);
 *
 * Derived from the records, for all formats alike:
 *  - Lanes. Slices on one track never overlap. A record without a duration is an instant.
 *  - Flows, from a launch to each operation that it started. The launch has the operation's process
 *    and correlation id. Of several, it is the last one that did not begin after the operation. An
 *    operation without such a launch has no flow. So every flow has both ends, the earlier one
 *    first.
 *  - NVTX ranges. The timeline has no record of them, but stacks of launches show which ranges
 *    were open. A range lasts from the first to the last of a thread's consecutive launches that
 *    show it. So ranges look shorter than they were. Two in a row with one name, and no launch
 *    between them, look like one.
 *  - Counters of each device of a process: operations that run, and operations that were launched
 *    but have not started. Operations without a flow are not in the second counter.
 *
 * Records stay in the timeline's file. Memory is 12 bytes for each record, 24 during sorting; 4
 * more if there are NVTX ranges; and 16 for each record that is open at a time.
 */
#ifndef PROFILER_FORMATS_TRACE_MODEL_H
#define PROFILER_FORMATS_TRACE_MODEL_H

#include <stdbool.h>
#include <stdint.h>
#include "profiler/formats/trace_tracks.h"
#include "profiler/model/result.h"

enum trace_event_kind {
	TRACE_TRACK, /* a new lane; precedes the events on it */
	TRACE_BEGIN, /* a slice: a launch, an operation, a wait or a timed call */
	TRACE_END,   /* the open slice of a track */
	TRACE_INSTANT,
	TRACE_SAMPLE, /* a CPU sample, on a thread's track */
	TRACE_RANGE_BEGIN,
	TRACE_RANGE_END, /* the innermost range */
	TRACE_COUNTERS,  /* a device's counters from now on; 0 before the first event */
};

/* Members that a kind does not have are 0. */
struct trace_event {
	enum trace_event_kind kind;
	uint32_t track;
	uint64_t time_ns;                     /* never decreases; meaningless for TRACE_TRACK */
	const struct timeline_record *record; /* TRACE_BEGIN, TRACE_INSTANT, TRACE_SAMPLE */
	uint32_t stack;                       /* the record's: result_record_stack */
	uint32_t frame;                       /* TRACE_RANGE_BEGIN, TRACE_RANGE_END */
	uint64_t running, queued;             /* TRACE_COUNTERS */
	bool running_changed, queued_changed;
	/* a launch has all flows it started, an operation at most one; numbered from 1 */
	uint32_t first_flow, flow_count;
};

/* Sums of the records. */
struct trace_sums {
	uint64_t records;
	uint64_t count[TIMELINE_KINDS], ns[TIMELINE_KINDS];
	uint64_t flows;
	uint64_t without_launch; /* operations with a correlation id and no flow */
	uint64_t first_ns;       /* start of the run, or of the first record if earlier */
};

/* Returns the number of records that OpenTelemetry's spans have: calls and operations. */
static inline uint64_t trace_sums_spans(const struct trace_sums *sums)
{
	return sums->records - sums->count[TIMELINE_CPU_SAMPLE] - sums->count[TIMELINE_OFF_CPU];
}

struct trace_model;

/*
 * Returns a model of a result, which must outlive it, or NULL with errno set. A result without a
 * timeline has no events.
 */
struct trace_model *trace_model_new(const struct result *result);
void trace_model_free(struct trace_model *model);

/* Returns the tracks, which grow with TRACE_TRACK. */
const struct trace_tracks *trace_model_tracks(const struct trace_model *model);
struct trace_sums trace_model_sums(const struct trace_model *model);

/* Returns the sums for the summary, where records are the items. */
struct written trace_model_written(const struct trace_model *model);

/* Calls `visit` once with each event. Returns 0, or -errno if the rest is missing. */
int trace_model_run(struct trace_model *model,
		    void (*visit)(void *context, const struct trace_event *event), void *context);

/*
 * Calls `visit` with the facts of a run, name by name: the command, the sums of its records, and
 * all that is missing.
 */
void trace_facts(const struct result *result, const struct trace_sums *sums, fact_visitor visit,
		 void *context);

/* Returns the frame that names a record, the innermost of its stack, or NULL if it has none. */
const struct frame_info *trace_frame(const struct result *result, uint32_t stack);

/* Returns whether a name is that of a driver call: "cuLaunchKernel". NULL is not. */
bool trace_is_of_driver(const char *name);

enum trace_interface { TRACE_UNKNOWN_API, TRACE_RUNTIME_API, TRACE_DRIVER_API };

/* Returns the interface of the call that a frame names. */
enum trace_interface trace_interface(const struct frame_info *frame);

/*
 * Returns the error of a failed launch or wait: "cudaErrorInvalidValue"; "error 1234" if the
 * error has no name, or the interface is unknown. Returns NULL if the call did not fail. `stack`
 * is the record's in the result.
 */
#define TRACE_ERROR_BYTES 24
const char *trace_error(const struct result *result, const struct timeline_record *record,
			uint32_t stack, char text[TRACE_ERROR_BYTES]);

/* Returns the name of records without a frame: "launch". */
const char *trace_kind_word(unsigned int kind);

#endif
