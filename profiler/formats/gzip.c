// SPDX-License-Identifier: MIT
#include "profiler/formats/gzip.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#define ZLIB_CONST /* zlib does not write to its input */
#include <zlib.h>

#define GZIP_FORMAT (MAX_WBITS + 16) /* zlib: with a gzip header */
#define MEMORY_LEVEL 8               /* zlib's default: 256 KiB */

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

/* Compresses the stream's input, and writes the output. */
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

/* ---- reading ---- */

struct gunzip {
	FILE *in;
	z_stream stream;
	bool has_ended;
	unsigned char packed[1 << 16];
};

struct gunzip *gunzip_new(FILE *in)
{
	struct gunzip *g = calloc(1, sizeof(*g));

	if (!g)
		return NULL;
	g->in = in;
	if (inflateInit2(&g->stream, GZIP_FORMAT) != Z_OK) {
		free(g);
		return NULL;
	}
	return g;
}

/* Reads more input, none at the end of the file. Returns 0, or -errno. */
static int fill(struct gunzip *g)
{
	g->stream.next_in = g->packed;
	g->stream.avail_in = (uInt)fread(g->packed, 1, sizeof(g->packed), g->in);
	return ferror(g->in) ? -EIO : 0;
}

/* Returns 0 if nothing follows the data, or -errno. */
static int check_end(struct gunzip *g)
{
	g->has_ended = true;
	if (g->stream.avail_in == 0 && fill(g) != 0)
		return -EIO;
	return g->stream.avail_in == 0 ? 0 : -EBADMSG;
}

ssize_t gunzip_read(struct gunzip *g, void *data, size_t size)
{
	int err = 0, status;

	if (size > SSIZE_MAX)
		return -EINVAL;
	g->stream.next_out = data;
	while (size > 0 && !g->has_ended && !err) {
		uInt part = size < UINT_MAX ? (uInt)size : UINT_MAX;

		if (g->stream.avail_in == 0)
			err = fill(g);
		if (err || g->stream.avail_in == 0)
			return err ? err : -ENODATA;
		g->stream.avail_out = part;
		status = inflate(&g->stream, Z_NO_FLUSH);
		size -= part - g->stream.avail_out;
		if (status == Z_STREAM_END)
			err = check_end(g);
		else if (status == Z_MEM_ERROR)
			err = -ENOMEM;
		else if (status != Z_OK)
			err = -EBADMSG;
	}
	return err ? err : (ssize_t)((unsigned char *)g->stream.next_out - (unsigned char *)data);
}

void gunzip_free(struct gunzip *g)
{
	if (!g)
		return;
	inflateEnd(&g->stream);
	free(g);
}
