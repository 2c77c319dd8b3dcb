/* SPDX-License-Identifier: MIT */
#include <pthread.h>
#include "unit.h"
#include "cupti_trace/buffers.h"

/* The pool lives as long as the process: there is no call to end it. */
static void release(struct buffers *b)
{
	while (b->free_count)
		free(b->free[--b->free_count]);
	pthread_mutex_destroy(&b->lock);
}

static uint8_t *get(struct buffers *b)
{
	size_t size = 0;
	uint8_t *buffer = buffers_get(b, 1, &size);

	assert_true(buffer ? size >= BUFFERS_MIN_SIZE && size <= BUFFERS_SIZE : size == 0);
	return buffer;
}

static void buffers_are_aligned_and_used_again(void **state)
{
	struct buffers b;
	uint8_t *one, *two;

	(void)state;
	buffers_init(&b, true);
	one = get(&b);
	two = get(&b);
	assert_non_null(one);
	assert_non_null(two);
	assert_ptr_not_equal(one, two);
	assert_int_equal((uintptr_t)one % 8, 0);
	memset(one, 0xff, BUFFERS_SIZE);
	buffers_put(&b, one);
	buffers_put(&b, NULL);
	assert_ptr_equal(get(&b), one);
	buffers_put(&b, one);
	buffers_put(&b, two);
	assert_int_equal(b.in_use, 0);
	release(&b);
}

static void take(struct buffers *b, uint8_t **taken, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		taken[i] = get(b);
		assert_non_null(taken[i]);
	}
}

static void give(struct buffers *b, uint8_t **taken, uint32_t n)
{
	while (n-- > 0)
		buffers_put(b, taken[n]);
}

static void the_pool_is_bounded_where_cupti_copes(void **state)
{
	uint8_t *taken[BUFFERS_MAX];
	struct buffers b;

	(void)state;
	buffers_init(&b, true);
	take(&b, taken, BUFFERS_MAX);
	assert_null(get(&b));
	assert_int_equal(b.in_use, BUFFERS_MAX);
	buffers_put(&b, taken[0]);
	taken[0] = get(&b);
	assert_non_null(taken[0]);
	assert_null(get(&b));
	give(&b, taken, BUFFERS_MAX);
	release(&b);
}

static void it_grows_where_cupti_would_crash(void **state)
{
	uint8_t *taken[2 * BUFFERS_MAX];
	struct buffers b;

	(void)state;
	buffers_init(&b, false);
	take(&b, taken, 2 * BUFFERS_MAX);
	give(&b, taken, 2 * BUFFERS_MAX);
	assert_int_equal(b.in_use, 0);
	assert_int_equal(b.free_count, BUFFERS_MAX); /* and shrinks again */
	release(&b);
}

static void shortness_shows_in_time(void **state)
{
	uint8_t *taken[BUFFERS_HIGH + 1];
	struct buffers b;

	(void)state;
	buffers_init(&b, true);
	take(&b, taken, BUFFERS_HIGH);
	assert_false(buffers_are_short(&b));
	taken[BUFFERS_HIGH] = get(&b);
	assert_true(buffers_are_short(&b));
	buffers_put(&b, taken[BUFFERS_HIGH]);
	assert_false(buffers_are_short(&b));
	give(&b, taken, BUFFERS_HIGH);
	release(&b);
}

/* Nobody gets a buffer that somebody else has. */
static void *mark_and_look(void *buffers)
{
	for (uint32_t i = 0; i < 2000; i++) {
		size_t size;
		uint8_t *mine = buffers_get(buffers, i, &size);
		uint64_t mark = (uint64_t)pthread_self() ^ i;
		bool intact;

		if (!mine)
			return buffers;
		memcpy(mine, &mark, sizeof(mark));
		buffers_are_short(buffers);
		intact = memcmp(mine, &mark, sizeof(mark)) == 0;
		buffers_put(buffers, mine);
		if (!intact)
			return buffers;
	}
	return NULL;
}

static void threads_never_share_a_buffer(void **state)
{
	pthread_t threads[4];
	struct buffers b;

	(void)state;
	buffers_init(&b, true);
	for (int i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, mark_and_look, &b), 0);
	for (int i = 0; i < 4; i++) {
		void *wrong;

		pthread_join(threads[i], &wrong);
		assert_null(wrong);
	}
	assert_int_equal(b.in_use, 0);
	release(&b);
}

/* The size given follows how long the last one lasted, within bounds. */
static size_t size_after(struct buffers *b, uint64_t *now_ns, uint64_t lasted_ns)
{
	uint8_t *buffer;
	size_t size;

	*now_ns += lasted_ns;
	buffer = buffers_get(b, *now_ns, &size);
	assert_non_null(buffer);
	buffers_put(b, buffer);
	return size;
}

static void fast_kernels_get_large_buffers_and_slow_ones_small(void **state)
{
	uint64_t now = 1000;
	size_t size = BUFFERS_MIN_SIZE;
	struct buffers b;

	(void)state;
	buffers_init(&b, true);
	assert_int_equal(size_after(&b, &now, 0), size);
	while (size < BUFFERS_SIZE) {
		size *= 2;
		assert_int_equal(size_after(&b, &now, BUFFERS_PERIOD_NS / 10), size);
	}
	assert_int_equal(size, BUFFERS_SIZE);
	assert_int_equal(size_after(&b, &now, 1), BUFFERS_SIZE);
	assert_int_equal(size_after(&b, &now, BUFFERS_PERIOD_NS), BUFFERS_SIZE);
	while (size > BUFFERS_MIN_SIZE) {
		size /= 2;
		assert_int_equal(size_after(&b, &now, BUFFERS_PERIOD_NS * 5), size);
	}
	assert_int_equal(size_after(&b, &now, BUFFERS_PERIOD_NS * 50), BUFFERS_MIN_SIZE);
	release(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(buffers_are_aligned_and_used_again),
		cmocka_unit_test(the_pool_is_bounded_where_cupti_copes),
		cmocka_unit_test(it_grows_where_cupti_would_crash),
		cmocka_unit_test(shortness_shows_in_time),
		cmocka_unit_test(fast_kernels_get_large_buffers_and_slow_ones_small),
		cmocka_unit_test(threads_never_share_a_buffer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
