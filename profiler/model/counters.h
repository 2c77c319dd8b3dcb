/* SPDX-License-Identifier: MIT */
/*
 * Keeps hardware counters of kernels (--counters) by metric and by the stack of the measured
 * launch. Values are in CUPTI's units; NaN and infinity are left out.
 *
 * Timelines also need the values of each launch, identified by process and correlation id. All
 * values of a launch are adjacent; a launch has all of its values or none.
 *
 * Bounded by COUNTERS_METRICS_MAX metrics, COUNTERS_ROWS_MAX rows and COUNTERS_VALUES_MAX launch
 * values. Excess values are counted, here and by the caller.
 */
#ifndef PROFILER_MODEL_COUNTERS_H
#define PROFILER_MODEL_COUNTERS_H

#include <stdbool.h>
#include <stdint.h>
#include "profiler/base/quota.h"
#include "symbolize/util/record_set.h"

#define COUNTERS_METRICS_MAX 256u /* over all programs */
#define COUNTERS_ROWS_MAX (1u << 18)
#define COUNTERS_VALUES_MAX (1u << 20) /* 24 MB */

struct counter_metric {
	const char *name, *unit; /* borrowed; the unit may be "" */
};

/* Values of one metric below a stack. */
struct counter_row {

	uint32_t stack, metric;
	uint64_t count; /* launches */
	double sum, least, most;
};

/* One value of one launch. */
struct counter_value {
	uint32_t process, correlation, metric;
	double value; /* finite */
};

/* Zero-initialise: an empty table. */
struct counter_table {
	struct counter_metric metrics[COUNTERS_METRICS_MAX];
	RECORD_SET(struct counter_row) rows;
	uint32_t metric_count;
	struct counter_value *values; /* values of launches */
	uint32_t value_count, value_capacity;
	struct quota *memory; /* quota for rows; NULL: no limit */
	uint64_t not_kept;    /* number of values lost */
};

void counters_release(struct counter_table *counters);

#define COUNTERS_NONE UINT32_MAX

/* Returns the number of a metric, adding it if new, or COUNTERS_NONE if there are too many. */
uint32_t counters_metric(struct counter_table *counters, const char *name, const char *unit);

/* Add the values of several launches, or of one. A row with count 0 is ignored. */
void counters_add_row(struct counter_table *counters, const struct counter_row *row);
void counters_add(struct counter_table *counters, uint32_t stack, uint32_t metric, double value);

/* Reserves space for `values` values of a launch. Returns false if there is none. */
bool counters_make_room(struct counter_table *counters, uint32_t values);

/* Adds a value of a launch, unless it is NaN or infinite. Space must be reserved. */
void counters_add_value(struct counter_table *counters, const struct counter_value *value);

/*
 * Returns whether values of several launches may be summed ("dram__bytes.sum"). Rates and shares
 * may not.
 */
bool counters_is_additive(const char *metric);

/*
 * Return whether `metric` is in a list as --counters takes it, or was measured. `sums` gets the
 * additive metrics of the list or table as "a.sum, b.sum", or "none". Names that do not fit are
 * left out.
 */
#define COUNTERS_SUMS_BYTES 512
bool counters_are_asked(const char *list, const char *metric, char sums[COUNTERS_SUMS_BYTES]);
bool counters_were_read(const struct counter_table *counters, const char *metric,
			char sums[COUNTERS_SUMS_BYTES]);

#endif
