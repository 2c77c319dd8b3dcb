/* SPDX-License-Identifier: MIT */
/*
 * A result as an output shows it: a part of the run, with frames of places at the root. It is a
 * result as well, so writers do not know the difference, and one that has been read from a file can
 * be viewed like that of a run.
 *
 * The time of all rows is that of the result, unless the view is of a part of the run. Within a
 * time (--time) each record of the timeline has what lies between both ends; a count belongs to the
 * part in which the record begins. So parts that adjoin add up to the whole, but for what has no
 * record: GPU operations without usable times, and records that were lost. Waits are shown there by
 * the call that waits, not by what it waits for.
 */
#ifndef PROFILER_OUTPUT_VIEW_H
#define PROFILER_OUTPUT_VIEW_H

#include <stdbool.h>
#include "profiler/base/allowance.h"
#include "profiler/output/grouping.h"
#include "profiler/output/slice.h"
#include "profiler/profile/result.h"

/* Zero-initialised changes nothing. */
struct view_options {
	struct grouping by;
	struct slice slice;
};

/* What outputs have to collect for it: enum writer_needs; and parts of places: places.h's mask. */
unsigned int view_needs(const struct view_options *options);
uint32_t view_place_mask(const struct view_options *options);

/* Whether a view differs from the result. */
bool view_changes(const struct view_options *options);

struct view;

/*
 * The view borrows from the result and the options. `folder` is for the part of the timeline
 * (timeline.h); the stacks are taken from `memory` (NULL: no limit). NULL with errno: out of
 * memory; ENODATA: a time without a timeline; else the timeline cannot be read or written.
 */
struct view *view_new(const struct result *result, const struct view_options *options,
		      const char *folder, struct allowance *memory);
void view_free(struct view *view);

const struct result *view_result(const struct view *view);

#endif
