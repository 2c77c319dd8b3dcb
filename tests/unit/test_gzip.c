/* SPDX-License-Identifier: MIT */
#include "unpack.h"
#include "profiler/formats/gzip.h"

/* Packs the bytes, given in parts of this size; to be freed. */
static char *pack(const void *bytes, size_t size, size_t part, size_t *packed_size)
{
	char *packed = NULL;
	FILE *out = open_memstream(&packed, packed_size);
	struct gzip *gzip = gzip_new(out);

	assert_non_null(gzip);
	for (size_t at = 0; at < size; at += part)
		assert_int_equal(gzip_write(gzip, (const char *)bytes + at,
					    size - at < part ? size - at : part),
				 0);
	assert_int_equal(gzip_write(gzip, bytes, 0), 0);
	assert_int_equal(gzip_finish(gzip), 0);
	gzip_free(gzip);
	gzip_free(NULL);
	fclose(out);
	return packed;
}

static void check(const void *bytes, size_t size, size_t part)
{
	size_t packed_size, unpacked_size;
	char *packed = pack(bytes, size, part, &packed_size);
	unsigned char *unpacked = gunzip(packed, packed_size, &unpacked_size);

	assert_int_equal(unpacked_size, size);
	assert_memory_equal(unpacked, bytes, size);
	free(unpacked);
	free(packed);
}

static void contents_are_unpacked_again(void **state)
{
	enum { SIZE = 3 << 20 };
	struct prng p = prng_round(0);
	unsigned char *bytes = calloc(1, SIZE);

	(void)state;
	assert_non_null(bytes);
	check(bytes, 0, 1);
	check("x", 1, 1);
	check(bytes, SIZE, SIZE);
	for (size_t i = 0; i < SIZE; i++) /* cannot be made smaller */
		bytes[i] = (unsigned char)prng_u64(&p);
	check(bytes, SIZE, SIZE);
	check(bytes, 100000, 7);
	free(bytes);
}

static void equal_contents_are_equal_files(void **state)
{
	size_t first_size, second_size;
	char *first = pack("contents", 8, 8, &first_size);
	char *second = pack("contents", 8, 8, &second_size);

	(void)state;
	assert_int_equal(first_size, second_size);
	assert_memory_equal(first, second, first_size);
	assert_memory_equal(first + 4, "\0\0\0\0", 4); /* no time */
	free(first);
	free(second);
}

static void a_full_disk_is_an_error(void **state)
{
	FILE *full = fopen("/dev/full", "w");
	struct gzip *gzip;
	int err;

	(void)state;
	if (!full)
		SKIP("no /dev/full here");
	setvbuf(full, NULL, _IONBF, 0);
	gzip = gzip_new(full);
	assert_non_null(gzip);
	err = gzip_write(gzip, "some", 4);
	assert_int_equal(err ? err : gzip_finish(gzip), -EIO);
	gzip_free(gzip);
	fclose(full);
}

/* Reads the first `size` bytes of a file in steps. Returns the number of bytes, or the error of
 * gunzip_read. */
static ssize_t read_back(const char *packed, size_t packed_size, void *out, size_t size,
			 size_t step)
{
	FILE *in = packed_size ? fmemopen((char *)(uintptr_t)packed, packed_size, "r")
			       : fopen("/dev/null", "r");
	struct gunzip *gunzip_ = gunzip_new(in);
	size_t done = 0;
	ssize_t n = 0;

	assert_non_null(gunzip_);
	while (done < size) {
		size_t part = size - done < step ? size - done : step;

		n = gunzip_read(gunzip_, (char *)out + done, part);
		if (n < 0)
			break;
		done += (size_t)n;
		if ((size_t)n < part)
			break;
	}
	gunzip_free(gunzip_);
	fclose(in);
	return n < 0 ? n : (ssize_t)done;
}

static void files_are_read_back(void **state)
{
	enum { SIZE = 300000 };
	struct prng p = prng_round(1);
	unsigned char *bytes = malloc(SIZE), *out = malloc(SIZE + 10);
	size_t size, steps[] = {1, 7, 65536, SIZE + 10};
	char *packed;

	(void)state;
	assert_true(bytes && out);
	for (size_t i = 0; i < SIZE; i++)
		bytes[i] = (unsigned char)(prng_below(&p, 3) ? 'a' : prng_u64(&p));
	packed = pack((const char *)bytes, SIZE, 1000, &size);
	for (int i = 0; i < 4; i++) {
		memset(out, 0, SIZE);
		assert_int_equal(read_back(packed, size, out, SIZE + 10, steps[i]), SIZE);
		assert_memory_equal(out, bytes, SIZE);
		assert_int_equal(read_back(packed, size, out, SIZE / 2, steps[i]), SIZE / 2);
	}
	/* cut off anywhere; with something behind it; changed */
	for (size_t part = 0; part < size; part += 1 + part / 20)
		assert_int_equal(read_back(packed, part, out, SIZE + 10, 4096), -ENODATA);
	packed = realloc(packed, size + 1);
	assert_non_null(packed);
	packed[size] = 0;
	assert_int_equal(read_back(packed, size + 1, out, SIZE + 10, 4096), -EBADMSG);
	packed[size - 5] ^= 1; /* the checksum */
	assert_int_equal(read_back(packed, size, out, SIZE + 10, 4096), -EBADMSG);
	assert_int_equal(read_back("no gzip", 7, out, 10, 10), -EBADMSG);
	free(packed);
	free(bytes);
	free(out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(contents_are_unpacked_again),
		cmocka_unit_test(equal_contents_are_equal_files),
		cmocka_unit_test(a_full_disk_is_an_error),
		cmocka_unit_test(files_are_read_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
