/* SPDX-License-Identifier: MIT */
/*
 * What a trace says of a GPU operation beyond its record: how much of the GPU a kernel can use
 * (occupancy.h), what hardware counters were read of its launch (counters.h), how fast a copy
 * was.
 *
 * A kernel has the counters of the launch with its process and correlation id. Each value is given
 * out once, so ask once for each record, in order of time.
 *
 * In memory are 12 bytes for each value, and some fixed KiB.
 */
#ifndef PROFILER_FORMATS_TRACE_ARGUMENTS_H
#define PROFILER_FORMATS_TRACE_ARGUMENTS_H

#include "profiler/model/result.h"

struct trace_operation {
	const struct timeline_shape *shape; /* NULL: no kernel, or not kept */
	/* theoretical occupancy; all 0 where nothing is known of the device */
	double occupancy_percent, waves; /* waves have 4 digits */
	unsigned int limits;             /* enum occupancy_limit */
	const uint32_t *values;          /* positions in the result's counters->values */
	uint32_t value_count;
	double bytes_per_ns; /* of a copy, set or migration, with 4 digits; 0: none */
};

struct trace_arguments;

/* NULL with errno. The result must outlive it. */
struct trace_arguments *trace_arguments_new(const struct result *result);
void trace_arguments_free(struct trace_arguments *arguments);

/*
 * Returns the arguments of a record of the result's timeline, whose place is one of the result's.
 */
struct trace_operation trace_arguments_of(struct trace_arguments *arguments,
					  const struct timeline_record *record);

/* "dram__bytes.sum (byte)"; long names are cut. */
#define TRACE_METRIC_BYTES 256
const char *trace_metric_name(const struct counter_metric *metric, char text[TRACE_METRIC_BYTES]);

#endif
