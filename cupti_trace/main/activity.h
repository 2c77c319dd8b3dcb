/* SPDX-License-Identifier: MIT */
/*
 * Converts CUPTI's activity records to events in the sink.
 *
 * Every record of work becomes one event, whatever its timestamps. So does every record of a device
 * visible to CUDA, and of a context under MPS. Records of kinds that were not requested are counted
 * as drops. Launches that were logged before a piece of work began are sent before it. All work is
 * also summed up, so that the profiler can check at the end what arrived.
 *
 * A kernel whose hardware counters are being read waits for its times (counted_times.h). It is sent
 * with the next buffer, or before the sums. There is one at a time.
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

/* Destination of records. All borrowed; the caller serializes calls with one output. */
struct activity_output {
	const struct clock_map *clock;
	const struct cupti_api *api;
	struct names *names;
	struct work_tally *tally;
	struct sink *sink;
	bool verbose;              /* report records that cannot be read */
	uint64_t began_ns;         /* start of tracing, CLOCK_MONOTONIC; 0: unknown */
	uint64_t now_ns;           /* the records were complete by then; 0: unknown */
	bool *saw_device;          /* set when a device's record was read; may be NULL */
	bool addresses;            /* send addresses of allocations */
	bool reads_counters;       /* kernels may have run more than once: hw_counters.h */
	bool skips_unended;        /* omit unended work: its record will not come */
	uint64_t recorded_from_ns; /* work that ended before is only counted (time_range.h) */
	uint64_t recorded_to_ns;   /* work that began then or later is only counted; 0: there is no
				      end */
	bool begins_whole;         /* work under way at recorded_from_ns is only counted, too */
};

/* Returns the number of records. */
uint32_t activity_send_buffer(const struct activity_output *output, uint8_t *buffer,
			      size_t valid_size);

/* Sends an allocation or release without a CUPTI record; `timestamp` is CUPTI's. */
void activity_send_memory(const struct activity_output *output, const struct gpu_event_work *event,
			  uint64_t timestamp);

/*
 * Sends the sums of all records since the last call, and sets them to 0. After an overflow it also
 * sends a rest of each kind. Uses names, tally and sink of the output.
 */
void activity_send_sums(const struct activity_output *output);

#endif
