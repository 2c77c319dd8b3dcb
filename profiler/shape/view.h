/* SPDX-License-Identifier: MIT */
/*
 * A result as an output shows it: a part of the run, with frames of places at the root, with
 * others' code folded, stacks trimmed, or other names. It is a result as well, so writers do not
 * know the difference, and one that has been read from a file can be viewed like that of a run.
 *
 * The time of all rows is that of the result, unless the view is of a part of the run. Within a
 * time (--time) each record of the timeline has what lies between both ends; a count belongs to the
 * part in which the record begins. So parts that adjoin add up to the whole, but for what has no
 * record: GPU operations without usable times, and records that were lost. Waits are shown there by
 * the call that waits, not by what it waits for.
 *
 * Folding (--my-code) keeps own frames (code_role.h), CUDA calls, GPU work, kernel code, waits and
 * marks, all in their order. A run of other frames is left out where an own frame follows it.
 * Elsewhere it becomes a frame for each of its packages, in order and each once:
 *
 *   train.py  torch's...  Block.forward  torch's...  cuBLAS's...        cudaLaunchKernel  gemm
 *   train.py              Block.forward  [torch]     [libcublas.so.13]  cudaLaunchKernel  gemm
 *
 * A package that returns, as in torch, numpy, torch, closes those that came between; after
 * VIEW_RUN_MAX packages the next one takes the place of the last. Plumbing is shown only as the
 * innermost frame of a stack, and around kernel code. So the innermost frame always says whose time
 * it is.
 *
 * Only frames and stacks that a row or a record of the view has are in it, and of a part only the
 * processes and threads that have some.
 *
 * Trimming (--trim-to) lets a stack begin at the outermost function, CUDA call or NVTX range whose
 * full name matches; folding keeps that frame. Stacks without one stay as they are.
 */
#ifndef PROFILER_SHAPE_VIEW_H
#define PROFILER_SHAPE_VIEW_H

#include <stdbool.h>
#include "profiler/base/quota.h"
#include "profiler/shape/grouping.h"
#include "profiler/shape/slice.h"
#include "profiler/model/result.h"

#define VIEW_RUN_MAX 8
#define VIEW_PATHS_MAX 16

enum view_names {
	VIEW_NAMES_DEFAULT, /* full in texts; pictures have both */
	VIEW_NAMES_FULL,    /* also in pictures */
	VIEW_NAMES_SHORT,   /* also in texts */
};

/* Zero-initialised changes nothing. */
struct view_options {
	struct grouping by;
	struct slice slice;
	bool my_code;
	const char *my_paths[VIEW_PATHS_MAX]; /* borrowed; none: the command's working directory */
	uint32_t my_path_count;
	struct slice_match trim_to; /* never a number */
	enum view_names names;
};

/* Frees what the options hold. */
void view_options_release(struct view_options *options);

/*
 * Returns what outputs have to collect for it: enum writer_needs; and parts of places: places.h's
 * mask.
 */
unsigned int view_needs(const struct view_options *options);
uint32_t view_place_mask(const struct view_options *options);

/* Returns whether a view differs from the result. */
bool view_changes(const struct view_options *options);

struct view;

/*
 * The view borrows from the result and the options. `folder` is for the part of the timeline
 * (timeline.h); the stacks are taken from `memory` (NULL: no limit). NULL with errno: out of
 * memory; ENODATA: a time without a timeline; else the timeline cannot be read or written.
 */
struct view *view_new(const struct result *result, const struct view_options *options,
		      const char *folder, struct quota *memory);
void view_free(struct view *view);

const struct result *view_result(const struct view *view);

/* Does the same for formats that show one name: with VIEW_NAMES_SHORT, the short one. */
const struct result *view_text_result(const struct view *view);

/* With `trim_to`: whether any stack has such a function. */
bool view_has_root(const struct view *view);

/* With `my_code`: whether any function is own. */
bool view_has_own_code(const struct view *view);

#endif
