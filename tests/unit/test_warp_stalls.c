/* SPDX-License-Identifier: MIT */
/* Page faults and the kernels that ran meanwhile: pieces add up, and are correct. */
#include "unit.h"
#include "profiler/addons/warp_stalls.h"

#define MOST 4096

/* Pieces by the kernel's number; 0: none. */
struct bench {
	struct warp_stalls *stalls;
	uint64_t ns[MOST];
	uint64_t total;
};

static void note(void *context, const struct warp_stalls_stall *stall,
		 const struct gpu_work_origin *origin, uint64_t ns)
{
	struct bench *b = context;
	uint32_t number = origin ? origin->launch.number : 0;

	assert_int_equal(stall->place.number, 70 + stall->device);
	assert_true(ns > 0);
	assert_true(number < MOST);
	b->ns[number] += ns;
	b->total += ns;
}

static int begin(void **state)
{
	struct bench *b = calloc(1, sizeof(*b));

	if (!b)
		return -1;
	*state = b;
	b->stalls = warp_stalls_new(&(struct warp_stalls_output){note, b});
	return b->stalls ? 0 : -1;
}

static int end(void **state)
{
	struct bench *b = *state;

	warp_stalls_free(b->stalls);
	free(b);
	return 0;
}

static void ran_on(struct bench *b, uint32_t number, uint32_t process, uint32_t device,
		   uint64_t from, uint64_t to)
{
	assert_int_equal(
		warp_stalls_add_kernel(b->stalls,
				       &(struct warp_stalls_kernel){.start_ns = from,
								    .end_ns = to,
								    .process = process,
								    .device = device,
								    .origin.launch = {number}}),
		0);
}

static void ran(struct bench *b, uint32_t number, uint64_t from, uint64_t to)
{
	ran_on(b, number, 1, 0, from, to);
}

static void stalled_on(struct bench *b, uint32_t process, uint32_t device, uint64_t from,
		       uint64_t to)
{
	assert_int_equal(
		warp_stalls_add(b->stalls, &(struct warp_stalls_stall){.start_ns = from,
								       .end_ns = to,
								       .process = process,
								       .device = device,
								       .place = {70 + device}}),
		0);
}

static void stalled(struct bench *b, uint64_t from, uint64_t to)
{
	stalled_on(b, 1, 0, from, to);
}

static void a_stall_belongs_to_the_kernel_around_it(void **state)
{
	struct bench *b = *state;

	stalled(b, 120, 150);
	ran(b, 1, 100, 200);
	ran(b, 2, 200, 300);
	stalled(b, 210, 215);
	stalled(b, 290, 320);
	stalled(b, 50, 60);
	stalled(b, 60, 60);
	ran(b, 3, 55, 55);
	warp_stalls_finish(b->stalls);
	assert_int_equal(b->ns[1], 30);
	assert_int_equal(b->ns[2], 5 + 10);
	assert_int_equal(b->ns[0], 20 + 10);
	assert_int_equal(b->total, 75);
}

static void processes_and_devices_are_apart(void **state)
{
	struct bench *b = *state;

	ran_on(b, 1, 1, 0, 100, 200);
	ran_on(b, 2, 1, 1, 100, 200);
	ran_on(b, 3, 2, 0, 100, 200);
	stalled_on(b, 2, 1, 100, 110);
	stalled_on(b, 1, 1, 100, 120);
	stalled_on(b, 2, 0, 100, 103);
	stalled_on(b, 1, 0, 100, 107);
	warp_stalls_finish(b->stalls);
	assert_int_equal(b->ns[1], 7);
	assert_int_equal(b->ns[2], 20);
	assert_int_equal(b->ns[3], 3);
	assert_int_equal(b->ns[0], 10);
}

static void each_moment_counts_once(void **state)
{
	struct bench *b = *state;

	ran(b, 1, 100, 200);
	ran(b, 2, 150, 400);
	ran(b, 3, 160, 180);
	ran(b, 4, 500, 600);
	stalled(b, 140, 550);
	stalled(b, 145, 165); /* another group in that time */
	warp_stalls_finish(b->stalls);
	assert_int_equal(b->ns[1], 60 + 20);
	assert_int_equal(b->ns[2], 200);
	assert_int_equal(b->ns[3], 0);
	assert_int_equal(b->ns[4], 50);
	assert_int_equal(b->ns[0], 100);
	assert_int_equal(b->total, 410 + 20);
}

/* Kernels come in any order, and long after their stalls, in more than the ring holds. */
static void what_is_not_decided_waits_for_its_kernel(void **state)
{
	struct bench *b = *state;

	warp_stalls_remember(b->stalls, 8, 64);
	for (uint32_t i = 0; i < 50; i++)
		stalled(b, 1000 * i + 100, 1000 * i + 200);
	for (uint32_t i = 50; i-- > 0;)
		ran(b, i + 1, 1000 * i + 50, 1000 * i + 150);
	warp_stalls_finish(b->stalls);
	for (uint32_t i = 0; i < 50; i++)
		assert_int_equal(b->ns[i + 1], 50);
	assert_int_equal(b->ns[0], 50 * 50);
}

static void the_oldest_stalls_are_given_up(void **state)
{
	struct bench *b = *state;

	warp_stalls_remember(b->stalls, 1000, 8);
	for (uint32_t i = 0; i < 10; i++)
		stalled(b, 1000 * i + 100, 1000 * i + 200);
	assert_int_equal(b->ns[0], 4 * 100);
	for (uint32_t i = 0; i < 10; i++)
		ran(b, i + 1, 1000 * i, 1000 * i + 500);
	warp_stalls_finish(b->stalls);
	assert_int_equal(b->ns[1] + b->ns[4], 0);
	assert_int_equal(b->ns[5], 100);
	assert_int_equal(b->total, 1000);
}

static void memory_is_bounded(void **state)
{
	struct bench *b = *state;
	struct quota memory = {.limit = 0};

	warp_stalls_limit(b->stalls, &memory);
	for (uint32_t i = 0; i < 20000; i++) {
		ran(b, 1, 1000 * (uint64_t)i, 1000 * (uint64_t)i + 900);
		stalled(b, 1000 * (uint64_t)i + 100, 1000 * (uint64_t)i + 200);
	}
	warp_stalls_finish(b->stalls);
	assert_int_equal(b->total, 20000 * 100);
	assert_int_equal(b->ns[0], 0);
	assert_true(memory.refused > 0);
}

/* Random intervals, compared with a search at every moment. */
static void random_intervals(void **state)
{
	struct bench *b = *state;
	uint32_t random = 12345;
	uint64_t from[60], to[60], expected[61] = {0}, total = 0;

#define NEXT (random = random * 1103515245 + 12345, random >> 16)
	for (uint32_t i = 0; i < 60; i++) {
		from[i] = NEXT % 2000;
		to[i] = from[i] + NEXT % 200;
		ran(b, i + 1, from[i], to[i]);
	}
	for (uint32_t s = 0; s < 100; s++) {
		uint64_t start = NEXT % 2000, length = NEXT % 300;

		stalled(b, start, start + length);
		for (uint64_t at = start; at < start + length; at++) {
			uint32_t first = 60;

			for (uint32_t i = 0; i < 60; i++)
				if (from[i] <= at && at < to[i] &&
				    (first == 60 || from[i] < from[first]))
					first = i;
			expected[first == 60 ? 0 : first + 1]++;
		}
		total += length;
	}
	warp_stalls_finish(b->stalls);
	assert_int_equal(b->total, total);
	assert_int_equal(b->ns[0], expected[0]);
	for (uint32_t i = 1; i <= 60; i++)
		assert_int_equal(b->ns[i], expected[i]);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
	const struct CMUnitTest tests[] = {
		TEST(a_stall_belongs_to_the_kernel_around_it),
		TEST(processes_and_devices_are_apart),
		TEST(each_moment_counts_once),
		TEST(what_is_not_decided_waits_for_its_kernel),
		TEST(the_oldest_stalls_are_given_up),
		TEST(memory_is_bounded),
		TEST(random_intervals),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
