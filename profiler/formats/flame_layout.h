/* SPDX-License-Identifier: MIT */
/*
 * Which frames of a call tree a flame graph has, and where each is.
 *
 * Frames that are too small to see at any reasonable zoom are left out, and those that are too
 * deep. They are counted; their time, operations and bytes stay in the box of the innermost frame
 * outside them that is there. So the sums over the boxes are those of the tree.
 */
#ifndef PROFILER_FORMATS_FLAME_LAYOUT_H
#define PROFILER_FORMATS_FLAME_LAYOUT_H

#include <stdint.h>
#include "profiler/shape/call_tree.h"

#define FLAME_NO_BOX UINT32_MAX

/* What is left out. */
struct flame_limits {
	double least_share; /* of all time */
	uint32_t boxes;     /* beyond this, more than that */
	uint32_t depth;     /* of the innermost frames; the root has 0 */
};

/* An amount of each kind. */
struct flame_amount {
	double ns[ROW_KINDS];
	uint64_t count[ROW_KINDS];
	uint64_t bytes;
};

struct flame_box {
	uint32_t node;   /* of the tree */
	uint32_t parent; /* a box before this one; FLAME_NO_BOX: this is the root */
	uint32_t depth;
	uint32_t left_out; /* frames whose time is in `rest` */
	double start_ns, total_ns;
	struct flame_amount rest; /* of the frames left out inside this one */
	struct flame_amount all;  /* of the frame and everything inside it */
};

struct flame_layout {
	struct flame_box *boxes; /* a caller, then its callees, the largest first */
	uint32_t count;          /* at least the root */
	uint32_t narrow, deep;   /* frames left out, apart from those without any time */
	double least_ns;         /* narrower is left out */
};

/* 0 or -ENOMEM; then nothing needs to be released. */
int flame_layout_make(struct flame_layout *layout, const struct call_tree *tree,
		      const struct flame_limits *limits);
void flame_layout_release(struct flame_layout *layout);

#endif
