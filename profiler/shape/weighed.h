/* SPDX-License-Identifier: MIT */
/*
 * The stacks of a run with another weight in place of their times (--weight): bytes of memory that
 * they allocated (--alloc), or a hardware counter of the kernels that they launched (--metrics).
 *
 * Counters are read of some launches. A kernel's launches from a stack are taken to have the mean
 * of those that were read from this stack; where none was, the mean of all that were read of the
 * kernel. So the values of stacks of which each launch was read are exact. Only counters that add
 * up over launches can be drawn (counters_is_additive). They are rounded to whole units, with the
 * sum kept.
 */
#ifndef PROFILER_SHAPE_WEIGHED_H
#define PROFILER_SHAPE_WEIGHED_H

#include "profiler/model/result.h"

enum stack_weight { WEIGHT_TIME, WEIGHT_PEAK, WEIGHT_LEFT, WEIGHT_METRIC };

/* What a counter's values stand for, and what GPU work has none. */
struct weighed_launches {
	uint64_t read, weighed; /* launches with a value of their own, and with any */
	uint64_t without;       /* of kernels of which none was read */
	uint64_t without_ns, other_ns, gpu_ns; /* theirs; of work that is no kernel; of all work */
	uint64_t cut; /* stacks whose value is shown smaller, because no program counts so much */
};

#define WEIGHED_NOTE_BYTES 96
#define WEIGHED_UNIT_BYTES 14 /* of CUPTI's texts; an odd or longer one is left out */

/* Zero-initialise. */
struct weighed {
	struct weight weight;
	struct weighed_launches launches; /* of a metric */
	struct place *places;
	struct row *rows;
	char note[WEIGHED_NOTE_BYTES], unit[WEIGHED_UNIT_BYTES];
};

void weighed_release(struct weighed *weighed);

/*
 * Give the result other rows, which are kept in `weighed`, as is its weight, and no timeline.
 * 0 or -ENOMEM.
 *
 * Memory, of WEIGHT_PEAK or WEIGHT_LEFT: of all kinds, each by the name of its innermost frame. The
 * place of a row is that of its memory: a process and a device. These places, one for each of the
 * memory's totals, follow those of the result.
 */
int weighed_by_memory(struct weighed *weighed, struct result *result, enum stack_weight weight);

/*
 * Borrows the name. Values that add up to 2^63 or more, as a program may claim, are cut: 0 or
 * -ENOMEM.
 */
int weighed_by_metric(struct weighed *weighed, struct result *result, const char *metric);

#endif
