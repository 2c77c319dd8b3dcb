/* SPDX-License-Identifier: MIT */
/*
 * A capture (".profile"): the whole result of a run in one file, with its timeline, names, lines
 * and losses, from which every other format can be written later, on any machine. docs/
 * capture-format.md describes the file.
 *
 * The writer is capture_writer (writer.h). This reads one. The file may be anything: each number is
 * checked before it is used, and texts are cleaned as those of a run are.
 */
#ifndef PROFILER_FORMATS_CAPTURE_H
#define PROFILER_FORMATS_CAPTURE_H

#include <stdbool.h>
#include <stdio.h>
#include "profiler/base/quota.h"
#include "profiler/model/result.h"

#define CAPTURE_VERSION 1

struct profile_capture;

/* Why a capture cannot be read. */
enum capture_error {
	CAPTURE_OK,
	CAPTURE_NO_CAPTURE, /* it is another file */
	CAPTURE_VERSION_UNKNOWN,
	CAPTURE_CUT, /* it ends early */
	CAPTURE_DAMAGED,
	CAPTURE_TOO_LARGE, /* for `memory` */
	CAPTURE_NO_MEMORY,
	CAPTURE_SYSTEM /* errno has the reason */
};

/*
 * Reads a capture. `folder`: where its timeline is kept (timeline.h); NULL: without it. Unless
 * `needs_timeline`, it is kept only if the run asked for a table that is made of it. Tables are
 * taken from `memory`, which must outlive it. NULL: `error` says why.
 */
struct profile_capture *capture_read(FILE *in, const char *folder, bool needs_timeline,
				     struct quota *memory, enum capture_error *error);
void capture_free(struct profile_capture *capture);

const struct result *capture_result(const struct profile_capture *capture);

#endif
