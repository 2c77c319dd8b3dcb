/* SPDX-License-Identifier: MIT */
/*
 * Compresses and decompresses streams in the gzip format (RFC 1952). The header has no time, so
 * equal contents give equal files.
 */
#ifndef PROFILER_FORMATS_GZIP_H
#define PROFILER_FORMATS_GZIP_H

#include <stddef.h>
#include <stdio.h>
#include <sys/types.h>

struct gzip;

/* Returns a compressor that writes to `out`, which is borrowed, or NULL if out of memory. */
struct gzip *gzip_new(FILE *out);

/* Compresses data. Returns 0, or -EIO. */
int gzip_write(struct gzip *gzip, const void *data, size_t size);

/* Writes the rest. Returns 0, or -EIO. The stream stays open. */
int gzip_finish(struct gzip *gzip);

void gzip_free(struct gzip *gzip);

/* Decompresses an untrusted file. */
struct gunzip;

/* Returns a reader of `in`, which is borrowed, or NULL if out of memory. */
struct gunzip *gunzip_new(FILE *in);

/*
 * Reads `size` bytes, or fewer at the end of the data. Returns the number of bytes read; -ENODATA
 * if the data is truncated; -EBADMSG if it is damaged, not gzip, or followed by other bytes; or
 * another -errno.
 */
ssize_t gunzip_read(struct gunzip *gunzip, void *data, size_t size);

void gunzip_free(struct gunzip *gunzip);

#endif
