// SPDX-License-Identifier: MIT
#include "unit.h"
#include "profiler/shape/text_table.h"

static void texts_have_one_number_each(void **state)
{
	struct text_table t = {.count = 0};
	char text[16], copy[] = "text 7";

	(void)state;
	assert_int_equal(text_table_number(&t, ""), 0);
	for (uint32_t round = 0; round < 2; round++)
		for (uint32_t i = 0; i < 1000; i++) {
			snprintf(text, sizeof(text), "text %u", i);
			assert_int_equal(text_table_number(&t, text_table_keep(&t, text)), i + 1);
		}
	assert_int_equal(t.count, 1001);
	assert_int_equal(text_table_number(&t, copy), 8);
	assert_string_equal(t.list[8], "text 7");
	assert_ptr_equal(t.list[8], text_table_keep(&t, copy));
	assert_false(t.failed);
	text_table_release(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(texts_have_one_number_each)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
