/* SPDX-License-Identifier: MIT */
#include "unpack.h"
#include "profiler/output/gzip.h"

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(contents_are_unpacked_again),
		cmocka_unit_test(equal_contents_are_equal_files),
		cmocka_unit_test(a_full_disk_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
