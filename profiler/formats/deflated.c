// SPDX-License-Identifier: MIT
#include "profiler/formats/deflated.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/types.h>
#include "profiler/formats/gzip.h"

#define PIECE_BYTES 16384 /* zlib is faster with large pieces */

struct deflated {
	FILE *out;
	FILE *packed; /* compressed data, in `bytes` once closed */
	char *bytes;
	size_t size;
	struct gzip *gzip;
	FILE *plain; /* compressed into `packed` */
};

/* ---- base64 (RFC 4648) ---- */

static void write_base64(FILE *out, const unsigned char *bytes, size_t size)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

	for (size_t i = 0; i < size; i += 3) {
		size_t left = size - i;
		uint32_t bits = (uint32_t)bytes[i] << 16;

		bits |= left > 1 ? (uint32_t)bytes[i + 1] << 8 : 0;
		bits |= left > 2 ? bytes[i + 2] : 0;
		putc_unlocked(digits[bits >> 18], out);
		putc_unlocked(digits[bits >> 12 & 63], out);
		putc_unlocked(left > 1 ? digits[bits >> 6 & 63] : '=', out);
		putc_unlocked(left > 2 ? digits[bits & 63] : '=', out);
	}
}

/* ---- data ---- */

/* Compresses like write(2), for fopencookie(3). Returns 0 on error. */
static ssize_t write_plain(void *cookie, const char *data, size_t size)
{
	const struct deflated *d = cookie;

	return gzip_write(d->gzip, data, size) == 0 ? (ssize_t)size : 0;
}

struct deflated *deflated_new(FILE *out)
{
	struct deflated *d = calloc(1, sizeof(*d));

	if (!d)
		return NULL;
	d->out = out;
	d->packed = open_memstream(&d->bytes, &d->size);
	d->gzip = d->packed ? gzip_new(d->packed) : NULL;
	d->plain =
		d->gzip ? fopencookie(d, "w", (cookie_io_functions_t){.write = write_plain}) : NULL;
	if (d->plain && setvbuf(d->plain, NULL, _IOFBF, PIECE_BYTES) == 0)
		return d;
	deflated_finish(d);
	return NULL;
}

void deflated_bytes(struct deflated *d, const void *data, size_t size)
{
	fwrite_unlocked(data, 1, size, d->plain);
}

void deflated_number(struct deflated *d, uint64_t number)
{
	for (; number >= 0x80; number >>= 7)
		putc_unlocked((int)(number & 0x7f) | 0x80, d->plain);
	putc_unlocked((int)number, d->plain);
}

int deflated_finish(struct deflated *d)
{
	bool failed = !d->plain || ferror(d->plain) != 0;

	failed |= d->plain && fclose(d->plain) != 0;
	failed |= !d->gzip || gzip_finish(d->gzip) != 0;
	failed |= !d->packed || fclose(d->packed) != 0;
	if (!failed)
		write_base64(d->out, (const unsigned char *)d->bytes, d->size);
	failed |= ferror(d->out) != 0;
	free(d->bytes);
	gzip_free(d->gzip);
	free(d);
	return failed ? -EIO : 0;
}
