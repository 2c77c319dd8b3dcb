/* SPDX-License-Identifier: MIT */
/*
 * Reads a run that is over: a capture, a trace, whose names are looked up now, or folded stacks.
 */
#ifndef PROFILER_COMMANDS_INPUT_H
#define PROFILER_COMMANDS_INPUT_H

#include "profiler/base/quota.h"
#include "profiler/base/log.h"
#include "profiler/commands/options.h"
#include "profiler/formats/capture.h"
#include "profiler/formats/folded_read.h"
#include "profiler/run/trace_reader.h"

#define INPUT_MEMORY_MAX ((size_t)2 << 30) /* of all that is read, and what is made of it */

/* A capture or a trace. Zero-initialise. */
struct recorded {
	const struct result *result;
	struct profile_capture *capture; /* NULL: it is a trace, with all below */
	struct trace_reader *trace;
	struct timeline *timeline;
	struct result *named;
};

void recorded_release(struct recorded *recorded);

/* A file that was looked at, so that it is known what it is read with. Zero-initialise. */
struct source {
	const char *path;
	bool is_trace; /* else a capture, or neither */
	struct trace_head head;
	FILE *in; /* where it cannot be read twice, behind the head of a trace; NULL: opened anew */
};

/* Opens and looks at it. False after logging the reason. */
bool source_look(struct log *log, struct source *source, const char *path,
		 const struct options *options);
void source_release(struct source *source);

/* Returns whether both may be traces of one program's processes: of one rank, or of none. */
bool source_is_of_same(const struct source *a, const struct source *b);

/* Returns whether the clocks of two traces differ for certain. */
bool source_has_other_clock(const struct source *a, const struct source *b);

/*
 * Reads sources as one: a capture, or traces. `folder`, `needs_timeline` and `memory` as in
 * capture.h. Returns how many sources are at fault, after logging the reason for each; then there
 * is no result. It borrows from the options.
 */
uint32_t recorded_read_sources(struct log *log, struct recorded *recorded,
			       struct source *const *sources, uint32_t count,
			       const struct options *options, const char *folder,
			       bool needs_timeline, struct quota *memory);

/* Logs what the summary says of one run's trace alone. */
void recorded_report(struct log *log, const struct recorded *recorded);

/* Zero-initialise. */
struct input {
	const char *path;
	const struct result *result; /* as the options view it */
	bool is_folded;
	struct recorded recorded;
	struct folded_stacks *folded;
	struct view *view;
};

/*
 * Reads the file; `folder` is for its timeline (timeline.h); NULL: without it. False after logging
 * the reason. The input borrows from the options and takes from `memory`.
 */
bool input_read(struct log *log, struct input *input, const char *path,
		const struct options *options, const char *folder, struct quota *memory);
void input_release(struct input *input);

/* Logs why a capture cannot be read. */
void input_explain(struct log *log, const char *path, enum capture_error error);

#endif
