/* SPDX-License-Identifier: MIT */
/*
 * Reads from a timeline who launched what, and when it ran, in arrays that are in order of time.
 *
 * Operations find their launches by process and correlation id (launch_finder.h). Operations whose
 * launch is not found have an unknown one. Equal devices of several processes are one device
 * (busy.h). Devices without operations are left out.
 *
 * Launches take 16 bytes each, operations 24. Both are not needed at a time, so each has a function
 * of its own. Both read the whole timeline. A run with more than SCHEDULE_MAX records of a kind has
 * no schedule.
 *
 * Operations end with the time that the result shows. Times are in ns, CLOCK_MONOTONIC.
 */
#ifndef PROFILER_FINDINGS_SCHEDULE_H
#define PROFILER_FINDINGS_SCHEDULE_H

#include <stdbool.h>
#include <stdint.h>
#include "profiler/findings/step_finder.h"
#include "profiler/model/result.h"
#include "symbolize/util/record_set.h"

#define SCHEDULE_MAX (UINT64_C(1) << 24)

/* A thread that launches. */
struct schedule_thread {
	uint32_t process, tid;
};

/* Launches of one kind of work from one stack. */
struct schedule_token {
	uint32_t stack;     /* a number of the launch's stack without ranges of NVTX */
	uint32_t frame;     /* the kernel; SCHEDULE_NO_FRAME: a graph, or unknown */
	uint32_t is_waited; /* the thread waited for it at once */
	uint32_t range;     /* the range that launch_schedule_read was told; 0 without ranges */
	uint32_t allocates; /* the call allocates or frees memory */
};
#define SCHEDULE_NO_FRAME UINT32_MAX

struct launch_schedule {
	struct step_launch *list; /* tokens are numbers of `tokens` */
	uint64_t count, capacity;
	RECORD_SET(struct schedule_thread) threads;
	RECORD_SET(struct schedule_token) tokens;
};

/*
 * Reads the launches. With `by_work`, tokens also tell launches of different kernels apart, and
 * those that their threads waited for. `ranges` has a number for each stack of the result, which
 * tells launches of one kind apart; it may be NULL. Returns 0, -E2BIG, -ENOMEM, or the error of
 * reading the timeline.
 */
int launch_schedule_read(struct launch_schedule *schedule, const struct result *result,
			 const uint32_t *ranges, bool by_work);
void launch_schedule_release(struct launch_schedule *schedule);

/*
 * Uses of a GPU by an operation. Sets and migrations count as copies. In merged runs, the part of
 * a collective that waits for another rank is an operation of its own.
 */
enum work_use { WORK_COMPUTES, WORK_COMMUNICATES, WORK_COPIES, WORK_WAITS, WORK_USES };

/* The launching thread and its stack, in the result, and the kernel. */
struct schedule_site {
	uint32_t thread; /* index of a thread */
	uint32_t stack;
	uint32_t frame; /* SCHEDULE_NO_FRAME: other work */
};
#define SCHEDULE_NO_SITE UINT32_MAX

struct scheduled_operation {
	uint64_t start_ns;
	uint32_t duration_ns; /* operations of more than 4 s are several, without gaps between */
	uint32_t lag_ns;      /* from the launch to the start, at most UINT32_MAX */
	uint32_t site;        /* SCHEDULE_NO_SITE: unknown launch, `lag_ns` is 0 */
	uint16_t call;   /* duration of the launching call, in SCHEDULE_CALL_UNIT, rounded down */
	uint8_t device;  /* index of a device */
	uint8_t use : 4; /* enum work_use */
	uint8_t is_waited : 4; /* its thread waited for it at once */
};
_Static_assert(sizeof(struct scheduled_operation) == 24, "16 million of them fit into 400 MB");
#define SCHEDULE_CALL_UNIT 2048u /* ns */
#define SCHEDULE_DEVICES_MAX 255u

/* Returns when the work was launched; 0: long before it began. */
static inline uint64_t scheduled_launch_ns(const struct scheduled_operation *o)
{
	return o->lag_ns < UINT32_MAX && o->lag_ns < o->start_ns ? o->start_ns - o->lag_ns : 0;
}

/* Returns when the launching call had returned, at most the start of the work. */
static inline uint64_t scheduled_call_end_ns(const struct scheduled_operation *o)
{
	uint64_t ns = scheduled_launch_ns(o) + (uint64_t)o->call * SCHEDULE_CALL_UNIT;

	return o->call < UINT16_MAX && ns < o->start_ns ? ns : o->start_ns;
}

static inline uint64_t scheduled_end_ns(const struct scheduled_operation *o)
{
	return o->start_ns + o->duration_ns;
}

/* A time of a launching thread: a sample, which stands for a period, or a wait for the GPU. */
struct schedule_activity {
	uint64_t start_ns, end_ns;
	uint32_t thread; /* index of a thread */
	uint32_t stack;
};

struct operation_schedule {
	struct scheduled_operation *list;
	uint64_t count, capacity;
	RECORD_SET(struct schedule_thread) threads;
	RECORD_SET(struct schedule_site) sites;
	const struct device **devices;
	uint32_t device_count;
	struct schedule_activity *samples, *waits; /* in order of time */
	uint64_t sample_count, sample_capacity, wait_count, wait_capacity;
	uint64_t without_launch; /* operations */
};

/* Returns as launch_schedule_read does. */
int operation_schedule_read(struct operation_schedule *schedule, const struct result *result);
void operation_schedule_release(struct operation_schedule *schedule);

#endif
