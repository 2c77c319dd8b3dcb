/* SPDX-License-Identifier: MIT */
/*
 * Selects a part of a run: by time, step, process, thread, device, stream, kernel, or the frames
 * of stacks.
 *
 * All criteria must hold. A row or record whose place lacks a part does not match it. So CPU
 * samples belong to no device, and only GPU work and waits for it belong to a kernel.
 *
 * Steps are asked for in options, and found later, in the result: then `ranges` has their times.
 * GPU work belongs to the step that launched it.
 */
#ifndef PROFILER_SHAPE_SLICE_H
#define PROFILER_SHAPE_SLICE_H

#include <regex.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include "profiler/model/result.h"

/*
 * A number or a pattern. A number is a pid, a tid, or CUPTI's id. A pattern is an extended regular
 * expression (POSIX) that matches somewhere in the name. For a device it may match the label ("GPU
 * 0"), the name ("NVIDIA H200") or the UUID.
 */
struct slice_match {
	const char *text; /* borrowed; NULL matches everything */
	bool is_number;
	uint64_t number;
	regex_t pattern; /* unless is_number */
};

/* A time range; the end is excluded. CLOCK_MONOTONIC. */
struct slice_range {
	uint64_t from_ns, to_ns;
};

/* Steps that are asked for, and their times. */
struct slice_steps {
	bool is_steady;   /* only those after warm-up */
	bool has_numbers; /* only those from `first` to `end`, which is excluded */
	uint32_t first, end;
	const char *numbers_text;   /* borrowed */
	struct slice_match name;    /* name of the NVTX range that is a step; never a number */
	const char *shown;          /* option in place of the above ones, borrowed; or NULL */
	struct slice_range *ranges; /* in order of time, without overlap; borrowed */
	uint32_t range_count;
};

/* Zero-initialised is the whole run. */
struct slice {
	bool has_time;
	uint64_t from_ns, to_ns; /* since the command's start; the end is excluded */
	const char *time_text;   /* borrowed */
	struct slice_steps steps;
	unsigned int kinds; /* 1 << enum row_kind; 0: all */
	struct slice_match parts[PLACE_PARTS], kernel;
	/* full names of frames, any in a stack: one has to match, or none may; never numbers */
	struct slice_match under, not_under;
};

/*
 * Parses "A..B", in seconds or with a unit (ns, us, ms, s, m): "1.5..2", "500ms..", "..10s".
 * Returns false for other texts, and for an empty range.
 */
bool slice_parse_time(const char *text, struct slice *slice);

/*
 * Parses numbers of steps, "A..B" with B excluded: "10..20", "100..", "..10", or one: "5". Returns
 * false for other texts, and for no steps.
 */
bool slice_parse_steps(const char *text, struct slice_steps *steps);

/* Parses a duration above 0 and up to a year: "2", "500ms", "1.5m". Returns false for other texts.
 */
bool slice_parse_duration(const char *text, uint64_t *ns);

/* Parses a number, if allowed, or a pattern. Returns false with the reason in `error`. */
#define SLICE_ERROR_BYTES 128
bool slice_parse_match(const char *text, bool may_be_number, struct slice_match *match,
		       char error[SLICE_ERROR_BYTES]);

void slice_release(struct slice *slice);
void slice_release_match(struct slice_match *match);

/* Returns true if the slice is less than the whole run. */
bool slice_is_part(const struct slice *slice);

/* Return true if the slice is of steps; if it is made of the timeline: of a time, or of steps. */
bool slice_has_steps(const struct slice *slice);
bool slice_is_of_time(const struct slice *slice);

/* Returns the index of the first range that ends after a time; the number of ranges if none. */
uint32_t slice_range_after(const struct slice_steps *steps, uint64_t ns);

/* Returns true if a time is in the ranges of the steps. */
bool slice_has_moment(const struct slice_steps *steps, uint64_t ns);

/* Returns what must be collected to select the slice: enum writer_needs. */
unsigned int slice_needs(const struct slice *slice);

/*
 * Returns true if the slice is of a device, context or stream. No wait is in such a slice, for a
 * wait is for everything that was launched.
 */
bool slice_is_of_gpu(const struct slice *slice);

/* Returns true if the slice is of stacks with, or without, some frames. */
bool slice_is_of_frames(const struct slice *slice);

/* Returns true if a place is in the slice. */
bool slice_has_place(const struct slice *slice, const struct result *result, uint32_t place);

/* Returns true if GPU work is in the slice. `frame` is the innermost of its stack. */
bool slice_has_work(const struct slice *slice, const struct frame_info *frame);

/* Return true if a frame's name matches --under, or --not-under. */
bool slice_is_under(const struct slice *slice, const char *name);
bool slice_is_left_out(const struct slice *slice, const char *name);

/*
 * Visits the options of the slice, in the order in which they are shown. `value` is NULL for an
 * option without one. Both are valid during the call.
 */
typedef void (*slice_option_visitor)(void *context, const char *option, const char *value);
void slice_visit_options(const struct slice *slice, slice_option_visitor visit, void *context);

/* Prints the options of the slice, each after a space: " --time 1..2 --device 0". */
void slice_print(const struct slice *slice, FILE *out);

#endif
