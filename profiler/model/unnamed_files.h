/* SPDX-License-Identifier: MIT */
/*
 * Matches functions without a name between runs that are compared.
 *
 * "[app+0x1a2b0]" (place_name.h) is one function in two runs only if both ran one build of the
 * file. If the build ids of a file differ, or one is unknown, all its unnamed functions are merged
 * into "[app]". So they can be compared at all.
 *
 * Note all frames of all runs first, and then look frames up. Zero-initialised is empty.
 */
#ifndef PROFILER_MODEL_UNNAMED_FILES_H
#define PROFILER_MODEL_UNNAMED_FILES_H

#include <stdbool.h>
#include "profiler/model/result.h"
#include "symbolize/util/record_set.h"

struct unnamed_file;

struct unnamed_files {
	RECORD_SET(struct unnamed_file);
};

/* Notes a frame, if it is an unnamed function. Returns false if out of memory. */
bool unnamed_files_note(struct unnamed_files *files, const struct frame_info *frame);

/* Returns the frame itself, or the frame of its file, which lives as long as `files`. */
const struct frame_info *unnamed_files_frame(const struct unnamed_files *files,
					     const struct frame_info *frame);

void unnamed_files_release(struct unnamed_files *files);

#endif
