/* SPDX-License-Identifier: MIT */
/*
 * Reads recorded runs: captures, traces and folded stacks. Names in traces are looked up now.
 */
#ifndef PROFILER_COMMANDS_INPUT_H
#define PROFILER_COMMANDS_INPUT_H

#include "profiler/base/quota.h"
#include "profiler/base/log.h"
#include "profiler/commands/chosen_steps.h"
#include "profiler/commands/options.h"
#include "profiler/formats/capture.h"
#include "profiler/formats/folded_read.h"
#include "profiler/run/trace_reader.h"

#define INPUT_MEMORY_MAX ((size_t)2 << 30) /* bytes, for all that is read and derived */

/* A capture or a trace. Zero-initialise. */
struct recorded {
	const struct result *result;
	struct profile_capture *capture; /* NULL for a trace, which has the members below */
	struct trace_reader *trace;
	struct timeline *timeline;
	struct result *named;
};

void recorded_release(struct recorded *recorded);

/* A file whose kind is known. Zero-initialise. */
struct source {
	const char *path;
	bool is_trace; /* false: a capture, or neither */
	struct trace_head head;
	FILE *in; /* file that cannot be read twice, behind the head of a trace; NULL: reopened */
};

/* Opens a file and finds its kind. Returns false after logging the reason. */
bool source_open(struct log *log, struct source *source, const char *path,
		 const struct options *options);
void source_release(struct source *source);

/* Returns whether both are traces of one run: with one rank, or both without a rank. */
bool source_is_of_same(const struct source *a, const struct source *b);

/* Returns whether two traces certainly have different clocks. */
bool source_has_other_clock(const struct source *a, const struct source *b);

/*
 * Reads sources as one run: a capture, or traces. `folder`, `needs_timeline` and `memory` are as
 * in capture.h. Returns the number of faulty sources, after logging each reason; then there is no
 * result. Borrows from the options.
 */
uint32_t recorded_read_sources(struct log *log, struct recorded *recorded,
			       struct source *const *sources, uint32_t count,
			       const struct options *options, const char *folder,
			       bool needs_timeline, struct quota *memory);

/* Logs the reasons for cut stacks of a trace (-v). */
void recorded_report(struct log *log, const struct recorded *recorded);

/* Zero-initialise. */
struct input {
	const char *path;
	const struct result *result; /* as viewed by the options */
	bool is_folded;
	struct recorded recorded;
	struct folded_stacks *folded;
	struct chosen_steps steps; /* steps of the view, which refers to them: do not move it */
	struct view *view;
};

/*
 * Reads the file. `folder` is for its timeline (timeline.h); NULL: no timeline. Returns false
 * after logging the reason. The input borrows from the options and takes from `memory`.
 */
bool input_read(struct log *log, struct input *input, const char *path,
		const struct options *options, const char *folder, struct quota *memory);
void input_release(struct input *input);

/* Logs the reason for a failure to read a capture. */
void input_explain(struct log *log, const char *path, enum capture_error error);

#endif
