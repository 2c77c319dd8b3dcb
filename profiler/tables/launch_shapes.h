/* SPDX-License-Identifier: MIT */
/*
 * The launch shapes of a result's kernels, from its timeline (--launch-shapes): one entry for each
 * distinct stack, shape and device, with how much of the GPU it can use; the longest first.
 *
 * Bounded: beyond LAUNCH_SHAPES_MAX entries, or without memory, kernels are in `rest`, as are those
 * whose shape the timeline did not keep. Kernels that the timeline lost are in neither.
 */
#ifndef PROFILER_TABLES_LAUNCH_SHAPES_H
#define PROFILER_TABLES_LAUNCH_SHAPES_H

#include "profiler/model/result.h"
#include "profiler/tables/report_table.h"
#include "profiler/tables/occupancy.h"
#include "symbolize/util/record_set.h"

#define LAUNCH_SHAPES_MAX (1u << 16)

struct launch_shape {
	uint32_t stack;              /* of the result; it ends in the kernel */
	uint32_t number;             /* in the timeline */
	const struct device *device; /* NULL: nothing is known of it */
	uint64_t count, ns;
	uint64_t waited; /* of the count: the thread waited for the GPU before its next launch */
	struct timeline_shape shape;
	struct occupancy occupancy;
};

struct launch_shapes {
	RECORD_SET(struct launch_shape);
	uint64_t whole_ns; /* with the rest */
	uint64_t rest_count, rest_ns;
};

/* The result must outlive it. NULL with errno: out of memory, or the timeline cannot be read. */
struct launch_shapes *launch_shapes_new(const struct result *result);
void launch_shapes_free(struct launch_shapes *shapes);

/* Makes a table of the same, with what could be better. NULL with errno, likewise. */
struct report_table *launch_shapes_report_table(const struct result *result);

/* "4x8", of a grid or a block; without what is 1 at the end. */
#define LAUNCH_DIMENSIONS_BYTES 40
void launch_dimensions_text(char text[LAUNCH_DIMENSIONS_BYTES], const uint32_t v[3]);

/*
 * The functions that led to a launch, the innermost first, as far as there is room: "step <
 * train.py:main < ...". Without those of CUDA.
 */
void launch_path(const struct result *result, uint32_t stack, char *text, size_t size);

#endif
