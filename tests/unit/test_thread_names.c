// SPDX-License-Identifier: MIT
#include "unit.h"
#include "profiler/cpu/thread_names.h"

#define INHERITED true
#define LONG_NAME "a-name-that-is-long"
#define CUT_NAME "a-name-that-is-"

static void the_newest_counts_that_had_time(void **state)
{
	struct quota quota = {.limit = 4096};
	struct thread_names n = {.quota = &quota};

	(void)state;
	assert_null(thread_names_choose(&n, 7, 1, "python3", INHERITED));
	assert_int_equal(thread_names_learn(&n, 7, 100, "one"), 1);
	assert_string_equal(thread_names_choose(&n, 7, 1, "python3", INHERITED), "one");
	assert_int_equal(thread_names_learn(&n, 7, 200, "one"), 0);
	assert_int_equal(thread_names_learn(&n, 7, 300, "two"), 0);
	assert_int_equal(thread_names_learn(&n, 7, 400, "two"), 0); /* known since 300 */
	assert_false(thread_names_waits(&n, 7, 299));
	assert_string_equal(thread_names_choose(&n, 7, 299, "python3", INHERITED), "one");
	assert_string_equal(thread_names_choose(&n, 7, 0, "python3", INHERITED), "one");
	assert_true(thread_names_waits(&n, 7, 300));
	assert_string_equal(thread_names_choose(&n, 7, 300, "python3", INHERITED), "two");
	assert_false(thread_names_waits(&n, 7, 300));
	/* back before any time was spent */
	assert_int_equal(thread_names_learn(&n, 7, 500, "three"), 0);
	assert_int_equal(thread_names_learn(&n, 7, 600, "two"), 0);
	assert_string_equal(thread_names_choose(&n, 7, 700, "python3", INHERITED), "two");
	assert_null(thread_names_choose(&n, 8, 700, "python3", INHERITED));
	thread_names_forget(&n, 7);
	assert_null(thread_names_choose(&n, 7, 700, "python3", INHERITED));
	thread_names_release(&n);
	assert_int_equal(quota.used, 0);
}

static void names_that_the_program_set_win(void **state)
{
	struct thread_names n = {0};

	(void)state;
	assert_int_equal(thread_names_set_comm(&n, 7, "own"), 0);
	assert_int_equal(thread_names_learn(&n, 7, 1, "python's"), 1);
	assert_null(thread_names_choose(&n, 7, 2, "own", INHERITED));
	assert_int_equal(thread_names_learn(&n, 8, 1, "python's"), 1);
	assert_int_equal(thread_names_set_comm(&n, 8, "own"), 0);
	assert_null(thread_names_choose(&n, 8, 2, "own", INHERITED));
	/* set before it was known */
	assert_int_equal(thread_names_learn(&n, 9, 1, "python's"), 1);
	assert_null(thread_names_choose(&n, 9, 2, "own", !INHERITED));
	assert_string_equal(thread_names_choose(&n, 9, 2, NULL, !INHERITED), "python's");
	thread_names_release(&n);
}

static void the_start_of_a_name_is_not_the_programs(void **state)
{
	struct thread_names n = {0};

	(void)state;
	/* names in either order, and a newer name that the kernel does not have */
	assert_int_equal(thread_names_set_comm(&n, 7, CUT_NAME), 0);
	assert_int_equal(thread_names_learn(&n, 7, 1, LONG_NAME), 1);
	assert_string_equal(thread_names_choose(&n, 7, 2, CUT_NAME, INHERITED), LONG_NAME);
	assert_int_equal(thread_names_learn(&n, 8, 1, LONG_NAME), 1);
	assert_int_equal(thread_names_set_comm(&n, 8, CUT_NAME), 0);
	assert_int_equal(thread_names_learn(&n, 8, 3, "another"), 0);
	assert_string_equal(thread_names_choose(&n, 8, 4, CUT_NAME, INHERITED), "another");
	/* the program itself, after that */
	assert_int_equal(thread_names_set_comm(&n, 8, "own"), 0);
	assert_null(thread_names_choose(&n, 8, 5, "own", INHERITED));
	/* too short to have been cut */
	assert_int_equal(thread_names_learn(&n, 9, 1, LONG_NAME), 1);
	assert_int_equal(thread_names_set_comm(&n, 9, "a-name"), 0);
	assert_null(thread_names_choose(&n, 9, 2, "a-name", INHERITED));
	assert_int_equal(thread_names_learn(&n, 10, 1, LONG_NAME), 1);
	assert_string_equal(thread_names_choose(&n, 10, 2, CUT_NAME, !INHERITED), LONG_NAME);
	thread_names_release(&n);
}

static void ids_of_another_namespace(void **state)
{
	struct thread_names n = {0};
	struct id_map outer = {0};

	(void)state;
	assert_int_equal(thread_names_learn(&n, 5, 1, "one"), 1);
	assert_false(thread_names_has_inner(&n, 5));
	assert_int_equal(thread_names_set_inner(&n, 5, 2), 0);
	assert_int_equal(thread_names_set_inner(&n, 6, 3), 0);
	assert_int_equal(thread_names_learn(&n, 7, 1, "two"), 1);
	assert_true(thread_names_has_inner(&n, 5));
	assert_int_equal(thread_names_by_inner(&n, &outer), 0);
	assert_int_equal(outer.count, 2);
	assert_int_equal(*id_map_find(&outer, 2), 5);
	assert_int_equal(*id_map_find(&outer, 3), 6);
	id_map_release(&outer);
	thread_names_release(&n);
}

static void threads_that_come_and_go(void **state)
{
	struct quota quota = {.limit = 100 * THREAD_NAMES_ENDED * 4};
	struct thread_names n = {.quota = &quota};
	const uint32_t last = 10 * THREAD_NAMES_ENDED;

	(void)state;
	for (uint32_t i = 1; i <= last; i++) {
		assert_int_equal(thread_names_learn(&n, i, i, "thread"), 1);
		thread_names_end(&n, i);
		thread_names_end(&n, i);
		assert_non_null(thread_names_choose(&n, i, i, "python3", INHERITED));
	}
	assert_int_equal(n.by_thread.count, THREAD_NAMES_ENDED);
	assert_null(thread_names_choose(&n, last - THREAD_NAMES_ENDED, last, NULL, INHERITED));
	/* one that has the id of one that ended stays */
	thread_names_forget(&n, last);
	assert_int_equal(thread_names_learn(&n, last, last, "another"), 1);
	for (uint32_t i = 1; i <= 2 * THREAD_NAMES_ENDED; i++) {
		assert_int_equal(thread_names_learn(&n, last + i, last, "thread"), 1);
		thread_names_end(&n, last + i);
	}
	assert_string_equal(thread_names_choose(&n, last, last, NULL, INHERITED), "another");
	assert_int_equal(quota.refused, 0);
	/* no room */
	for (uint32_t i = 1; i <= last; i++)
		assert_in_range(thread_names_learn(&n, 10 * last + i, last, "thread"), 0, 1);
	assert_in_range(quota.refused, 1, last);
	assert_null(thread_names_choose(&n, 11 * last, last, NULL, INHERITED));
	thread_names_release(&n);
	assert_int_equal(quota.used, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_newest_counts_that_had_time),
		cmocka_unit_test(names_that_the_program_set_win),
		cmocka_unit_test(the_start_of_a_name_is_not_the_programs),
		cmocka_unit_test(ids_of_another_namespace),
		cmocka_unit_test(threads_that_come_and_go),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
