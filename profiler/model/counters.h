/* SPDX-License-Identifier: MIT */
/*
 * Hardware counters of kernels (--metrics): what was read of each metric, by the stacks of the
 * measured launches. Values are CUPTI's, in its units; those that are no number are left out.
 *
 * For timelines also the values of each launch, which is known by its process and correlation id:
 * those of one launch are side by side, all or none of them.
 *
 * Bounded by COUNTERS_METRICS_MAX metrics, COUNTERS_ROWS_MAX rows and COUNTERS_VALUES_MAX values of
 * launches; values beyond are counted, here and by the caller.
 */
#ifndef PROFILER_MODEL_COUNTERS_H
#define PROFILER_MODEL_COUNTERS_H

#include <stdbool.h>
#include <stdint.h>
#include "profiler/base/quota.h"
#include "symbolize/util/record_set.h"

#define COUNTERS_METRICS_MAX 256u /* of all programs */
#define COUNTERS_ROWS_MAX (1u << 18)
#define COUNTERS_VALUES_MAX (1u << 20) /* 24 MB */

struct counter_metric {
	const char *name, *unit; /* borrowed; the unit may be "" */
};

/* What was read below a stack. */
struct counter_row {
	uint32_t stack, metric;
	uint64_t count; /* of launches */
	double sum, least, most;
};

/* What was read of one launch. */
struct counter_value {
	uint32_t process, correlation, metric;
	double value; /* finite */
};

/* Zero-initialised is empty. */
struct counter_table {
	struct counter_metric metrics[COUNTERS_METRICS_MAX];
	RECORD_SET(struct counter_row) rows;
	uint32_t metric_count;
	struct counter_value *values; /* of launches */
	uint32_t value_count, value_capacity;
	struct quota *memory; /* what rows are taken from; NULL: no limit */
	uint64_t not_kept;    /* values */
};

void counters_release(struct counter_table *counters);

#define COUNTERS_NONE UINT32_MAX

/* The number of a metric, added if it is new; COUNTERS_NONE: there are too many. */
uint32_t counters_metric(struct counter_table *counters, const char *name, const char *unit);

/* Adds what was read of several launches; nothing, if they are none. */
void counters_add_row(struct counter_table *counters, const struct counter_row *row);
void counters_add(struct counter_table *counters, uint32_t stack, uint32_t metric, double value);

/* Room for so many more values of a launch; false: there is none. */
bool counters_make_room(struct counter_table *counters, uint32_t values);

/* Adds a value of a launch, for which there is room, if it is a number. */
void counters_add_value(struct counter_table *counters, const struct counter_value *value);

/*
 * Returns whether values of several launches may be added up: "dram__bytes.sum", not a rate or
 * share.
 */
bool counters_is_additive(const char *metric);

/*
 * Whether the metric is among those that are asked for by a list as --metrics takes it, or that
 * were read. `sums` names what is there that may be added up: "a.sum, b.sum", or "none"; names that
 * find no room are left out.
 */
#define COUNTERS_SUMS_BYTES 512
bool counters_are_asked(const char *list, const char *metric, char sums[COUNTERS_SUMS_BYTES]);
bool counters_were_read(const struct counter_table *counters, const char *metric,
			char sums[COUNTERS_SUMS_BYTES]);

#endif
