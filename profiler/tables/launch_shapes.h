/* SPDX-License-Identifier: MIT */
/*
 * Sums up the launch shapes of a result's kernels, from its timeline (--launch-shapes).
 *
 * There is one entry for each stack, shape and device, with the share of the GPU that it can use;
 * the longest time first. Bounded: `rest` has kernels beyond LAUNCH_SHAPES_MAX entries, without
 * memory for an entry, or without a shape in the timeline. Kernels that the timeline lost are not
 * counted.
 */
#ifndef PROFILER_TABLES_LAUNCH_SHAPES_H
#define PROFILER_TABLES_LAUNCH_SHAPES_H

#include "profiler/model/result.h"
#include "profiler/tables/report_table.h"
#include "profiler/tables/occupancy.h"
#include "symbolize/util/record_set.h"

#define LAUNCH_SHAPES_MAX (1u << 16)

struct launch_shape {
	uint32_t stack;              /* stack of the result, which ends in the kernel */
	uint32_t number;             /* number of the shape in the timeline */
	const struct device *device; /* NULL: unknown */
	uint64_t count, ns;
	uint64_t waited; /* launches for which the thread waited before its next launch */
	struct timeline_shape shape;
	struct occupancy occupancy;
};

struct launch_shapes {
	RECORD_SET(struct launch_shape);
	uint64_t whole_ns; /* time of all entries and the rest, ns */
	uint64_t rest_count, rest_ns;
};

/* Reads the timeline of a result, which must outlive the shapes. Returns NULL with errno set. */
struct launch_shapes *launch_shapes_new(const struct result *result);
void launch_shapes_free(struct launch_shapes *shapes);

/* Makes the table of launch shapes, with advice. Returns NULL with errno set. */
struct report_table *launch_shapes_report_table(const struct result *result);

/* Writes a grid or a block without trailing 1s: "4x8". */
#define LAUNCH_DIMENSIONS_BYTES 40
void launch_dimensions_text(char text[LAUNCH_DIMENSIONS_BYTES], const uint32_t v[3]);

/*
 * Writes the functions that led to a launch, the innermost first, as far as there is room: "step <
 * train.py:main < ...". Omits functions of CUDA.
 */
void launch_path(const struct result *result, uint32_t stack, char *text, size_t size);

#endif
