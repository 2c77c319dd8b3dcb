// SPDX-License-Identifier: MIT
#include "made_result.h"
#include "profiler/shape/module_table.h"

static void each_file_is_there_once_with_its_pages(void **state)
{
	static const char *const app = "/bin/app", *const libc = "/lib/libc.so.6",
				 *const other = "/x/y.so.d/z";
	struct made_result m;
	struct module_table t;

	(void)state;
	made_begin(&m);
	made_push(&m, RESULT_ROOT, "kernel");
	for (uint32_t i = 0; i < 4; i++)
		made_push(&m, RESULT_ROOT, "f");
	made_push(&m, RESULT_ROOT, "last");
	m.frames[2].module = app;
	m.frames[2].offset = 0x1fff;
	m.frames[2].build_id = "abcd";
	m.frames[3].module = libc;
	m.frames[4].module = app;
	m.frames[4].offset = 0x10;
	m.frames[5].module = other;
	m.frames[6].module = libc;
	m.frames[6].offset = UINT64_MAX;
	assert_int_equal(module_table_init(&t, &m.result), 0);
	assert_int_equal(t.modules.count, 3);
	assert_int_equal(t.of_frame[1], NO_MODULE);
	assert_int_equal(t.of_frame[2], 0);
	assert_int_equal(t.of_frame[3], 1);
	assert_int_equal(t.of_frame[4], 0);
	assert_int_equal(t.of_frame[5], 2);
	assert_int_equal(t.of_frame[6], 1);
	assert_ptr_equal(t.modules.list[0].path, app);
	assert_string_equal(t.modules.list[0].build_id, "abcd");
	assert_int_equal(module_end(&t.modules.list[0]), 0x2000);
	assert_int_equal(module_end(&t.modules.list[1]), UINT64_MAX);
	assert_int_equal(module_end(&t.modules.list[2]), 0x1000);
	assert_false(t.modules.list[0].is_library);
	assert_true(t.modules.list[1].is_library);
	assert_false(t.modules.list[2].is_library);
	module_table_release(&t);
	made_end(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_file_is_there_once_with_its_pages)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
