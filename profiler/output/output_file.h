/* SPDX-License-Identifier: MIT */
/*
 * The output file: opened (so that a mistake shows) before the target starts, written at the end.
 *
 * Until it is written, a file that was there keeps its old contents. The file is opened as the
 * target's user, and belongs to them; only where they may not write and we may does it become ours,
 * and is then given to them.
 */
#ifndef PROFILER_OUTPUT_OUTPUT_FILE_H
#define PROFILER_OUTPUT_OUTPUT_FILE_H

#include <stdbool.h>
#include <stdio.h>
#include "profiler/session/identity.h"

struct output {
	const char *path; /* as given; "-" is stdout */
	int fd;
	bool created; /* by us, just now */
};

/* 0 or -errno. */
int output_open(struct output *output, const char *path, const struct identity *identity);

/* A stream that replaces what the file holds; close it with output_end. NULL with errno on error.
 */
FILE *output_begin(struct output *output);

/* Flushes and closes; 0 or -errno (a full disk shows here). */
int output_end(struct output *output, FILE *stream);

/* Closes without writing; a file made by output_open is removed again. */
void output_cancel(struct output *output);

#endif
