/* SPDX-License-Identifier: MIT */
/*
 * Charges idle times of GPUs to what the launching threads did (--idle). No I/O, no clock, no
 * names.
 *
 * A device is idle when none of its operations runs. The operation that begins at b ends the gap
 * [a, b). The moment of its launch, l, divides the gap:
 * - [a, l): its thread had not launched it yet, so the device waited for what the thread did. Known
 *   intervals off the CPU are charged to their stacks. The rest is shared by the stacks of the
 *   thread's CPU samples, see below.
 * - [l, b): it was launched and had not begun. If l is before a, that is the whole gap. The device
 *   had work, but waited for another stream, an event, or its own latency.
 *
 * After the last operation of a device, the thread of that operation is charged.
 *
 * Most gaps are shorter than a sample period. So the rests of similar gaps are pooled. Similar gaps
 * are of one device and end with one launch stack of a thread. Their rests have similar lengths, to
 * a power of two. The samples in these gaps share the rests equally: samples are taken at random,
 * so they show what the thread computed. A sample represents at most a probable time: n samples (n
 * + 3 sqrt(n)) periods. Time beyond that, and pools without samples, are charged to the launch
 * alone.
 *
 * All charges to a device add up to its idle time, to the nanosecond.
 *
 * Long runs are divided into segments of time, so that memory is bounded. The last segment comes
 * first. A gap across an end has parts in both segments. Times are in ns, of one clock.
 */
#ifndef PROFILER_ADDONS_IDLE_GAPS_H
#define PROFILER_ADDONS_IDLE_GAPS_H

#include <stdbool.h>
#include <stdint.h>
#include "profiler/model/id_remap.h"

#define IDLE_NEVER UINT64_MAX

/* Threads and devices are numbered from 0. */
struct idle_operation {
	uint64_t start_ns, end_ns;
	uint64_t launched_ns; /* 0: unknown */
	uint32_t device, thread;
	struct stack_id launch; /* passed through */
};

/* A time of a thread off the CPU, or a sample, which has no end. */
struct idle_activity {
	uint64_t start_ns, end_ns;
	uint32_t thread;
	struct stack_id stack;
};

struct idle_thread {
	uint64_t from_ns, to_ns; /* known lifetime; IDLE_NEVER: until the end */
};

/* State of a device, initially over the whole time. */
struct idle_device {
	uint64_t first_ns, last_ns; /* start of the first operation, end of the last one */
	/* the operation that ends the next gap; initially the last one */
	uint32_t thread;
	struct stack_id launch;
	uint64_t launched_ns; /* IDLE_NEVER: no operation follows */
	bool is_used;
};

enum idle_part { IDLE_BEFORE, IDLE_BETWEEN, IDLE_AFTER };

enum idle_reason {
	IDLE_OFF_CPU,   /* `stack`: of the thread off the CPU */
	IDLE_COMPUTING, /* `stack`: of the thread's CPU samples */
	IDLE_UNSAMPLED, /* `stack`: of the launch that the time led to */
	IDLE_LAUNCHED,  /* `stack`: of the launch, not begun yet */
	IDLE_NO_LAUNCH, /* `stack`: of the launch, at an unknown time */
	IDLE_NO_THREAD, /* `stack`: of the launch, whose thread did not exist */
	IDLE_REASONS
};

struct idle_charge {
	enum idle_part part;
	enum idle_reason reason;
	uint32_t device, thread;
	struct stack_id stack;
	uint64_t ns; /* not 0 */
};

typedef void (*idle_output)(void *context, const struct idle_charge *charge);

/*
 * A segment of time. Arrays are sorted in place, and clipped. Operations and activities may extend
 * beyond its ends.
 */
struct idle_segment {
	uint64_t from_ns, to_ns;
	struct idle_operation *operations;
	uint32_t operation_count;
	struct idle_activity *off_cpu;
	uint32_t off_cpu_count;
	struct idle_activity *samples;
	uint32_t sample_count;
	uint64_t sample_ns; /* sample period */
	const struct idle_thread *threads;
	uint32_t thread_count;
	struct idle_device *devices; /* state is passed on to the previous segment */
	uint32_t device_count;
};

/* Returns 0, or -ENOMEM with unpooled rests charged as unsampled. */
int idle_gaps_charge(struct idle_segment *segment, idle_output output, void *context);

#endif
