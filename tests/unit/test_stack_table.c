/* SPDX-License-Identifier: MIT */
#include "unit.h"
#include "profiler/profile/stack_table.h"

static struct frame code(uint32_t module, uint64_t offset, enum frame_kind kind)
{
	struct frame f;

	memset(&f, 0, sizeof(f));
	f.kind = kind;
	f.code = (struct code_ref){.module = module, .offset = offset};
	return f;
}

static struct frame text(const char *name)
{
	struct frame f;

	memset(&f, 0, sizeof(f));
	f.kind = FRAME_TEXT;
	f.text = name;
	return f;
}

static uint32_t add(struct stack_table *t, const struct frame *frames, uint32_t count)
{
	uint32_t id = UINT32_MAX;

	assert_int_equal(stack_table_add(t, frames, count, &id), 0);
	return id;
}

static void equal_stacks_are_one(void **state)
{
	struct stack_table *t = stack_table_new();
	struct frame a[] = {code(1, 5, FRAME_CODE), code(1, 6, FRAME_RETURN), text("main")};
	struct frame b[] = {code(1, 5, FRAME_CODE), code(1, 6, FRAME_RETURN), text("main")};
	uint32_t id = add(t, a, 3);

	(void)state;
	b[2].text = a[2].text;
	assert_int_equal(add(t, b, 3), id);
	assert_int_equal(stack_table_count(t), 1);
	/* each of these differs in one thing */
	assert_int_not_equal(add(t, a, 2), id);
	assert_int_not_equal(add(t, a + 1, 2), id);
	b[0].kind = FRAME_RETURN;
	assert_int_not_equal(add(t, b, 3), id);
	b[0] = code(2, 5, FRAME_CODE);
	assert_int_not_equal(add(t, b, 3), id);
	b[0] = code(1, 5, FRAME_CODE);
	b[0].code.process = 9;
	assert_int_not_equal(add(t, b, 3), id);
	b[0] = b[1];
	b[1] = a[0];
	assert_int_not_equal(add(t, b, 3), id);
	assert_int_equal(stack_table_count(t), 7);
	stack_table_free(t);
	stack_table_free(NULL);
}

static void an_empty_stack_is_a_stack(void **state)
{
	struct stack_table *t = stack_table_new();
	struct frame one = text("x");
	uint32_t count = 99, id = add(t, NULL, 0);

	(void)state;
	assert_int_equal(add(t, &one, 0), id);
	assert_int_not_equal(add(t, &one, 1), id);
	stack_table_get(t, id, &count);
	assert_int_equal(count, 0);
	stack_table_free(t);
}

/* Frame i of stack n, from n alone. */
static struct frame frame_of(uint32_t n, uint32_t i)
{
	return i % 7 == 3 ? text("text") : code(n % 5, (uint64_t)n << (i % 30), FRAME_RETURN);
}

static uint32_t make_stack(uint32_t n, struct frame *frames)
{
	uint32_t count = 1 + n * 7 % 254;

	for (uint32_t i = 0; i < count; i++)
		frames[i] = frame_of(n, i);
	return count;
}

static void many_stacks_come_back_as_they_were(void **state)
{
	enum { STACKS = 3000 };
	struct stack_table *t = stack_table_new();
	struct frame frames[256];

	(void)state;
	for (uint32_t n = 0; n < STACKS; n++)
		assert_int_equal(add(t, frames, make_stack(n, frames)), n);
	for (uint32_t n = STACKS; n-- > 0;) {
		uint32_t count, expected = make_stack(n, frames);
		const struct frame *got;

		assert_int_equal(add(t, frames, expected), n);
		got = stack_table_get(t, n, &count);
		assert_int_equal(count, expected);
		assert_memory_equal(got, frames, count * sizeof(*frames));
	}
	assert_int_equal(stack_table_count(t), STACKS);
	stack_table_free(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(equal_stacks_are_one),
		cmocka_unit_test(an_empty_stack_is_a_stack),
		cmocka_unit_test(many_stacks_come_back_as_they_were),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
