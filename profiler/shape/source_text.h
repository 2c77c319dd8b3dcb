/* SPDX-License-Identifier: MIT */
/*
 * Reads the source of device code, for pages that show stalls beside it (--stalls).
 *
 * Reads the lines with samples, and SOURCE_TEXT_AROUND lines around them, from the files that line
 * tables name.
 *
 * The names come from the program, or from anyone's capture, so only files that source_file.h
 * allows are read.
 *
 * A relative name is below the command's working directory: line tables of ptxas have no directory.
 * The file is read as it is now, which may differ from the run.
 *
 * Bounded: the SOURCE_TEXT_FILES files with most time, SOURCE_TEXT_TOTAL bytes of all files. Lines
 * are cut at SOURCE_TEXT_LINE bytes.
 */
#ifndef PROFILER_SHAPE_SOURCE_TEXT_H
#define PROFILER_SHAPE_SOURCE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "profiler/model/result.h"
#include "profiler/shape/source_file.h"

#define SOURCE_TEXT_FILE (UINT64_C(2) << 20)
#define SOURCE_TEXT_TOTAL (UINT64_C(4) << 20)
#define SOURCE_TEXT_FILES 256u
#define SOURCE_TEXT_LINE 1000u
#define SOURCE_TEXT_AROUND 20u
#define SOURCE_TEXT_RUN_MS 10000u /* timeout for all files */

/* Consecutive lines, from `first` on. */
struct source_part {
	uint32_t first, count;
};

struct source_file {
	const char *path; /* as in frames; borrowed */
	uint64_t ns;      /* time of its lines */
	enum source_state state;
	/* written after the run, or shorter than the lines of samples */
	bool has_changed;
	struct source_part *parts;
	uint32_t part_count;
	/* lines of all parts, each with its newline; tabs, but no other control characters */
	char *text;
	size_t size;
};

struct source_list {
	struct source_file *files; /* most time first */
	uint32_t count;
};

struct source_limits {
	uint64_t file, total; /* bytes */
	uint32_t files, line; /* count; bytes */
};

/*
 * Reads the source of all lines in stacks of the result. `limits` are those above if NULL. Returns
 * 0, or -ENOMEM with an empty list.
 */
int source_text_read(const struct result *result, const struct source_limits *limits,
		     struct source_list *list);
void source_text_release(struct source_list *list);

#endif
