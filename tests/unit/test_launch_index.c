// SPDX-License-Identifier: MIT
#include "profiler/model/launch_index.h"

#include "unit.h"

static void add(struct launch_index *index, uint32_t process, uint32_t correlation, uint64_t ns)
{
	assert_int_equal(launch_index_add(index, process, correlation,
					  (struct indexed_launch){.start_ns = ns,
								  .thread = 7,
								  .stack = correlation + 1}),
			 0);
}

static void test_finds_by_process_and_correlation(void **state)
{
	struct launch_index index = {.limit = 0};
	const struct indexed_launch *launch;

	(void)state;
	assert_null(launch_index_find(&index, 1, 5));
	add(&index, 1, 5, 100);
	add(&index, 2, 5, 200);
	add(&index, UINT32_MAX, UINT32_MAX, 300);
	launch = launch_index_find(&index, 1, 5);
	assert_non_null(launch);
	assert_int_equal(launch->start_ns, 100);
	assert_int_equal(launch->thread, 7);
	assert_int_equal(launch->stack, 6);
	assert_int_equal(launch_index_find(&index, 2, 5)->start_ns, 200);
	assert_int_equal(launch_index_find(&index, UINT32_MAX, UINT32_MAX)->start_ns, 300);
	assert_null(launch_index_find(&index, 5, 1));
	assert_null(launch_index_find(&index, 0, 5));
	launch_index_release(&index);
}

static void test_id_0_is_unknown(void **state)
{
	struct launch_index index = {.limit = 0};

	(void)state;
	add(&index, 1, 0, 100);
	assert_null(launch_index_find(&index, 1, 0));
	assert_int_equal(index.newer.count, 0);
	launch_index_release(&index);
}

static void test_the_latest_of_equal_launches_is_found(void **state)
{
	struct launch_index index = {.limit = 2};

	(void)state;
	add(&index, 1, 5, 100);
	add(&index, 1, 5, 150);
	assert_int_equal(launch_index_find(&index, 1, 5)->start_ns, 150);
	add(&index, 1, 6, 160);
	add(&index, 1, 7, 170); /* a new generation */
	add(&index, 1, 5, 180); /* the id is used again; the old launch is still there */
	assert_int_equal(launch_index_find(&index, 1, 5)->start_ns, 180);
	assert_int_equal(launch_index_find(&index, 1, 6)->start_ns, 160);
	launch_index_release(&index);
}

static void test_keeps_the_latest_and_is_bounded(void **state)
{
	enum { LIMIT = 100, COUNT = 1234 };
	struct launch_index index = {.limit = LIMIT};

	(void)state;
	for (uint32_t i = 1; i <= COUNT; i++) {
		add(&index, 1, i, i);
		for (uint32_t old = i > LIMIT ? i - LIMIT + 1 : 1; old <= i; old++)
			assert_int_equal(launch_index_find(&index, 1, old)->start_ns, old);
		if (i > 2 * LIMIT)
			assert_null(launch_index_find(&index, 1, i - 2 * LIMIT));
		assert_true(index.newer.count <= LIMIT && index.older.count <= LIMIT);
	}
	launch_index_release(&index);
}

static void test_default_limit(void **state)
{
	struct launch_index index = {.limit = 0};
	const uint32_t count = 3 * LAUNCH_INDEX_ENTRIES + 10;

	(void)state;
	for (uint32_t i = 1; i <= count; i++)
		add(&index, 3, i, i);
	assert_int_equal(launch_index_find(&index, 3, count - LAUNCH_INDEX_ENTRIES + 1)->start_ns,
			 count - LAUNCH_INDEX_ENTRIES + 1);
	assert_null(launch_index_find(&index, 3, count - 2 * LAUNCH_INDEX_ENTRIES));
	assert_int_equal(index.newer.capacity, LAUNCH_INDEX_ENTRIES);
	launch_index_release(&index);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_finds_by_process_and_correlation),
		cmocka_unit_test(test_id_0_is_unknown),
		cmocka_unit_test(test_the_latest_of_equal_launches_is_found),
		cmocka_unit_test(test_keeps_the_latest_and_is_bounded),
		cmocka_unit_test(test_default_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
