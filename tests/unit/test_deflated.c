/* SPDX-License-Identifier: MIT */
/* Deflated output of any size unpacks to its input. */
#include "unit.h"
#include "unpack.h"
#include "profiler/formats/deflated.h"

static struct unpacked written_with(void (*write)(struct deflated *d, void *data), void *data)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	struct deflated *d;
	struct unpacked u;

	assert_non_null(out);
	d = deflated_new(out);
	assert_non_null(d);
	write(d, data);
	assert_int_equal(deflated_finish(d), 0);
	fclose(out);
	u = unpack(text, size);
	free(text);
	return u;
}

static void write_nothing(struct deflated *d, void *data)
{
	(void)d;
	(void)data;
}

static void nothing_is_no_bytes(void **state)
{
	struct unpacked u = written_with(write_nothing, NULL);

	(void)state;
	assert_int_equal(u.size, 0);
	free(u.bytes);
}

static const uint64_t numbers[] = {0,         1,          127,        128,        16383,
				   16384,     UINT32_MAX, 1ull << 53, 1ull << 63, UINT64_MAX - 1,
				   UINT64_MAX};
#define NUMBERS (sizeof(numbers) / sizeof(numbers[0]))

static void write_numbers(struct deflated *d, void *data)
{
	(void)data;
	for (size_t i = 0; i < NUMBERS; i++)
		deflated_number(d, numbers[i]);
}

static void numbers_of_all_sizes(void **state)
{
	struct unpacked u = written_with(write_numbers, NULL);

	(void)state;
	for (size_t i = 0; i < NUMBERS; i++)
		assert_true(unpack_number(&u) == numbers[i]);
	assert_int_equal(u.at, u.size);
	free(u.bytes);
}

struct bytes {
	unsigned char *data;
	size_t size, step;
};

static void write_bytes(struct deflated *d, void *data)
{
	struct bytes *b = data;

	for (size_t at = 0; at < b->size; at += b->step)
		deflated_bytes(d, b->data + at, b->size - at < b->step ? b->size - at : b->step);
}

/* Random bytes do not shrink: they fill the buffers, also at once. */
static void bytes_of_all_sizes(void **state)
{
	struct prng p = prng_round(0);
	struct bytes b = {.data = malloc(1 << 20)};

	(void)state;
	assert_non_null(b.data);
	for (size_t i = 0; i < 1 << 20; i++)
		b.data[i] = (unsigned char)prng_u64(&p);
	for (b.size = 1; b.size <= 1 << 20; b.size = b.size * 3 + 1) {
		for (b.step = 7; b.step <= 1 << 20; b.step *= 53) {
			struct unpacked u = written_with(write_bytes, &b);

			assert_int_equal(u.size, b.size);
			assert_memory_equal(u.bytes, b.data, b.size);
			free(u.bytes);
		}
	}
	free(b.data);
}

static void a_full_disk_is_an_error(void **state)
{
	FILE *out = fopen("/dev/full", "w");
	struct deflated *d;

	(void)state;
	assert_non_null(out);
	setvbuf(out, NULL, _IONBF, 0);
	d = deflated_new(out);
	assert_non_null(d);
	deflated_number(d, 1);
	assert_int_equal(deflated_finish(d), -EIO);
	fclose(out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_is_no_bytes),
		cmocka_unit_test(numbers_of_all_sizes),
		cmocka_unit_test(bytes_of_all_sizes),
		cmocka_unit_test(a_full_disk_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
