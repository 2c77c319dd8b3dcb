/* SPDX-License-Identifier: MIT */
/*
 * Divides the time of each GPU, without overlap: what it did, and why it was idle.
 *
 * A GPU computes if any kernel other than NCCL's runs. Otherwise a collective that runs is exposed,
 * and otherwise a copy. Idle time is charged to the operation that ended it, as in idle_gaps.h: it
 * began when all work had ended, at `a`, was launched at `l`, and began at `b`.
 *
 *   until the first operation      start-up
 *   [a, l) in a wait for the GPU   synchronizing, also the launch that follows a wait at once
 *   [a, l) between launches        launching, if the thread launched all the time; else host code
 *   [l, b)                         queued: launched, and waiting for other work or the GPU itself
 *   after the last operation       ending
 *
 * All uses of a device add up to the time range, to the nanosecond.
 */
#ifndef PROFILER_FINDINGS_DEVICE_TIME_H
#define PROFILER_FINDINGS_DEVICE_TIME_H

#include <stdint.h>
#include "profiler/findings/schedule.h"

enum device_use {
	USE_COMPUTING,
	USE_COLLECTIVES, /* exposed */
	USE_COPIES,      /* exposed; also sets */
	USE_START_UP,    /* before the first operation */
	USE_LOADER,      /* host code that loads data */
	USE_HOST,        /* other host code between launches */
	USE_LAUNCHING,   /* launches cannot keep up */
	USE_SYNCHRONIZING,
	USE_QUEUED,
	USE_ENDING,  /* after the last operation */
	USE_UNKNOWN, /* the launch, or what its thread did, is not known */
	DEVICE_USES
};

/* Returns the word of a use in data: "start_up"; and for people: "start-up". */
const char *device_use_word(enum device_use use);
const char *device_use_text(enum device_use use);
/* Returns whether the use is a loss of GPU time: all but computing, start-up and ending. */
bool device_use_is_loss(enum device_use use);

struct device_time {
	const struct device *device;
	uint64_t ns[DEVICE_USES];
};

/* Idle time that led to one launch. */
struct idle_site {
	enum device_use use;
	uint32_t stack; /* of the launch, or of the samples taken there; in the result */
	uint64_t count, ns, longest_ns, longest_from_ns;
};

struct device_times {
	struct device_time *devices; /* by label */
	uint32_t device_count;
	uint64_t from_ns, to_ns;
	RECORD_SET(struct idle_site) sites; /* the longest time first */
};

/*
 * Divides the time from `from_ns` to `to_ns`. Returns 0 or -ENOMEM. The caller calls
 * device_times_release().
 */
int device_times_divide(struct device_times *times, const struct operation_schedule *schedule,
			const struct result *result, uint64_t from_ns, uint64_t to_ns);
void device_times_release(struct device_times *times);

#endif
