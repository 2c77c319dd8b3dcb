/* SPDX-License-Identifier: MIT */
/*
 * Gives the course of each GPU's state (gpu_state.h) in the time that a result shows.
 *
 * A GPU may have been watched by several profilers: ranks of one machine. Of readings whose times
 * overlap the earlier one counts, so that energy and times are not counted twice.
 */
#ifndef PROFILER_TABLES_GPU_COURSES_H
#define PROFILER_TABLES_GPU_COURSES_H

#include "profiler/model/gpu_state.h"
#include "profiler/model/result.h"

#define GPU_COURSES_MAX 1024u /* GPUs; readings of others are left out */

/* Times of the readings, ns. */
struct gpu_course_times {
	uint64_t all, busy, limited, power_capped, hot, slowed;
};

struct gpu_course {
	char label[DEVICE_LABEL_BYTES]; /* the device's, else the UUID */
	const struct gpu_state *rows;   /* at least one; borrowed */
	uint32_t count;
	struct gpu_state sum; /* all rows as one */
	struct gpu_course_times times;
	/* mean clocks weighted by time, MHz; 0: unknown */
	double busy_mhz, limited_mhz;
	double joules;
};

struct gpu_courses {
	struct gpu_course *list; /* by label */
	uint32_t count;
	struct gpu_state *rows;
};

/* Returns 0, or -ENOMEM with no courses. Without readings there are none. */
int gpu_courses_of(const struct result *result, struct gpu_courses *courses);
void gpu_courses_release(struct gpu_courses *courses);

/*
 * Returns the mean SM clock of all GPUs of some results while they had work, MHz. Returns 0 if a
 * result does not tell.
 */
double gpu_courses_busy_mhz(const struct result *const *results, uint32_t count);

/* Return means of a row; 0: unknown. */
static inline double gpu_state_sm_mhz(const struct gpu_state *row)
{
	return (double)row->sm_sum / row->readings;
}

static inline double gpu_state_memory_mhz(const struct gpu_state *row)
{
	return (double)row->memory_clock_sum / row->readings;
}

static inline double gpu_state_watts(const struct gpu_state *row)
{
	return (double)row->power_sum / 1000 / row->readings;
}

/* Returns bytes per second of a row. */
static inline double gpu_state_rate(const struct gpu_state *row, uint64_t bytes)
{
	return row->ns ? (double)bytes * 1e9 / (double)row->ns : 0;
}

/* Makes the report table "gpu_state": a row for each GPU. Returns NULL with errno set. */
struct report_table *gpu_state_report_table(const struct result *result);

#endif
