/* SPDX-License-Identifier: MIT */
#include "unit.h"
#include "profiler/model/pseudo_frames.h"
#include "profiler/shape/named_stacks.h"

static void each_stack_is_there_once(void **state)
{
	struct named_stacks s = {0};
	uint32_t main, outer = 0;

	(void)state;
	assert_true(named_stacks_begin(&s));
	main = named_stacks_add(&s, RESULT_ROOT, 7);
	assert_int_equal(main, 1);
	assert_int_equal(named_stacks_add(&s, RESULT_ROOT, 7), main);
	assert_int_equal(named_stacks_add(&s, main, 7), 2);
	for (uint32_t i = 0; i < 10000; i++) {
		uint32_t at = named_stacks_add(&s, outer, 100 + i);

		assert_true(at > outer);
		outer = at;
	}
	assert_int_equal(s.count, 10003);
	assert_int_equal(s.list[outer].frame, 100 + 9999);
	named_stacks_finish(&s);
	assert_int_equal(s.list[main].outer, RESULT_ROOT);
	named_stacks_release(&s);
	assert_int_equal(s.count, 0);
}

static void beyond_the_budget_is_one_stack(void **state)
{
	struct quota memory = {.limit = 2 * NAMED_STACK_BYTES + 1};
	struct named_stacks s = {0};
	uint32_t first, second, rest, at;

	(void)state;
	assert_true(named_stacks_begin(&s));
	assert_true(named_stacks_push(&s, RESULT_ROOT, 1, &memory, &first));
	assert_true(named_stacks_push(&s, first, 2, &memory, &second));
	assert_true(named_stacks_push(&s, RESULT_ROOT, 1, &memory, &at));
	assert_int_equal(at, first);
	assert_false(named_stacks_push(&s, second, 3, &memory, &at));
	assert_int_equal(memory.refused, 1);
	rest = named_stacks_rest(&s);
	assert_int_equal(s.rest, rest);
	assert_int_equal(named_stacks_rest(&s), rest);
	assert_int_equal(s.frames.count, 1);
	assert_string_equal(s.frames.list[s.list[rest].frame].name, PSEUDO_TOO_MANY_STACKS);
	assert_int_equal(s.list[rest].outer, RESULT_ROOT);
	/* nothing goes inside, and that is no further loss */
	assert_true(named_stacks_push(&s, rest, 3, &memory, &at));
	assert_int_equal(at, rest);
	assert_int_equal(memory.refused, 1);
	/* existing stacks are still found */
	assert_true(named_stacks_push(&s, first, 2, &memory, &at));
	assert_int_equal(at, second);
	assert_int_equal(s.count, 4);
	named_stacks_release(&s);
}

/* Equal frames keep the first frame's members that are not in the key. */
static void frames_are_equal_by_their_key(void **state)
{
	static const char name[] = "f", module[] = "/app/f", file[] = "f.py";
	const struct frame_info frames[] = {
		{.name = name},
		{.name = name, .class = CLASS_PYTHON},
		{.name = name, .line = 1},
		{.name = name, .file = file},
		{.name = name, .module = module},
		{.name = module},
	};
	struct named_stacks s = {0};

	(void)state;
	for (uint32_t i = 0; i < sizeof(frames) / sizeof(frames[0]); i++) {
		assert_int_equal(named_stacks_find_frame(&s, &frames[i]), RECORD_NONE);
		assert_int_equal(named_stacks_add_frame(&s, &frames[i]), i);
	}
	for (uint32_t i = 0; i < sizeof(frames) / sizeof(frames[0]); i++) {
		struct frame_info other = frames[i];

		other.short_name = other.source = other.build_id = file;
		other.offset = 7;
		assert_int_equal(named_stacks_find_frame(&s, &other), i);
		assert_null(s.frames.list[i].short_name);
	}
	named_stacks_release(&s);
}

static void frames_are_found_by_name(void **state)
{
	static const char name[] = "f", other[] = "g";
	struct named_stacks s = {0};

	(void)state;
	assert_int_equal(named_stacks_find_name(&s, name), RECORD_NONE);
	assert_int_equal(
		named_stacks_add_name(&s, &(struct frame_info){.name = name, .class = CLASS_PLACE}),
		0);
	assert_int_equal(named_stacks_add_name(&s, &(struct frame_info){.name = other}), 1);
	assert_int_equal(named_stacks_find_name(&s, name), 0);
	assert_int_equal(named_stacks_find_name(&s, other), 1);
	named_stacks_release(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_stack_is_there_once),
		cmocka_unit_test(beyond_the_budget_is_one_stack),
		cmocka_unit_test(frames_are_equal_by_their_key),
		cmocka_unit_test(frames_are_found_by_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
