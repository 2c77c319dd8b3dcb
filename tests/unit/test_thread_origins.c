/* SPDX-License-Identifier: MIT */
/*
 * Threads below the stacks that created them: chains, their limit, numbers that are used again.
 */
#include "unit.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "profiler/cpu/thread_origins.h"

#define P 7

struct bench {
	struct stack_table *stacks;
	struct quota quota;
	struct thread_origins origins;
};

static int setup(void **state)
{
	struct bench *b = calloc(1, sizeof(*b));

	b->stacks = stack_table_new();
	b->quota.limit = 1 << 20;
	b->origins.stacks = b->stacks;
	b->origins.quota = &b->quota;
	*state = b;
	return 0;
}

static int teardown(void **state)
{
	struct bench *b = *state;

	thread_origins_release(&b->origins);
	stack_table_free(b->stacks);
	free(b);
	return 0;
}

static struct stack_id stack(struct bench *b, const char *text)
{
	return stack_table_push_text(b->stacks, STACK_EMPTY, FRAME_NVTX, text);
}

/* Adds a stack of a frame with this line. */
static struct stack_id numbered(struct bench *b, uint32_t line)
{
	struct frame frame;

	memset(&frame, 0, sizeof(frame));
	frame.kind = FRAME_PYTHON;
	frame.text = "f";
	frame.line = line;
	return stack_table_push(b->stacks, STACK_EMPTY, &frame);
}

/* Expects a stack, outermost frame first. */
static void expect_stack(struct bench *b, uint32_t at, const char *expected)
{
	size_t left = strlen(expected);

	/* from the innermost frame, the last text */
	for (; at != STACK_EMPTY.number; at = stack_table_outer(b->stacks, STACK_ID(at)).number) {
		const char *text = stack_table_frame(b->stacks, STACK_ID(at))->text;
		size_t length = strlen(text);

		assert_true(left >= length);
		left -= length;
		assert_memory_equal(expected + left, text, length);
		if (left > 0)
			assert_int_equal(expected[--left], ';');
	}
	assert_int_equal(left, 0);
}

static void add(struct bench *b, uint32_t creator, uint32_t tid, const char *text)
{
	assert_int_equal(thread_origins_add(&b->origins, P, creator, tid, stack(b, text)), 0);
}

static void expect_below(struct bench *b, uint32_t process, uint32_t tid, const char *expected)
{
	/* a second time from what is remembered */
	for (int i = 0; i < 2; i++)
		expect_stack(
			b, thread_origins_below(&b->origins, process, tid, stack(b, "own")).number,
			expected);
}

static void a_thread_is_below_the_stack_that_created_it(void **state)
{
	struct bench *b = *state;

	expect_below(b, P, 2, "own");
	add(b, 1, 2, "main");
	expect_below(b, P, 2, "main;[started a thread];own");
	expect_below(b, P, 1, "own");
	expect_below(b, P + 1, 2, "own");
	add(b, 2, 3, "second");
	expect_below(b, P, 3, "main;[started a thread];second;[started a thread];own");
	add(b, 1, 2, "again"); /* another thread with that number */
	expect_below(b, P, 2, "again;[started a thread];own");
	thread_origins_forget(&b->origins, P);
	expect_below(b, P, 2, "own");
	expect_below(b, P, 3, "own");
	assert_int_equal(b->quota.used, 0);
}

static void it_is_asked_for_once(void **state)
{
	struct bench *b = *state;

	assert_true(thread_origins_ask(&b->origins, P, 2));
	assert_false(thread_origins_ask(&b->origins, P, 2));
	assert_true(thread_origins_ask(&b->origins, P + 1, 2));
	expect_below(b, P, 2, "own");
	add(b, 2, 3, "first");
	expect_below(b, P, 3, "first;[started a thread];own");
	assert_false(thread_origins_ask(&b->origins, P, 3));
	add(b, 1, 2, "main"); /* found after all */
	expect_below(b, P, 2, "main;[started a thread];own");
}

static void chains_have_a_limit(void **state)
{
	struct bench *b = *state;
	uint32_t depth = 0, at;

	for (uint32_t i = 1; i <= THREAD_ORIGINS_DEPTH; i++)
		add(b, i, i + 1, "creator");
	at = thread_origins_below(&b->origins, P, THREAD_ORIGINS_DEPTH + 1, stack(b, "own")).number;
	for (; at != STACK_EMPTY.number; at = stack_table_outer(b->stacks, STACK_ID(at)).number)
		depth++;
	assert_int_equal(depth, 2 * THREAD_ORIGINS_DEPTH + 1);
	add(b, THREAD_ORIGINS_DEPTH + 1, THREAD_ORIGINS_DEPTH + 2, "creator");
	expect_below(b, P, THREAD_ORIGINS_DEPTH + 2, "creator;[started a thread];own");
}

static void memory_is_bounded(void **state)
{
	struct bench *b = *state;
	uint32_t refused = 0, i;

	for (i = 1; i <= 100000; i++)
		refused += thread_origins_add(&b->origins, P, 0, i, stack(b, "main")) == -ENOSPC;
	assert_in_range(refused, 1, 99999);
	assert_true(b->quota.used <= b->quota.limit);
	expect_below(b, P, 1, "main;[started a thread];own");
	expect_below(b, P, 100000, "own");
	/* the memo of composed stacks is bounded, too */
	for (i = 0; i < 2 * THREAD_ORIGINS_MEMO_MAX; i++)
		thread_origins_below(&b->origins, P, 1, numbered(b, i));
	assert_true(b->origins.memo.count <= THREAD_ORIGINS_MEMO_MAX);
	thread_origins_forget(&b->origins, P);
	assert_int_equal(b->quota.used, 0);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(a_thread_is_below_the_stack_that_created_it),
		TEST(it_is_asked_for_once),
		TEST(chains_have_a_limit),
		TEST(memory_is_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
