// SPDX-License-Identifier: MIT
#include "profiler/formats/deflated.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include "profiler/formats/gzip.h"

struct deflated {
	FILE *out;
	FILE *packed; /* becomes base64 in `out` */
	struct gzip *gzip;
	bool failed;
	uint32_t pending_size, rest_size;
	unsigned char rest[3];        /* of `packed`: less than base64 writes at once */
	unsigned char pending[16384]; /* for zlib, which takes large pieces faster */
};

/* ---- base64 (RFC 4648) ---- */

static void write_group(FILE *out, const unsigned char *bytes, uint32_t size)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	uint32_t bits = (uint32_t)bytes[0] << 16;

	bits |= size > 1 ? (uint32_t)bytes[1] << 8 : 0;
	bits |= size > 2 ? bytes[2] : 0;
	putc_unlocked(digits[bits >> 18], out);
	putc_unlocked(digits[bits >> 12 & 63], out);
	putc_unlocked(size > 1 ? digits[bits >> 6 & 63] : '=', out);
	putc_unlocked(size > 2 ? digits[bits & 63] : '=', out);
}

/* As write(2). */
static ssize_t write_packed(void *cookie, const char *data, size_t size)
{
	struct deflated *d = cookie;

	for (size_t i = 0; i < size; i++) {
		d->rest[d->rest_size++] = (unsigned char)data[i];
		if (d->rest_size < sizeof(d->rest))
			continue;
		write_group(d->out, d->rest, d->rest_size);
		d->rest_size = 0;
	}
	return ferror(d->out) ? -1 : (ssize_t)size;
}

/* ---- data ---- */

struct deflated *deflated_new(FILE *out)
{
	struct deflated *d = calloc(1, sizeof(*d));

	if (!d)
		return NULL;
	d->out = out;
	d->packed = fopencookie(d, "w", (cookie_io_functions_t){.write = write_packed});
	d->gzip = d->packed ? gzip_new(d->packed) : NULL;
	if (d->gzip)
		return d;
	if (d->packed)
		fclose(d->packed);
	free(d);
	return NULL;
}

static void feed(struct deflated *d, const void *data, size_t size)
{
	d->failed |= gzip_write(d->gzip, data, size) != 0;
}

static void feed_pending(struct deflated *d)
{
	feed(d, d->pending, d->pending_size);
	d->pending_size = 0;
}

void deflated_bytes(struct deflated *d, const void *data, size_t size)
{
	if (d->pending_size + size > sizeof(d->pending))
		feed_pending(d);
	if (size <= sizeof(d->pending)) {
		memcpy(d->pending + d->pending_size, data, size);
		d->pending_size += (uint32_t)size;
	} else {
		feed(d, data, size);
	}
}

void deflated_number(struct deflated *d, uint64_t number)
{
	if (d->pending_size + 10 > sizeof(d->pending))
		feed_pending(d);
	for (; number >= 0x80; number >>= 7)
		d->pending[d->pending_size++] = (unsigned char)(number | 0x80);
	d->pending[d->pending_size++] = (unsigned char)number;
}

int deflated_finish(struct deflated *d)
{
	int err;

	feed_pending(d);
	d->failed |= gzip_finish(d->gzip) != 0;
	d->failed |= fclose(d->packed) != 0;
	if (d->rest_size > 0)
		write_group(d->out, d->rest, d->rest_size);
	err = d->failed || ferror(d->out) ? -EIO : 0;
	gzip_free(d->gzip);
	free(d);
	return err;
}
