/* SPDX-License-Identifier: MIT */
/*
 * Functions without a name, in runs that are compared.
 *
 * "[app+0x1a2b0]" (place_name.h) is one function in two runs only if both ran the same file. Where
 * the build ids of a file differ, or one is not known, all its functions without a name are taken
 * for one, "[app]", so that they are compared at all.
 *
 * First all frames of all runs are noted, then frames are asked for. Zero-initialised is empty.
 */
#ifndef PROFILER_MODEL_UNNAMED_FILES_H
#define PROFILER_MODEL_UNNAMED_FILES_H

#include <stdbool.h>
#include <stdint.h>
#include "profiler/model/result.h"
#include "symbolize/util/record_set.h"

struct unnamed_file;

struct unnamed_files {
	RECORD_SET(struct unnamed_file);
};

/* Notes a frame if it is such a function; false when out of memory. */
bool unnamed_files_note(struct unnamed_files *files, const struct frame_info *frame);

/* The frame that stands for it: itself, or that of its file, which lives as long as `files`. */
const struct frame_info *unnamed_files_frame(const struct unnamed_files *files,
					     const struct frame_info *frame);

void unnamed_files_release(struct unnamed_files *files);

#endif
