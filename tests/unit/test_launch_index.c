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
	struct launch_index index = {.entries = NULL};
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
	struct launch_index index = {.entries = NULL};

	(void)state;
	add(&index, 1, 0, 100);
	assert_null(launch_index_find(&index, 1, 0));
	assert_null(index.entries);
	launch_index_release(&index);
}

static void test_the_latest_of_equal_launches_is_found(void **state)
{
	struct launch_index index = {.entries = NULL};

	(void)state;
	add(&index, 1, 5, 100);
	add(&index, 1, 6, 110);
	add(&index, 1, 5, 150);
	assert_int_equal(launch_index_find(&index, 1, 5)->start_ns, 150);
	assert_int_equal(launch_index_find(&index, 1, 6)->start_ns, 110);
	launch_index_release(&index);
}

/* A process alone has the launches of its latest ids, whether these are dense or not. */
static void test_keeps_the_latest(void **state)
{
	(void)state;
	for (uint32_t stride = 1; stride <= 7; stride += 3) {
		struct launch_index index = {.entries = NULL};
		const uint32_t kept = LAUNCH_INDEX_ENTRIES / stride, count = 2 * kept + 10;

		for (uint32_t i = 1; i <= count; i++)
			add(&index, 3, i * stride, i);
		for (uint32_t i = count - kept + LAUNCH_INDEX_WAYS; i <= count; i++)
			assert_int_equal(launch_index_find(&index, 3, i * stride)->start_ns, i);
		if (stride < LAUNCH_INDEX_WAYS)
			assert_null(launch_index_find(&index, 3, stride));
		launch_index_release(&index);
	}
}

/* A full set drops the launch that began first. */
static void test_drops_the_first(void **state)
{
	struct launch_index index = {.entries = NULL};
	const uint32_t next = LAUNCH_INDEX_ENTRIES;

	(void)state;
	for (uint32_t i = 0; i < LAUNCH_INDEX_WAYS; i++)
		add(&index, 1, 4 + i * next, 1000 - i);
	add(&index, 1, 4 + LAUNCH_INDEX_WAYS * next, 2000);
	assert_null(launch_index_find(&index, 1, 4 + (LAUNCH_INDEX_WAYS - 1) * next));
	for (uint32_t i = 0; i + 1 < LAUNCH_INDEX_WAYS; i++)
		assert_non_null(launch_index_find(&index, 1, 4 + i * next));
	launch_index_release(&index);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_finds_by_process_and_correlation),
		cmocka_unit_test(test_id_0_is_unknown),
		cmocka_unit_test(test_the_latest_of_equal_launches_is_found),
		cmocka_unit_test(test_keeps_the_latest),
		cmocka_unit_test(test_drops_the_first),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
