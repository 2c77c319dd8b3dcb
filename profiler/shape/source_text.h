/* SPDX-License-Identifier: MIT */
/*
 * Source of device code, for pages that show stalls beside it (--stalls): the lines with samples
 * and SOURCE_TEXT_AROUND lines around them, from the files that line tables name.
 *
 * The names come from the program, or from anyone's capture: whoever wrote them chooses what is
 * read. So a file is read as the user that we are, on a thread without capabilities and with a
 * deadline (bounded_call.h), and only if
 *
 *	- its own name, where links lead to it, ends like one of source: "x.cu", "x.py";
 *	- it is a regular file, neither below /proc, /sys or /dev nor of such a file system;
 *	  nothing else is even opened;
 *	- everybody can reach and read it, folders included, if we are root (no user to become,
 *	  --as-root): then so could the user of the process that named it (guarded_path.h);
 *	- it has at most SOURCE_TEXT_FILE bytes, which are UTF-8 without NUL.
 *
 * A relative name is below the command's working directory: line tables that ptxas writes have no
 * directory of their compilation. A file is that of now, not that of the run.
 *
 * Bounded: the SOURCE_TEXT_FILES files with most time, SOURCE_TEXT_TOTAL bytes of all, lines cut at
 * SOURCE_TEXT_LINE bytes.
 */
#ifndef PROFILER_SHAPE_SOURCE_TEXT_H
#define PROFILER_SHAPE_SOURCE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "profiler/model/result.h"

#define SOURCE_TEXT_FILE (UINT64_C(2) << 20)
#define SOURCE_TEXT_TOTAL (UINT64_C(4) << 20)
#define SOURCE_TEXT_FILES 256u
#define SOURCE_TEXT_LINE 1000u
#define SOURCE_TEXT_AROUND 20u
#define SOURCE_TEXT_RUN_MS 10000u /* waiting for all files */

/* The page has the same numbers (html/source.js). */
enum source_state {
	SOURCE_READ,
	SOURCE_NOT_FOUND, /* or one that we may not read */
	SOURCE_REFUSED,   /* no name of source, or no place for it */
	SOURCE_TOO_LARGE,
	SOURCE_NOT_TEXT,
	SOURCE_LEFT_OUT, /* beyond the bounds of all files */
	SOURCE_STATES
};

/* Lines that follow each other, from `first` on. */
struct source_part {
	uint32_t first, count;
};

struct source_file {
	const char *path; /* as frames have it; borrowed */
	uint64_t ns;      /* of its lines */
	enum source_state state;
	/* it was written after the run, or has fewer lines than samples name */
	bool has_changed;
	struct source_part *parts;
	uint32_t part_count;
	/* lines of all parts, each with its newline; tabs, but no other control characters */
	char *text;
	size_t size;
};

struct source_list {
	struct source_file *files; /* that with most time first */
	uint32_t count;
};

struct source_limits {
	uint64_t file, total; /* bytes */
	uint32_t files, line; /* how many; bytes */
};

/*
 * Reads what all lines in stacks of the result ask for. `limits`: NULL for those named above. 0 or
 * -ENOMEM: then the list is empty.
 */
int source_text_read(const struct result *result, const struct source_limits *limits,
		     struct source_list *list);
void source_text_release(struct source_list *list);

/* Tells whether an open file is of a system like /proc, wherever that is mounted: none is read. */
bool source_text_is_special(int fd);

#endif
