/* SPDX-License-Identifier: MIT */
/*
 * Reads captures (".profile"): the whole result of a run in one file, with its timeline, names,
 * lines and losses.
 *
 * Every other format can be written from a capture, later and on any machine. docs/
 * capture-format.md describes the file; the writer is capture_writer (writer.h). The file is
 * untrusted: each number is checked before use, and texts are cleaned as during a run.
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
	CAPTURE_NO_CAPTURE, /* another kind of file */
	CAPTURE_VERSION_UNKNOWN,
	CAPTURE_CUT, /* truncated */
	CAPTURE_DAMAGED,
	CAPTURE_TOO_LARGE, /* exceeds the quota */
	CAPTURE_NO_MEMORY,
	CAPTURE_SYSTEM /* errno has the reason */
};

/*
 * Reads a capture. Its timeline is kept in a file in `folder` (timeline.h); NULL: it is not kept.
 * Without `needs_timeline`, the timeline is kept only if the run asked for a table made of it.
 * Tables are taken from the quota `memory`, which must outlive the capture. Returns NULL with the
 * reason in `error`.
 */
struct profile_capture *capture_read(FILE *in, const char *folder, bool needs_timeline,
				     struct quota *memory, enum capture_error *error);
void capture_free(struct profile_capture *capture);

const struct result *capture_result(const struct profile_capture *capture);

#endif
