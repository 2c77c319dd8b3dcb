/* SPDX-License-Identifier: MIT */
/*
 * Gives stacks another weight than time (--weight).
 *
 * Weights are bytes of memory that a stack allocated (--alloc), or a hardware counter of its
 * kernels (--counters).
 *
 * Counters are read for some launches. Each launch of a kernel from a stack gets the mean of the
 * launches read from this stack; without any, the mean of all launches read of the kernel. So the
 * value of a stack is exact if all its launches were read. Only counters that add up over launches
 * can be drawn (counters_is_additive). Values are rounded to whole units, with the sum kept.
 */
#ifndef PROFILER_SHAPE_WEIGHED_H
#define PROFILER_SHAPE_WEIGHED_H

#include "profiler/model/result.h"

enum stack_weight { WEIGHT_TIME, WEIGHT_PEAK, WEIGHT_LEFT, WEIGHT_METRIC };

/* Coverage of a counter's values, and the GPU work without values. */
struct weighed_launches {
	uint64_t read, weighed; /* launches with a value of their own; with any value */
	uint64_t without;       /* launches of kernels that were never read */
	uint64_t without_ns, other_ns, gpu_ns; /* time of these; of no kernel; of all work */
	uint64_t cut; /* stacks with a smaller value than claimed: the sum did not fit */
};

#define WEIGHED_NOTE_BYTES 96
#define WEIGHED_UNIT_BYTES 14 /* longer units, and other than [A-Za-z0-9_], are left out */

/* Zero-initialise. */
struct weighed {
	struct weight weight;
	struct weighed_launches launches; /* WEIGHT_METRIC alone */
	struct place *places;
	struct row *rows;
	char note[WEIGHED_NOTE_BYTES], unit[WEIGHED_UNIT_BYTES];
};

void weighed_release(struct weighed *weighed);

/*
 * Give the result other rows and a weight, which `weighed` owns, and no timeline.
 *
 * weighed_by_memory takes WEIGHT_PEAK or WEIGHT_LEFT, of all kinds of memory. A stack's innermost
 * frame names the kind. The place of a row is that of its memory: a process and a device. These
 * places, one per total of the memory, follow those of the result. Returns 0, or -ENOMEM.
 */
int weighed_by_memory(struct weighed *weighed, struct result *result, enum stack_weight weight);

/*
 * Borrows the metric's name. Cuts values that add up to 2^63 or more, as a program may claim.
 * Returns 0, or -ENOMEM.
 */
int weighed_by_metric(struct weighed *weighed, struct result *result, const char *metric);

#endif
