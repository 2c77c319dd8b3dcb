// SPDX-License-Identifier: MIT
#include "made_result.h"
#include "profiler/formats/value_columns.h"

static void expect_columns(struct made_result *m, const int *expected, int count)
{
	struct value_columns c;

	value_columns_choose(&c, &m->result);
	assert_int_equal(c.count, count);
	assert_memory_equal(c.list, expected, (size_t)count * sizeof(*expected));
}

static void a_result_has_the_columns_of_its_rows(void **state)
{
	struct made_result m;
	uint32_t stack;

	(void)state;
	made_begin(&m);
	stack = made_push(&m, RESULT_ROOT, "main");
	expect_columns(&m, (int[]){COLUMN_OPERATIONS, COLUMN_BYTES, ROW_GPU, ROW_CPU}, 4);
	made_add(&m, stack, ROW_CPU, 1);
	expect_columns(&m, (int[]){COLUMN_OPERATIONS, COLUMN_BYTES, ROW_GPU, ROW_CPU}, 4);
	made_add(&m, stack, ROW_WAIT, 1);
	made_add(&m, stack, ROW_GPU, 1);
	expect_columns(&m, (int[]){COLUMN_OPERATIONS, COLUMN_BYTES, ROW_WAIT, ROW_CPU, ROW_GPU}, 5);
	made_end(&m);
}

static void values_are_those_of_the_kind(void **state)
{
	const struct row gpu = {.kind = ROW_GPU, .count = 3, .ns = 50, .bytes = 7};
	const struct row cpu = {.kind = ROW_CPU, .count = 3, .ns = 50};

	(void)state;
	assert_int_equal(value_column_of(&gpu, ROW_GPU), 50);
	assert_int_equal(value_column_of(&gpu, ROW_CPU), 0);
	assert_int_equal(value_column_of(&gpu, COLUMN_OPERATIONS), 3);
	assert_int_equal(value_column_of(&gpu, COLUMN_BYTES), 7);
	assert_int_equal(value_column_of(&cpu, ROW_CPU), 50);
	assert_int_equal(value_column_of(&cpu, COLUMN_OPERATIONS), 0);
	for (int i = 0; i < COLUMN_WEIGHT; i++) {
		assert_true(*value_column_type(NULL, i));
		assert_string_equal(value_column_unit(NULL, i), i == COLUMN_OPERATIONS ? "count"
								: i == COLUMN_BYTES
									? "bytes"
									: "nanoseconds");
	}
}

static void another_weight_takes_the_place_of_times(void **state)
{
	const char *const units[][2] = {{WEIGHT_BYTES, "bytes"},
					{WEIGHT_NS, "nanoseconds"},
					{"warp", "warp"},
					{"", "count"}};
	const struct row row = {.kind = ROW_GPU, .count = 3, .ns = 50};

	(void)state;
	for (int i = 0; i < 4; i++) {
		const struct weight weight = {"x__events.sum", "", units[i][0]};
		struct value_columns c;
		struct made_result m;

		made_begin(&m);
		m.result.weight = &weight;
		expect_columns(&m, (int[]){COLUMN_OPERATIONS, COLUMN_WEIGHT}, 2);
		value_columns_choose(&c, &m.result);
		assert_string_equal(value_column_type(&c, COLUMN_WEIGHT), "x__events.sum");
		assert_string_equal(value_column_unit(&c, COLUMN_WEIGHT), units[i][1]);
		made_end(&m);
	}
	assert_int_equal(value_column_of(&row, COLUMN_WEIGHT), 50);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_result_has_the_columns_of_its_rows),
		cmocka_unit_test(values_are_those_of_the_kind),
		cmocka_unit_test(another_weight_takes_the_place_of_times),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
