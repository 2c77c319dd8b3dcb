/* SPDX-License-Identifier: MIT */
/*
 * Computes what traces show of a GPU operation beyond its record: a kernel's occupancy
 * (occupancy.h), the hardware counters of its launch (counters.h), and the bandwidth of a copy.
 *
 * A kernel has the counters of the launch with its process and correlation id. Each value is
 * given out once, so ask once for each record, in order of time.
 *
 * Memory is 12 bytes for each value, and a fixed 32 KiB.
 */
#ifndef PROFILER_FORMATS_TRACE_ARGUMENTS_H
#define PROFILER_FORMATS_TRACE_ARGUMENTS_H

#include "profiler/model/result.h"

struct trace_operation {
	const struct timeline_shape *shape; /* NULL: not a kernel, or not kept */
	/* theoretical occupancy; all 0 if the device is unknown */
	double occupancy_percent, waves; /* waves: 4 significant digits */
	unsigned int limits;             /* enum occupancy_limit */
	const uint32_t *values;          /* positions in the result's counters->values */
	uint32_t value_count;
	double bytes_per_ns; /* bandwidth of a copy, set or migration: 4 digits; 0: none */
};

struct trace_arguments;

/* Returns the arguments of a result, which must outlive them, or NULL with errno set. */
struct trace_arguments *trace_arguments_new(const struct result *result);
void trace_arguments_free(struct trace_arguments *arguments);

/* Returns the arguments of a record of the result's timeline. */
struct trace_operation trace_arguments_of(struct trace_arguments *arguments,
					  const struct timeline_record *record);

/* Returns "dram__bytes.sum (byte)". Long names are cut. */
#define TRACE_METRIC_BYTES 256
const char *trace_metric_name(const struct counter_metric *metric, char text[TRACE_METRIC_BYTES]);

#endif
