/* SPDX-License-Identifier: MIT */
/* Busy time as the union of operations, by a model that marks each unit of time. */
#include "unit.h"
#include "profiler/model/gpu_load.h"

#define BIN GPU_LOAD_BIN_NS

static void work_on_several_streams_counts_once(void **state)
{
	struct gpu_load load = {.count = 0};
	const struct gpu_load_device *d = load.devices;

	(void)state;
	gpu_load_run(&load, 3, 100, 50);
	assert_int_equal(load.count, 1);
	assert_int_equal(d->key, 3);
	assert_int_equal(d->busy_ns, 50);
	gpu_load_run(&load, 3, 120, 50); /* partly */
	assert_int_equal(d->busy_ns, 70);
	gpu_load_run(&load, 3, 130, 10); /* inside */
	gpu_load_run(&load, 3, 170, 10); /* at the end of the busy time */
	assert_int_equal(d->busy_ns, 80);
	gpu_load_run(&load, 3, 200, 10);
	gpu_load_run(&load, 3, 220, 10);
	gpu_load_run(&load, 3, 90, 200); /* around all */
	assert_int_equal(d->busy_ns, 200);
	gpu_load_run(&load, 3, 10, 20); /* late, and before all */
	assert_int_equal(d->busy_ns, 220);
	gpu_load_run(&load, 3, 500, 0);
	gpu_load_run(&load, 3, UINT64_MAX - 5, 100); /* no time at all */
	assert_int_equal(d->busy_ns, 220);
	gpu_load_run(&load, 1, 100, 5);
	assert_int_equal(load.count, 2);
	assert_int_equal(load.devices[1].busy_ns, 5);
	assert_int_equal(d->busy_ns, 220);
	gpu_load_release(&load);
}

static void it_is_the_union(void **state)
{
	enum { UNITS = 2000 };

	(void)state;
	for (uint64_t round = 0; round < 300; round++) {
		struct prng prng = prng_round(round);
		struct gpu_load load = {.count = 0};
		bool busy[UNITS] = {false};
		uint64_t sum = 0;

		for (int i = 0; i < 100; i++) {
			uint64_t start = prng_below(&prng, UNITS), length = prng_bits(&prng, 8);

			if (start + length > UNITS)
				length = UNITS - start;
			gpu_load_run(&load, 0, 1000000 * start, 1000000 * length);
			memset(busy + start, true, length);
		}
		for (int i = 0; i < UNITS; i++)
			sum += busy[i];
		EXPECT(&prng, load.devices[0].busy_ns == 1000000 * sum);
		/* each bin is exact, too */
		for (uint64_t bin = 0; bin < UNITS / 125; bin++) {
			sum = 0;
			for (uint64_t i = 125 * bin; i < 125 * (bin + 1); i++)
				sum += busy[i];
			EXPECT(&prng, gpu_load_busy(&load.devices[0], BIN * bin, BIN * (bin + 1)) ==
					      1000000 * sum);
		}
		gpu_load_release(&load);
	}
}

static void spans_are_bounded(void **state)
{
	struct gpu_load load = {.count = 0};
	uint64_t last = 3 * GPU_LOAD_SPANS;

	(void)state;
	for (uint64_t i = 0; i < last; i++)
		gpu_load_run(&load, 0, 100 * i, 10);
	assert_int_equal(load.devices[0].busy_ns, 10 * last);
	assert_true(load.devices[0].count <= GPU_LOAD_SPANS);
	/* around all: what is known no longer counts as it was */
	gpu_load_run(&load, 0, 0, 100 * last);
	assert_true(load.devices[0].busy_ns > 10 * last);
	assert_true(load.devices[0].busy_ns <= 100 * last);
	gpu_load_run(&load, 0, 0, 50);
	assert_true(load.devices[0].busy_ns <= 100 * last);
	gpu_load_release(&load);
}

static void long_work_fills_the_newest_bins(void **state)
{
	struct gpu_load load = {.count = 0};
	const struct gpu_load_device *d = load.devices;
	uint64_t hour = UINT64_C(3600) * 1000000000;

	(void)state;
	gpu_load_run(&load, 0, hour, hour);
	assert_int_equal(d->busy_ns, hour);
	assert_int_equal(gpu_load_busy(d, 2 * hour - 8 * BIN, 2 * hour), 8 * BIN);
	assert_int_equal(gpu_load_busy(d, 2 * hour, 3 * hour), 0);
	gpu_load_run(&load, 0, 10, 10); /* too long ago for a bin */
	assert_int_equal(d->busy_ns, hour + 10);
	assert_int_equal(gpu_load_busy(d, 0, hour), 0);
	gpu_load_release(&load);
}

static void memory_is_of_processes(void **state)
{
	struct gpu_load load = {.count = 0};

	(void)state;
	gpu_load_allocate(&load, 1, 0, 1000);
	gpu_load_allocate(&load, 2, 0, 500);
	gpu_load_allocate(&load, 2, 1, 7);
	gpu_load_allocate(&load, 1, 0, -400);
	assert_int_equal(gpu_load_memory(&load, 0), 1100);
	assert_int_equal(gpu_load_memory(&load, 1), 7);
	gpu_load_forget(&load, 2);
	assert_int_equal(gpu_load_memory(&load, 0), 600);
	assert_int_equal(gpu_load_memory(&load, 1), 0);
	/* freed what was allocated before tracing */
	gpu_load_allocate(&load, 3, 0, -5);
	assert_int_equal(gpu_load_memory(&load, 0), 600);
	for (uint32_t i = 0; i < 2 * GPU_LOAD_OWNERS; i++)
		gpu_load_allocate(&load, i, 2, INT64_MAX);
	for (uint32_t i = 0; i < 2 * GPU_LOAD_DEVICES; i++)
		gpu_load_run(&load, i, 1, 1);
	assert_int_equal(load.count, GPU_LOAD_DEVICES);
	gpu_load_release(&load);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(work_on_several_streams_counts_once),
		cmocka_unit_test(it_is_the_union),
		cmocka_unit_test(spans_are_bounded),
		cmocka_unit_test(long_work_fills_the_newest_bins),
		cmocka_unit_test(memory_is_of_processes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
