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
	FILE *packed; /* encoded as base64 into `out` */
	struct gzip *gzip;
	FILE *plain; /* compressed into `packed` */
	uint32_t rest_size;
	unsigned char rest[3]; /* bytes of `packed` that are less than a group of base64 */
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

/* Encodes like write(2), for fopencookie(3). */
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
	d->packed = fopencookie(d, "w", (cookie_io_functions_t){.write = write_packed});
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
	if (d->rest_size > 0)
		write_group(d->out, d->rest, d->rest_size);
	failed |= ferror(d->out) != 0;
	gzip_free(d->gzip);
	free(d);
	return failed ? -EIO : 0;
}
