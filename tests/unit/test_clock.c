/* SPDX-License-Identifier: MIT */
/* Conversion between a made-up CUPTI clock and CLOCK_MONOTONIC. */
#include "unit.h"
#include "cupti_trace/core/clock.h"

#define SECOND UINT64_C(1000000000)
#define TODAY UINT64_C(1750000000000000000) /* CUPTI's clock counts from 1970 */

static int64_t fake_ahead; /* offset of CLOCK_MONOTONIC, ns */
static int fake_result;

static int fake_timestamp(uint64_t *timestamp)
{
	*timestamp = clock_now_ns() + (uint64_t)fake_ahead;
	return fake_result;
}

static void measuring_finds_the_offset(void **state)
{
	static const int64_t cases[] = {0, 1, -5, 3600000000000, (int64_t)TODAY, -1000000000};
	struct cupti_api api = {.cuptiGetTimestamp = fake_timestamp};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct clock_point point;
		int64_t off;

		fake_ahead = cases[i];
		assert_int_equal(clock_measure(&api, &point), 0);
		off = point.offset_ns + cases[i];
		assert_true(off <= (int64_t)point.error_ns + 1);
		assert_true(-off <= (int64_t)point.error_ns + 1);
	}
}

static void a_clock_that_fails_is_an_error(void **state)
{
	struct cupti_api api = {.cuptiGetTimestamp = fake_timestamp};
	struct clock_point point;

	(void)state;
	fake_result = CUPTI_ABI_ERROR_NOT_INITIALIZED;
	assert_int_equal(clock_measure(&api, &point), -EIO);
	fake_result = CUPTI_ABI_SUCCESS;
}

static void one_point_is_a_plain_offset(void **state)
{
	struct clock_point p = {.at_ns = TODAY, .offset_ns = 1000 - (int64_t)TODAY, .error_ns = 50};
	struct clock_map map = {0};

	(void)state;
	clock_map_add(&map, &p);
	assert_int_equal(clock_map_convert(&map, TODAY, 0), 1000);
	assert_int_equal(clock_map_convert(&map, TODAY + 5, 0), 1005);
	assert_int_equal(clock_map_convert(&map, TODAY - 5, 0), 995);
}

static void measured_points_convert_exactly(void **state)
{
	struct clock_point a = {TODAY, 5000 - (int64_t)TODAY, 50};
	struct clock_point b = {TODAY + SECOND, 5200 - (int64_t)TODAY, 50};
	struct clock_map map = {0};

	(void)state;
	clock_map_add(&map, &a);
	clock_map_add(&map, &b);
	assert_int_equal(clock_map_convert(&map, a.at_ns, 0), 5000);
	assert_int_equal(clock_map_convert(&map, b.at_ns, 0), SECOND + 5200);
	assert_int_equal(clock_map_convert(&map, TODAY + SECOND / 2, 0), SECOND / 2 + 5100);
	assert_int_equal(clock_map_convert(&map, TODAY + 2 * SECOND, 0), 2 * SECOND + 5400);
	assert_int_equal(clock_map_convert(&map, TODAY - SECOND / 4, 0), 4950 - SECOND / 4);
}

static void senseless_points_are_ignored(void **state)
{
	struct clock_point good = {TODAY, -5, 1000}, later = {TODAY + 10, -6, 4000};
	struct clock_point bad[] = {
		{TODAY + 10, 99, 20001}, /* switched out in the middle */
		{TODAY + 10, 99, SECOND},
		{TODAY, 99, 10},          /* no time has passed */
		{TODAY - SECOND, 99, 10}, /* the clock was set back */
	};
	struct clock_map map = {0}, before;

	(void)state;
	clock_map_add(&map, &good);
	before = map;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		clock_map_add(&map, &bad[i]);
		assert_memory_equal(&map, &before, sizeof(map));
	}
	clock_map_add(&map, &later); /* a poor measurement, but within the usual */
	assert_memory_equal(&map.newer, &later, sizeof(later));
	assert_memory_equal(&map.older, &good, sizeof(good));
}

/* If every measurement of a machine is poor, poor ones are taken. */
static void poor_points_are_taken_where_all_are_poor(void **state)
{
	struct clock_point a = {TODAY, -5, 90000}, b = {TODAY + SECOND, -6, 100000};
	struct clock_map map = {0};

	(void)state;
	clock_map_add(&map, &a);
	clock_map_add(&map, &b);
	assert_int_equal(map.newer.at_ns, b.at_ns);
}

/*
 * A clock with any offset and drift is measured repeatedly without error. A time between two
 * measurements is right to 2 ns, because each offset is rounded. A time k intervals away is right
 * to 2 + 2k ns.
 */
static void drift_is_followed(void **state)
{
	uint64_t rounds = unit_rounds(3000);

	(void)state;
	for (uint64_t round = 0; round < rounds; round++) {
		struct prng p = prng_round(round);
		/* monotonic = cupti - base + drift * (cupti - base) / 2^32, whole numbers only */
		uint64_t base = TODAY + prng_bits(&p, 60);
		int64_t drift = (int64_t)prng_below(&p, 858993) - 429496; /* 100 ppm */
		uint64_t at = base + SECOND + prng_bits(&p, 40);
		struct clock_map map = {0};

		for (int i = 0; i < 20; i++) {
			uint64_t interval = 1000000 + prng_below(&p, 2 * SECOND);
			int64_t passed, expected, got, k;
			struct clock_point point;
			uint64_t t;

			at += interval;
			passed = (int64_t)(at - base);
			point = (struct clock_point){
				at, (int64_t)(((__int128)drift * passed) >> 32) - (int64_t)base,
				100};
			clock_map_add(&map, &point);
			EXPECT(&p, map.newer.at_ns == at);
			if (i == 0)
				continue;
			k = (int64_t)prng_below(&p, 4);
			t = at + (uint64_t)k * interval - prng_below(&p, interval);
			passed = (int64_t)(t - base);
			expected = passed + (int64_t)(((__int128)drift * passed) >> 32);
			got = (int64_t)clock_map_convert(&map, t, 0);
			EXPECT(&p, got - expected <= 2 + 2 * k && expected - got <= 2 + 2 * k);
		}
	}
}

static void now_is_monotonic(void **state)
{
	uint64_t last = clock_now_ns();

	(void)state;
	assert_true(last > 0);
	for (int i = 0; i < 1000; i++) {
		uint64_t now = clock_now_ns();

		assert_true(now >= last);
		last = now;
	}
}

/*
 * The clock is measured each second, and set back and forward in between. A record that arrives
 * soon enough has the right time, before and after a step. This holds even if two records have
 * equal times.
 */
static void a_clock_that_is_set_is_followed(void **state)
{
	static const int64_t steps[] = {-600, 600, -3, 86400, -7, 2};
	int64_t ahead = (int64_t)TODAY, ahead_before = ahead;
	struct clock_map map = {0};
	uint64_t now = 1000 * SECOND;

	(void)state;
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		for (int s = 0; s < 5; s++) {
			struct clock_point p = {now + (uint64_t)ahead, -ahead, 50};

			clock_map_add(&map, &p);
			/* times of this second and the last one, by their own clocks */
			assert_int_equal(clock_map_convert(&map, now - 5 + (uint64_t)ahead, now),
					 now - 5);
			if (s == 0)
				assert_int_equal(
					clock_map_convert(&map,
							  now - SECOND - 5 + (uint64_t)ahead_before,
							  now),
					now - SECOND - 5);
			now += SECOND;
		}
		assert_int_equal(map.steps, i < CLOCK_STEPS_MAX ? i : CLOCK_STEPS_MAX);
		ahead_before = ahead;
		ahead += steps[i] * (int64_t)SECOND;
	}
}

/* Work may run while the clock is ahead, even if the clock is set twice between two
 * measurements. */
static void a_clock_that_is_set_twice_in_between(void **state)
{
	static const uint64_t ahead[] = {600, 86400};

	(void)state;
	for (size_t i = 0; i < sizeof(ahead) / sizeof(ahead[0]); i++) {
		uint64_t now = 1000 * SECOND, was = ahead[i] * SECOND;
		struct clock_map map = {0};

		clock_map_add(&map, &(struct clock_point){now, 0, 50});
		clock_map_add(&map, &(struct clock_point){now + SECOND, 0, 50});
		now += 2 * SECOND;
		clock_map_add(&map, &(struct clock_point){now - 5 * SECOND, 5 * SECOND, 50});
		assert_int_equal(map.steps, 1);
		assert_int_equal(clock_map_convert(&map, now - SECOND / 2 + was, now), now);
		assert_int_equal(clock_map_convert(&map, now - 5 * SECOND - 5, now), now - 5);
		assert_int_equal(clock_map_convert(&map, now - SECOND - 5, now), now - SECOND - 5);
	}
}

static void a_clock_that_was_set_shows(void **state)
{
	struct cupti_api api = {.cuptiGetTimestamp = fake_timestamp};
	struct clock_map map = {0};
	struct clock_point point;

	(void)state;
	assert_false(clock_was_set(&api, &map));
	fake_ahead = (int64_t)TODAY;
	assert_int_equal(clock_measure(&api, &point), 0);
	clock_map_add(&map, &point);
	assert_false(clock_was_set(&api, &map));
	fake_ahead -= 600 * (int64_t)SECOND;
	assert_true(clock_was_set(&api, &map));
	assert_int_equal(clock_measure(&api, &point), 0);
	clock_map_add(&map, &point);
	assert_false(clock_was_set(&api, &map));
	assert_int_equal(map.steps, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_clock_that_is_set_is_followed),
		cmocka_unit_test(a_clock_that_is_set_twice_in_between),
		cmocka_unit_test(a_clock_that_was_set_shows),
		cmocka_unit_test(measuring_finds_the_offset),
		cmocka_unit_test(a_clock_that_fails_is_an_error),
		cmocka_unit_test(one_point_is_a_plain_offset),
		cmocka_unit_test(measured_points_convert_exactly),
		cmocka_unit_test(senseless_points_are_ignored),
		cmocka_unit_test(poor_points_are_taken_where_all_are_poor),
		cmocka_unit_test(drift_is_followed),
		cmocka_unit_test(now_is_monotonic),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
