/* SPDX-License-Identifier: MIT */
/*
 * Divides the time of each GPU, without overlap: what it did, and why it was idle.
 *
 * A GPU computes if any kernel other than NCCL's runs. Otherwise a collective that runs is exposed,
 * otherwise a copy, and otherwise a collective that waits for another rank.
 *
 * A gap [a, b) in which nothing runs is charged to the operation that begins at b. Its thread
 * launched it at l. The shortest usual time from a launch to its start is the launch latency. Work
 * that takes longer to start was held up by something else than its launch.
 *
 *   [a, l + latency)  the launch came late. The thread launched or waited before, until p:
 *                     - synchronizing: in a wait for the GPU, or soon after one;
 *                     - launching: soon after p, so the thread does little but launch;
 *                     - else host code ran or blocked from p to l.
 *   [l + latency, b)  queued: launched, and held up by other work, or by the GPU itself
 *
 * "Soon" is within 8 usual times between launches of the thread, but at least DEVICE_TIME_SOON_MIN
 * and at most DEVICE_TIME_SOON_MAX. After a wait it is DEVICE_TIME_SOON_MAX. A wait is known by its
 * record (--waits), or by a mark at the operation that its thread waited for. A mark does not tell
 * when the wait ended. So up to 1 ms after it is host code only if CPU samples or --idle show that,
 * and else unknown: threads of some machines wake up as late.
 *
 * Host code is named by CPU samples of the launching thread in such gaps. A sample stands for at
 * most a probable time, as in idle_gaps.h. Time without samples is off the CPU, or too short for
 * samples: it is charged to the launch that ended the gap. With --idle, rows of idle GPUs tell what
 * the thread did. Code of a known library that loads data is a loader. So is a function of the
 * user's own with such a name (loader_names.h).
 *
 * All uses of a device add up to the time range, to the nanosecond.
 */
#ifndef PROFILER_FINDINGS_DEVICE_TIME_H
#define PROFILER_FINDINGS_DEVICE_TIME_H

#include <stdbool.h>
#include <stdint.h>
#include "profiler/findings/schedule.h"

#define DEVICE_TIME_SOON_MIN 30000u  /* ns */
#define DEVICE_TIME_SOON_MAX 200000u /* ns */

enum device_use {
	USE_COMPUTING,
	USE_COLLECTIVES, /* exposed */
	USE_COPIES,      /* exposed; also sets */
	USE_RANK,        /* in a collective, waiting for another rank */
	USE_LOADER,      /* host code that loads data */
	USE_HOST,        /* other host code between launches */
	USE_LAUNCHING,
	USE_SYNCHRONIZING,
	USE_QUEUED,
	USE_START_UP, /* before the first operation of the device */
	USE_ENDING,   /* after the last one */
	USE_UNKNOWN,  /* the launch of the next operation is not known */
	DEVICE_USES
};

/* Return the word of a use in data, "start_up", and its text for people. */
const char *device_use_word(enum device_use use);
const char *device_use_text(enum device_use use);

/* Returns true for time in which the GPU could have computed, between its first and last work. */
bool device_use_is_loss(enum device_use use);

struct device_time {
	const struct device *device;
	uint64_t ns[DEVICE_USES]; /* add up to the time range */
};

/* Idle time of one use, by a stack of the result. */
struct idle_site {
	uint32_t use;   /* enum device_use */
	uint32_t stack; /* stack of samples, rows or waits in the gaps, or of the launch that ended
			   them */
	uint32_t is_sampled;
	uint32_t unused;
	uint64_t count; /* gaps, also those whose time is sampled; if is_sampled, samples */
	uint64_t ns;
	uint64_t longest_ns, longest_from_ns; /* the longest gap; 0 for sampled time */
};

/* Computing time by kernel and launch: moments in which several ran are of the first one. */
struct computing_site {
	uint32_t frame, stack; /* the kernel, and the stack of its launch, in the result */
	uint64_t ns;
};

/* Gaps around waits for work that copied nothing to the host. */
struct device_syncs {
	uint64_t gaps, ns;
};

struct device_times {
	struct device_time *devices;
	uint32_t device_count;
	uint64_t from_ns, to_ns;
	struct device_syncs syncs;
	RECORD_SET(struct computing_site) computing; /* kernels whose launches are known */
	RECORD_SET(struct idle_site) sites;          /* the longest time first */
};

/*
 * Divides time ranges of a run, at most DEVICE_TIME_RANGES. The caller sets `from_ns` and `to_ns`
 * of each. `is_own`, by frame of the result, tells the user's own code. Returns 0 or -ENOMEM. The
 * caller calls device_times_release() in any case.
 */
#define DEVICE_TIME_RANGES 2u
int device_times_divide(struct device_times *const times[], uint32_t count,
			const struct operation_schedule *schedule, const struct result *result,
			const bool *is_own);
void device_times_release(struct device_times *times);

/* Adds up a use over all devices; and all uses. */
uint64_t device_times_sum(const struct device_times *times, enum device_use use);
uint64_t device_times_whole(const struct device_times *times);

#endif
