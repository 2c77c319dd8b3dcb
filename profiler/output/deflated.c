// SPDX-License-Identifier: MIT
#include "profiler/output/deflated.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#define PACKED_BYTES 49152 /* a multiple of 3: base64 needs no padding before the end */

struct deflated {
	FILE *out;
	z_stream z;
	bool failed; /* zlib */
	uint32_t pending_size;
	unsigned char pending[16384]; /* what zlib has not seen: it takes large pieces faster */
	unsigned char packed[PACKED_BYTES];
	char text[PACKED_BYTES / 3 * 4];
};

struct deflated *deflated_new(FILE *out)
{
	struct deflated *d = malloc(sizeof(*d));

	if (!d)
		return NULL;
	d->out = out;
	d->failed = false;
	d->pending_size = 0;
	memset(&d->z, 0, sizeof(d->z));
	if (deflateInit(&d->z, Z_DEFAULT_COMPRESSION) != Z_OK) {
		free(d);
		return NULL;
	}
	d->z.next_out = d->packed;
	d->z.avail_out = sizeof(d->packed);
	return d;
}

static void write_base64(struct deflated *d, const unsigned char *data, size_t size)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	char *at = d->text;

	for (; size > 0; data += 3, size -= size < 3 ? size : 3) {
		uint32_t bits = (uint32_t)data[0] << 16;

		bits |= size > 1 ? (uint32_t)data[1] << 8 : 0;
		bits |= size > 2 ? data[2] : 0;
		*at++ = digits[bits >> 18];
		*at++ = digits[bits >> 12 & 63];
		*at++ = size > 1 ? digits[bits >> 6 & 63] : '=';
		*at++ = size > 2 ? digits[bits & 63] : '=';
	}
	fwrite(d->text, 1, (size_t)(at - d->text), d->out);
}

/* Z_NO_FLUSH until zlib has taken all its input, Z_FINISH until it has ended. */
static void deflate_all(struct deflated *d, int flush)
{
	int status = Z_OK;

	while (!d->failed && (d->z.avail_in > 0 || (flush == Z_FINISH && status != Z_STREAM_END))) {
		if (d->z.avail_out == 0) {
			write_base64(d, d->packed, sizeof(d->packed));
			d->z.next_out = d->packed;
			d->z.avail_out = sizeof(d->packed);
		}
		status = deflate(&d->z, flush);
		d->failed = status != Z_OK && status != Z_STREAM_END && status != Z_BUF_ERROR;
	}
}

static void feed(struct deflated *d, const void *data, size_t size)
{
	const unsigned char *at = data;

	while (size > 0 && !d->failed) {
		uInt part = size < INT_MAX ? (uInt)size : INT_MAX;

		d->z.next_in = (Bytef *)(uintptr_t)at; /* zlib does not change it */
		d->z.avail_in = part;
		deflate_all(d, Z_NO_FLUSH);
		at += part;
		size -= part;
	}
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
	d->z.next_in = d->pending;
	deflate_all(d, Z_FINISH);
	if (!d->failed)
		write_base64(d, d->packed, sizeof(d->packed) - d->z.avail_out);
	err = d->failed ? -ENOMEM : ferror(d->out) ? -EIO : 0;
	deflateEnd(&d->z);
	free(d);
	return err;
}
