/* SPDX-License-Identifier: MIT */
/*
 * Lays out a flame graph: chooses the frames of a call tree, and their positions.
 *
 * Frames that are too small to see at any reasonable zoom, or too deep, are left out and counted.
 * Their time, operations and bytes go to the box of the nearest caller that has a box. So the
 * sums over the boxes are those of the tree.
 */
#ifndef PROFILER_FORMATS_FLAME_LAYOUT_H
#define PROFILER_FORMATS_FLAME_LAYOUT_H

#include <stdint.h>
#include "profiler/shape/call_tree.h"

#define FLAME_NO_BOX UINT32_MAX

/* Limits beyond which frames are left out. */
struct flame_limits {
	double least_share; /* least share of all time */
	uint32_t boxes;     /* most boxes; the least time grows until they fit */
	uint32_t depth;     /* largest depth; the root has 0 */
};

/* Amounts by kind of row. */
struct flame_amount {
	double ns[ROW_KINDS];
	uint64_t count[ROW_KINDS];
	uint64_t bytes;
};

struct flame_box {
	uint32_t node;   /* in the tree */
	uint32_t parent; /* an earlier box; FLAME_NO_BOX for the root */
	uint32_t depth;
	uint32_t left_out; /* frames whose time is in `rest` */
	double start_ns, total_ns;
	struct flame_amount rest; /* amounts of frames left out inside this one */
	struct flame_amount all;  /* amounts of the frame and everything inside it */
};

struct flame_layout {
	/*
	 * each before its callees: layers in the order in which they ran, then others, the largest
	 * first
	 */
	struct flame_box *boxes;
	uint32_t count;        /* at least the root */
	uint32_t narrow, deep; /* frames left out that have some time */
	double least_ns;       /* shorter frames are left out */
};

/* Returns 0, or -ENOMEM with nothing to release. */
int flame_layout_make(struct flame_layout *layout, const struct call_tree *tree,
		      const struct flame_limits *limits);
void flame_layout_release(struct flame_layout *layout);

#endif
