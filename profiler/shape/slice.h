/* SPDX-License-Identifier: MIT */
/*
 * A part of a run: what ran within a time, in a process or thread, on a device or stream, a kernel.
 * All that is given must hold. A row or record whose place does not say has no such part, so CPU
 * samples belong to no device, and only GPU work and waits for it to a kernel.
 */
#ifndef PROFILER_SHAPE_SLICE_H
#define PROFILER_SHAPE_SLICE_H

#include <regex.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include "profiler/model/result.h"

/*
 * A number or a pattern: a number is the pid, the tid, CUPTI's id; other text is an extended
 * regular expression (POSIX), which must match somewhere in the name: of a device, in its label
 * ("GPU 0"), its name ("NVIDIA H200") or its UUID.
 */
struct slice_match {
	const char *text; /* borrowed; NULL: everything */
	bool is_number;
	uint64_t number;
	regex_t pattern; /* unless is_number */
};

/* Zero-initialised is the whole run. */
struct slice {
	bool has_time;
	uint64_t from_ns, to_ns; /* since the command's start; the end is excluded */
	const char *time_text;   /* borrowed */
	unsigned int kinds;      /* 1 << enum row_kind; 0: all */
	struct slice_match parts[PLACE_PARTS], kernel;
};

/*
 * "A..B", in seconds, or with one of the units ns, us, ms, s, m: "1.5..2", "500ms..", "..10s".
 * False: anything else, or nothing lies between.
 */
bool slice_parse_time(const char *text, struct slice *slice);

/*
 * A length of time above 0, like "2", "500ms" or "1.5m", at most a year. False: anything else.
 */
bool slice_parse_duration(const char *text, uint64_t *ns);

/* False: not a pattern; `error` says why. */
#define SLICE_ERROR_BYTES 128
bool slice_parse_match(const char *text, bool may_be_number, struct slice_match *match,
		       char error[SLICE_ERROR_BYTES]);

void slice_release(struct slice *slice);
void slice_release_match(struct slice_match *match);

/* Returns whether it is less than the whole run. */
bool slice_is_part(const struct slice *slice);

/* Returns what outputs have to collect so that it can be told apart: enum writer_needs. */
unsigned int slice_needs(const struct slice *slice);

/*
 * Returns whether it is of a device, context or stream. A wait is for all that was launched, so
 * none has it.
 */
bool slice_is_of_gpu(const struct slice *slice);

/* Returns whether a place is within. */
bool slice_has_place(const struct slice *slice, const struct result *result, uint32_t place);

/* Returns whether GPU work with this frame, the innermost of its stack, is within. */
bool slice_has_work(const struct slice *slice, const struct frame_info *frame);

/* The options that choose it, each after a space: " --time 1..2 --device 0". */
void slice_print(const struct slice *slice, FILE *out);

#endif
