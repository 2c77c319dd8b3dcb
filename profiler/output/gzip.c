// SPDX-License-Identifier: MIT
#include "profiler/output/gzip.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#define ZLIB_CONST /* zlib does not write to its input */
#include <zlib.h>

#define GZIP_FORMAT (MAX_WBITS + 16) /* zlib's way to ask for it */
#define MEMORY_LEVEL 8               /* zlib's default: 256 KiB in all */

struct gzip {
	FILE *out;
	z_stream stream;
	unsigned char packed[1 << 16];
};

struct gzip *gzip_new(FILE *out)
{
	struct gzip *g = calloc(1, sizeof(*g));

	if (!g)
		return NULL;
	g->out = out;
	if (deflateInit2(&g->stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, GZIP_FORMAT, MEMORY_LEVEL,
			 Z_DEFAULT_STRATEGY) != Z_OK) {
		free(g);
		return NULL;
	}
	return g;
}

/* Compresses what the stream has as input, and writes what comes out. */
static int pump(struct gzip *g, int flush)
{
	do {
		size_t size;

		g->stream.next_out = g->packed;
		g->stream.avail_out = sizeof(g->packed);
		if (deflate(&g->stream, flush) == Z_STREAM_ERROR)
			return -EIO;
		size = sizeof(g->packed) - g->stream.avail_out;
		if (fwrite(g->packed, 1, size, g->out) != size)
			return -EIO;
	} while (g->stream.avail_out == 0);
	return 0;
}

int gzip_write(struct gzip *g, const void *data, size_t size)
{
	const unsigned char *at = data;
	int err = 0;

	while (size > 0 && !err) {
		uInt part = size < UINT_MAX ? (uInt)size : UINT_MAX;

		g->stream.next_in = at;
		g->stream.avail_in = part;
		err = pump(g, Z_NO_FLUSH);
		at += part;
		size -= part;
	}
	return err;
}

int gzip_finish(struct gzip *g)
{
	g->stream.avail_in = 0;
	return pump(g, Z_FINISH);
}

void gzip_free(struct gzip *g)
{
	if (!g)
		return;
	deflateEnd(&g->stream);
	free(g);
}
