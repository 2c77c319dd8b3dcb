/* SPDX-License-Identifier: MIT */
/*
 * Reads a file of source that the program, or anyone's capture, has named.
 *
 * The target chooses the file by its name. So the file is read with the rights of the user,
 * on a thread without capabilities and with a deadline (bounded_call.h), and only if
 *
 *	- its real name, with links followed, ends like source: "x.cu", "x.py";
 *	- it is a regular file, neither below /proc, /sys or /dev nor of such a file system;
 *	  nothing else is opened;
 *	- if we are root (no user to become, --as-root): everybody can reach and read it. So
 *	  can the user of the process that named it (guarded_path.h);
 *	- its bytes are UTF-8 without NUL, and no more than allowed.
 */
#ifndef PROFILER_SHAPE_SOURCE_FILE_H
#define PROFILER_SHAPE_SOURCE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "symbolize/util/bounded_call.h"

/* Keep the numbers equal to those of html/source.js. */
enum source_state {
	SOURCE_READ,
	SOURCE_NOT_FOUND, /* or not readable */
	SOURCE_REFUSED,   /* not named like source, or in a special file system */
	SOURCE_TOO_LARGE,
	SOURCE_NOT_TEXT,
	SOURCE_LEFT_OUT, /* beyond the bounds for all files */
	SOURCE_STATES
};

struct source_content {
	enum source_state state;
	int64_t written_ns; /* time of the last change, since 1970 */
	char *text;         /* NULL unless SOURCE_READ; the caller frees it */
	size_t size;
};

/*
 * Reads a file of at most `max` bytes. A relative name is below `folder`, if that is known. Returns
 * 0 with the state, or -ENOMEM. The calls' time bounds all files that are read by them.
 */
int source_file_read(struct bounded_caller *calls, const char *folder, const char *name,
		     uint64_t max, struct source_content *content);

/* Returns true if an open file is of a file system like /proc, wherever that is mounted. */
bool source_file_is_special(int fd);

#endif
