/* SPDX-License-Identifier: MIT */
/*
 * Compresses what a writer writes, on the way into its stream: the gzip format (RFC 1952), without
 * a time, so that equal contents are equal files. And back.
 */
#ifndef PROFILER_FORMATS_GZIP_H
#define PROFILER_FORMATS_GZIP_H

#include <stddef.h>
#include <stdio.h>
#include <sys/types.h>

struct gzip;

/* NULL: out of memory. */
struct gzip *gzip_new(FILE *out);

/* 0 or -EIO. */
int gzip_write(struct gzip *gzip, const void *data, size_t size);

/* Writes the rest. 0 or -EIO; the stream stays open. */
int gzip_finish(struct gzip *gzip);

void gzip_free(struct gzip *gzip);

/* Reads such a file, which may be anything. */
struct gunzip;

/* NULL: out of memory. */
struct gunzip *gunzip_new(FILE *in);

/*
 * The number of bytes read, less than `size` only at the end of the data. -EBADMSG: it is not in
 * this format, or damaged, or something follows it; -ENODATA: it is cut off; or another -errno.
 */
ssize_t gunzip_read(struct gunzip *gunzip, void *data, size_t size);

void gunzip_free(struct gunzip *gunzip);

#endif
