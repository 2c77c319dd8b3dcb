/* SPDX-License-Identifier: MIT */
#include <pthread.h>
#include "unit.h"
#include "cupti_trace/core/buffers.h"

static uint8_t *get(struct buffers *b)
{
	size_t size = 0;
	uint8_t *buffer = buffers_get(b, 1, &size);

	assert_true(buffer ? size >= BUFFERS_MIN_SIZE && size <= BUFFERS_SIZE : size == 0);
	return buffer;
}

/* Gets ever larger buffers, until they are of full size. */
static void warm_up(struct buffers *b)
{
	while (b->size < BUFFERS_SIZE)
		buffers_put(b, get(b));
}

static void buffers_are_aligned_and_used_again(void **state)
{
	struct buffers b;
	uint8_t *one, *two;

	(void)state;
	buffers_init(&b, true);
	warm_up(&b);
	one = get(&b);
	two = get(&b);
	assert_non_null(one);
	assert_non_null(two);
	assert_ptr_not_equal(one, two);
	assert_int_equal((uintptr_t)one % 8, 0);
	memset(one, 0xff, BUFFERS_MIN_SIZE);
	buffers_put(&b, one);
	buffers_put(&b, NULL);
	assert_ptr_equal(get(&b), one);
	buffers_put(&b, one);
	buffers_put(&b, two);
	assert_int_equal(b.in_use, 0);
	buffers_release(&b);
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

enum { FULL_SIZED = BUFFERS_HIGH / BUFFERS_SIZE };

enum { MOST_FILLED = BUFFERS_FILLED_MAX / BUFFERS_SIZE };

static void filled_buffers_are_bounded_where_cupti_copes(void **state)
{
	static uint8_t *taken[MOST_FILLED + 2];
	struct buffers b;

	(void)state;
	buffers_init(&b, true);
	warm_up(&b);
	/* the last is being filled; one more for the one thread, and one to find out */
	take(&b, taken, MOST_FILLED + 2);
	assert_null(get(&b));
	assert_null(get(&b));
	assert_int_equal(b.in_use, MOST_FILLED + 2);
	assert_int_equal(b.kept, 0);
	buffers_put(&b, taken[0]);
	buffers_put(&b, taken[1]);
	taken[0] = get(&b);
	assert_non_null(taken[0]);
	taken[1] = get(&b);
	assert_non_null(taken[1]);
	assert_null(get(&b));
	give(&b, taken, MOST_FILLED + 2);
	assert_true(b.held == 0 && b.filled == 0 && b.kept <= BUFFERS_FILLED_MAX);
	buffers_release(&b);
}

static void it_grows_where_cupti_would_crash(void **state)
{
	static uint8_t *taken[2 * MOST_FILLED];
	struct buffers b;

	(void)state;
	buffers_init(&b, false);
	warm_up(&b);
	take(&b, taken, 2 * MOST_FILLED);
	assert_true(b.filled > BUFFERS_FILLED_MAX);
	give(&b, taken, 2 * MOST_FILLED);
	assert_int_equal(b.in_use, 0);
	assert_true(b.held == 0 && b.kept <= BUFFERS_FILLED_MAX); /* kept buffers shrink again */
	buffers_release(&b);
}

struct one_of_many {
	pthread_t thread;
	struct buffers *buffers;
	uint8_t *buffer;
	size_t size;
};

static void *take_one(void *argument)
{
	struct one_of_many *one = argument;

	one->buffer = buffers_get(one->buffers, 1, &one->size);
	return NULL;
}

/* Each thread's first buffer is not a backlog, and there is one for each of them. */
static void thousands_of_threads_each_hold_a_buffer(void **state)
{
	enum { THREADS = 5000 };
	static struct one_of_many many[THREADS];
	struct buffers b;

	(void)state;
	buffers_init(&b, true);
	warm_up(&b);
	for (int i = 0; i < THREADS; i++) {
		many[i].buffers = &b;
		assert_int_equal(pthread_create(&many[i].thread, NULL, take_one, &many[i]), 0);
		pthread_join(many[i].thread, NULL);
		assert_non_null(many[i].buffer);
	}
	assert_int_equal(many[0].size, BUFFERS_SIZE);
	assert_true(many[THREADS - 1].size < BUFFERS_SIZE);
	assert_int_equal(b.filled, 0);
	assert_false(buffers_are_short(&b));
	assert_true(b.held <= BUFFERS_UNFILLED + THREADS * BUFFERS_MIN_SIZE);
	for (int i = 0; i < THREADS; i++)
		buffers_put(&b, many[i].buffer);
	assert_int_equal(b.being_filled, 0);
	buffers_release(&b);
}

/* The last buffer of a thread is being filled; the others are filled. */
static void shortness_shows_in_time(void **state)
{
	static uint8_t *taken[FULL_SIZED + 2];
	bool returned = true;
	struct buffers b;

	(void)state;
	buffers_init(&b, true);
	warm_up(&b);
	take(&b, taken, FULL_SIZED + 1);
	assert_int_equal(b.filled, BUFFERS_HIGH);
	assert_false(buffers_are_short(&b));
	taken[FULL_SIZED + 1] = get(&b);
	assert_true(buffers_are_short(&b));
	assert_false(buffers_wait(&b, 1, &returned));
	assert_false(returned);
	buffers_give_up_waiting(&b);
	assert_false(buffers_are_short(&b)); /* waiting is of no use */
	buffers_put(&b, taken[FULL_SIZED + 1]);
	assert_true(buffers_are_short(&b)); /* until the state changes */
	buffers_put(&b, taken[0]);
	assert_false(buffers_are_short(&b));
	give(&b, taken + 1, FULL_SIZED);
	assert_int_equal(b.filled, 0);
	assert_true(buffers_wait(&b, 1, &returned));
	buffers_release(&b);
}

static void *give_all_back(void *argument)
{
	struct one_of_many *one = argument;

	for (int i = 0; i < FULL_SIZED + 2; i++)
		buffers_put(one->buffers, ((uint8_t **)one->buffer)[i]);
	return NULL;
}

static void who_waits_is_woken(void **state)
{
	static uint8_t *taken[FULL_SIZED + 2];
	struct one_of_many other;
	bool returned = false;
	struct buffers b;

	(void)state;
	buffers_init(&b, true);
	warm_up(&b);
	take(&b, taken, FULL_SIZED + 2);
	other = (struct one_of_many){.buffers = &b, .buffer = (uint8_t *)taken};
	assert_int_equal(pthread_create(&other.thread, NULL, give_all_back, &other), 0);
	assert_true(buffers_wait(&b, 100000, &returned));
	pthread_join(other.thread, NULL);
	assert_int_equal(b.in_use, 0);
	buffers_release(&b);
}

/* Marks buffers, and checks that nobody else has them. */
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
	buffers_release(&b);
}

static struct {
	pthread_key_t key;
	struct buffers *buffers;
	uint8_t *taken[4];
	uint32_t count;
} at_end;

/* Takes a buffer at the thread's end, by a key that is newer than the pool's own. */
static void take_at_end(void *value)
{
	at_end.taken[at_end.count++] = get(at_end.buffers);
	if (at_end.count < 4)
		pthread_setspecific(at_end.key, value);
}

static void *end_slowly(void *buffers)
{
	at_end.buffers = buffers;
	at_end.taken[at_end.count++] = get(buffers);
	pthread_setspecific(at_end.key, buffers);
	return NULL;
}

static void what_an_ending_thread_leaves_is_not_filled(void **state)
{
	struct buffers b;
	pthread_t thread;

	(void)state;
	buffers_init(&b, true);
	assert_int_equal(pthread_key_create(&at_end.key, take_at_end), 0);
	assert_int_equal(pthread_create(&thread, NULL, end_slowly, &b), 0);
	pthread_join(thread, NULL);
	assert_int_equal(at_end.count, 4);
	assert_int_equal(b.being_filled, 4);
	assert_int_equal(b.filled, 0);
	give(&b, at_end.taken, 4);
	assert_int_equal(b.being_filled, 0);
	pthread_key_delete(at_end.key);
	buffers_release(&b);
}

/* Returns the size of the next buffer, which depends on the time that the last one lasted. */
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
	buffers_release(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(buffers_are_aligned_and_used_again),
		cmocka_unit_test(filled_buffers_are_bounded_where_cupti_copes),
		cmocka_unit_test(thousands_of_threads_each_hold_a_buffer),
		cmocka_unit_test(who_waits_is_woken),
		cmocka_unit_test(it_grows_where_cupti_would_crash),
		cmocka_unit_test(shortness_shows_in_time),
		cmocka_unit_test(fast_kernels_get_large_buffers_and_slow_ones_small),
		cmocka_unit_test(threads_never_share_a_buffer),
		cmocka_unit_test(what_an_ending_thread_leaves_is_not_filled),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
