/* SPDX-License-Identifier: MIT */
/*
 * Compresses what a writer writes, on the way into its stream: the gzip format (RFC 1952), without
 * a time, so that equal contents are equal files.
 */
#ifndef PROFILER_OUTPUT_GZIP_H
#define PROFILER_OUTPUT_GZIP_H

#include <stddef.h>
#include <stdio.h>

struct gzip;

/* NULL: out of memory. */
struct gzip *gzip_new(FILE *out);

/* 0 or -EIO. */
int gzip_write(struct gzip *gzip, const void *data, size_t size);

/* Writes the rest. 0 or -EIO; the stream stays open. */
int gzip_finish(struct gzip *gzip);

void gzip_free(struct gzip *gzip);

#endif
