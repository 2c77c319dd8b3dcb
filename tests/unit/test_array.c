// SPDX-License-Identifier: MIT
#include "tests/unit/unit.h"

#include <stdlib.h>
#include <string.h>
#include "symbolize/util/array.h"

struct item {
	uint64_t a, b;
};

static void growing_keeps_elements(void **state)
{
	uint32_t count = 0, capacity = 0;
	struct item *items = NULL;

	(void)state;
	for (uint64_t i = 0; i < 10000; i++) {
		assert_true(array_make_room(&items, count, &capacity, sizeof(*items)));
		assert_true(capacity > count);
		items[count++] = (struct item){i, ~i};
	}
	for (uint64_t i = 0; i < count; i++) {
		assert_int_equal(items[i].a, i);
		assert_int_equal(items[i].b, ~i);
	}
	free(items);
}

static void arrays_grow_only_when_full(void **state)
{
	uint32_t capacity = 0;
	char *items = NULL;

	(void)state;
	assert_true(array_make_room(&items, 0, &capacity, 1));
	assert_int_equal(capacity, ARRAY_FIRST_CAPACITY);
	for (uint32_t count = 0; count < ARRAY_FIRST_CAPACITY; count++) {
		char *before = items;

		assert_true(array_make_room(&items, count, &capacity, 1));
		assert_ptr_equal(items, before);
		assert_int_equal(capacity, ARRAY_FIRST_CAPACITY);
	}
	assert_true(array_make_room(&items, ARRAY_FIRST_CAPACITY, &capacity, 1));
	assert_int_equal(capacity, 2 * ARRAY_FIRST_CAPACITY);
	free(items);
}

static void many_at_once(void **state)
{
	uint32_t capacity = 0;
	int *items = NULL;

	(void)state;
	assert_true(array_reserve(&items, 0, 1000, &capacity, sizeof(*items)));
	assert_true(capacity >= 1000);
	memset(items, 1, 1000 * sizeof(*items));
	free(items);
}

static void impossible_sizes_are_refused(void **state)
{
	uint32_t capacity = 0;
	int *items = NULL;

	(void)state;
	assert_false(array_reserve(&items, UINT32_MAX, 1, &capacity, sizeof(*items)));
	assert_false(array_reserve(&items, 1, UINT32_MAX - 1, &capacity, SIZE_MAX / 2));
	assert_null(items);
	assert_int_equal(capacity, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(growing_keeps_elements),
		cmocka_unit_test(arrays_grow_only_when_full),
		cmocka_unit_test(many_at_once),
		cmocka_unit_test(impossible_sizes_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
