/* SPDX-License-Identifier: MIT */
/*
 * CUPTI's activity records -> events in the sink.
 *
 * Every record of work becomes one event, whatever its timestamps, and one of a device that CUDA
 * can see, and one of a context that runs under MPS; records of kinds that nobody asked for are
 * counted as drops. Launches that were logged before a piece of work began are sent before it.
 * What is sent is also summed up, so that the profiler can check at the end what arrived.
 *
 * The record of a kernel whose hardware counters are being read waits for its times
 * (counted_times.h) until the next buffer, or the sums. There is one at a time.
 */
#ifndef CUPTI_TRACE_MAIN_ACTIVITY_H
#define CUPTI_TRACE_MAIN_ACTIVITY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "cupti_trace/core/clock.h"
#include "cupti_trace/core/cupti_api.h"
#include "cupti_trace/core/names.h"
#include "cupti_trace/core/sink.h"
#include "cupti_trace/wire/work_tally.h"

/* Where records go. All borrowed; the caller serializes calls with one output. */
struct activity_output {
	const struct clock_map *clock;
	const struct cupti_api *api;
	struct names *names;
	struct work_tally *tally;
	struct sink *sink;
	bool verbose;              /* report records that cannot be read */
	uint64_t began_ns;         /* when tracing began, CLOCK_MONOTONIC; 0: not known */
	uint64_t now_ns;           /* the records were complete by then; 0: not known */
	bool *saw_device;          /* set when a device's record was read; may be NULL */
	bool addresses;            /* those of allocations are sent */
	bool reads_counters;       /* kernels may have run more than once: hw_counters.h */
	bool skips_unended;        /* what has not ended is left out: its record will not come */
	uint64_t recorded_from_ns; /* what ended before is only counted (time_range.h) */
	uint64_t recorded_to_ns;   /* likewise what began then or later; 0: there is no end */
	bool begins_whole;         /* what was under way at recorded_from_ns is only counted, too */
};

void activity_send_buffer(const struct activity_output *output, uint8_t *buffer, size_t valid_size);

/*
 * Does the same for an allocation or release that CUPTI has no record of; `timestamp` is CUPTI's.
 */
void activity_send_memory(const struct activity_output *output, const struct gpu_event_work *event,
			  uint64_t timestamp);

/*
 * Sends the sums of all records since the last call, and sets them to 0; after an overflow, also a
 * rest of each kind. Of the output names, tally and sink are needed.
 */
void activity_send_sums(const struct activity_output *output);

#endif
