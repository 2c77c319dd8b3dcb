/* SPDX-License-Identifier: MIT */
/*
 * Shows a result as an output wants it: a part of the run, grouped, folded, trimmed or renamed.
 *
 * A view is a result, so writers need not know about views. Results read from a file can be viewed
 * like those of a run.
 *
 * The rows have all of the result's time, unless the view is of a part of the run. In a time range
 * (--time) each timeline record counts for its part inside the range. A count belongs to the range
 * in which the record begins. So adjoining ranges add up to the whole, except for what has no
 * record: GPU operations without usable times, and lost records. Waits are shown by the waiting
 * call.
 *
 * In a part of steps (--step) a GPU operation counts as a whole if it was launched in these steps,
 * wherever it ran. So does a launch. An operation whose launch is unknown counts if it began in
 * these steps. All others count by their time, as in a time range. So steps that adjoin add up.
 *
 * In a view of a mean step (--per-step) rows are divided by the number of steps. They are rounded
 * so that they add up to their sum by that number. Such a view has no timeline.
 *
 * Folding (--my-code) keeps own frames (code_role.h), CUDA calls, GPU work, kernel code, waits and
 * marks, in their order. A run of other frames is left out if an own frame follows. Else it becomes
 * one frame per package, in order, each once:
 *
 *   train.py  torch's...  Block.forward  torch's...  cuBLAS's...        cudaLaunchKernel  gemm
 *   train.py              Block.forward  [torch]     [libcublas.so.13]  cudaLaunchKernel  gemm
 *
 * A package that returns, as in torch, numpy, torch, closes the packages between. After
 * VIEW_RUN_MAX packages the next package replaces the last. Plumbing is shown only as the innermost
 * frame of a stack, and around kernel code. So the innermost frame always tells whose time it is.
 *
 * A view has only the frames and stacks of its rows and records; a view of a part, only its
 * processes and threads.
 *
 * Trimming (--trim-to) begins a stack at the outermost function, CUDA call or NVTX range whose full
 * name matches. Folding keeps that frame. Stacks without a match stay as they are.
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
	VIEW_NAMES_DEFAULT, /* full in texts, both in pictures */
	VIEW_NAMES_FULL,    /* full in pictures, too */
	VIEW_NAMES_SHORT,   /* short in texts, too */
};

/* Zero-initialised changes nothing. */
struct view_options {
	struct grouping by;
	struct slice slice;
	bool per_step;       /* a mean step is asked for */
	uint32_t step_count; /* rows are divided by it; 0: they are not */
	bool my_code;
	const char *my_paths[VIEW_PATHS_MAX]; /* borrowed; none: those of code_roles_of_result */
	uint32_t my_path_count;
	struct slice_match trim_to; /* never a number */
	enum view_names names;
	struct kernel_classes *kernel_classes; /* owned; NULL: built-in rules alone */
};

/* Frees memory that the options own. */
void view_options_release(struct view_options *options);

/* Return what must be collected for the view: enum writer_needs, and the mask of places.h. */
unsigned int view_needs(const struct view_options *options);
uint32_t view_place_mask(const struct view_options *options);

/* Returns true if the view differs from the result. */
bool view_changes(const struct view_options *options);

struct view;

/*
 * Makes a view, which borrows from the result and the options. `folder` keeps the part of the
 * timeline (timeline.h). Stacks are taken from `memory` (NULL: no limit). Returns NULL with errno:
 * ENOMEM; ENODATA for a time range or steps without a timeline; or the error of reading or writing
 * the timeline.
 */
struct view *view_new(const struct result *result, const struct view_options *options,
		      const char *folder, struct quota *memory);
void view_free(struct view *view);

const struct result *view_result(const struct view *view);

/* Returns the result for formats that show one name: the short one with VIEW_NAMES_SHORT. */
const struct result *view_text_result(const struct view *view);

/* Sets the findings of the view's results, which are borrowed. */
void view_set_findings(struct view *view, const struct findings *findings);

/* Return true if --under, or --not-under, matches a frame of the result. */
bool view_has_under(const struct view *view);
bool view_has_left_out(const struct view *view);

/* Returns true if a stack has a frame that `trim_to` matches. */
bool view_has_root(const struct view *view);

/* Returns true if a function is own, with `my_code`. */
bool view_has_own_code(const struct view *view);

#endif
