/* SPDX-License-Identifier: MIT */
/*
 * Reads a run that is over: a capture, or folded stacks; as the options view it.
 */
#ifndef PROFILER_COMMANDS_INPUT_H
#define PROFILER_COMMANDS_INPUT_H

#include "profiler/base/allowance.h"
#include "profiler/base/log.h"
#include "profiler/commands/options.h"
#include "profiler/output/capture.h"
#include "profiler/output/folded_read.h"

#define INPUT_MEMORY_MAX ((size_t)2 << 30) /* of all that is read, and what is made of it */

/* Zero-initialise. */
struct input {
	const char *path;
	const struct result *result; /* as the options view it */
	bool is_folded;
	struct profile_capture *capture;
	struct folded_stacks *folded;
	struct view *view;
};

/*
 * Reads the file; `folder` is for its timeline (timeline.h); NULL: without it. False after logging
 * the reason. The input borrows from the options and takes from `memory`.
 */
bool input_read(struct log *log, struct input *input, const char *path,
		const struct options *options, const char *folder, struct allowance *memory);
void input_release(struct input *input);

/* Logs why a capture cannot be read. */
void input_explain(struct log *log, const char *path, enum capture_error error);

#endif
