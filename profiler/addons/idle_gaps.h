/* SPDX-License-Identifier: MIT */
/*
 * What the launching threads did while GPUs were idle (--idle). Pure: no I/O, no clock, no names.
 *
 * A device is idle when none of its operations runs. Each gap between them, [a, b), is ended by the
 * operation that begins at b. Its launch, at l, divides the gap:
 *  - [a, l): the thread that launched it had not yet: what it did is why the device waited. Where
 * it was off the CPU for an interval that is known, that is charged to its stack. The rest is
 * shared by the stacks of its CPU samples, as below.
 *  - [l, b): it was launched and had not begun. All of the gap, where the launch came before it:
 * the device had work, but waited for another stream, an event, or its own latency. After the last
 * operation of a device it is the thread of that one.
 *
 * Most gaps are shorter than the time between two samples. So the rests of similar gaps are shared
 * together: those of one device that the same launch of a thread ended and whose rests are of the
 * same length, to the power of two. The samples in these gaps share them equally: as samples are
 * taken at random, that is what the thread computed there. A sample stands for no more time than is
 * probable: n of them for (n + 3 sqrt(n)) periods. What is left, and the rests of gaps without a
 * sample, are known to belong to that launch alone.
 *
 * The sum of all that is charged to a device is the time in which it was idle, to the nanosecond.
 *
 * Long runs are divided into segments of time, the last one first, so that memory is bounded: a gap
 * across an end has parts in both. Times are in ns, of one clock.
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

/* A thread off the CPU; a sample, which has no end. */
struct idle_activity {
	uint64_t start_ns, end_ns;
	uint32_t thread;
	struct stack_id stack;
};

struct idle_thread {
	uint64_t from_ns, to_ns; /* when it is known to have existed; IDLE_NEVER: until the end */
};

/* What is known of a device before the segments: over the whole time. */
struct idle_device {
	uint64_t first_ns, last_ns; /* its first operation's start, its last one's end */
	/* of the one that ends next, at first: of its last one */
	uint32_t thread;
	struct stack_id launch;
	uint64_t launched_ns; /* IDLE_NEVER: none comes */
	bool is_used;
};

enum idle_part { IDLE_BEFORE, IDLE_BETWEEN, IDLE_AFTER };

enum idle_reason {
	IDLE_OFF_CPU,   /* `stack`: of the thread off the CPU */
	IDLE_COMPUTING, /* `stack`: of its CPU samples */
	IDLE_UNSAMPLED, /* `stack`: of the launch that the time led to */
	IDLE_LAUNCHED,  /* likewise: it was launched, and had not begun */
	IDLE_NO_LAUNCH, /* likewise: it is not known when */
	IDLE_NO_THREAD, /* likewise: its thread did not exist */
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
 * A segment of time. Arrays are sorted in place, and clipped. Operations may lie across its ends;
 * other activity, too.
 */
struct idle_segment {
	uint64_t from_ns, to_ns;
	struct idle_operation *operations;
	uint32_t operation_count;
	struct idle_activity *off_cpu;
	uint32_t off_cpu_count;
	struct idle_activity *samples;
	uint32_t sample_count;
	uint64_t sample_ns; /* the period of samples */
	const struct idle_thread *threads;
	uint32_t thread_count;
	struct idle_device *devices; /* goes on to the segment before */
	uint32_t device_count;
};

/* 0, or -ENOMEM: then rests that could not be kept are charged as unsampled. */
int idle_gaps_charge(struct idle_segment *segment, idle_output output, void *context);

#endif
