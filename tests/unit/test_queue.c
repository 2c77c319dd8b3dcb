/* SPDX-License-Identifier: MIT */
#include "unit.h"
#include "symbolize/util/queue.h"

struct element {
	uint64_t time_ns;
	uint32_t number;
};

static void push(struct queue *q, uint32_t number)
{
	struct element e = {number, number};

	assert_int_equal(queue_push(q, &e), 0);
}

static uint32_t number_at(const struct queue *q, uint32_t i)
{
	const struct element *e = queue_at(q, i);

	assert_non_null(e);
	return e->number;
}

static void an_empty_queue_has_nothing(void **state)
{
	struct queue q;

	(void)state;
	queue_init(&q, sizeof(struct element));
	assert_int_equal(queue_length(&q), 0);
	assert_null(queue_front(&q));
	assert_null(queue_at(&q, 0));
	assert_null(queue_at(&q, UINT32_MAX));
	assert_int_equal(queue_count_before(&q, UINT64_MAX), 0);
	queue_pop(&q);
	assert_int_equal(queue_length(&q), 0);
	queue_release(&q);
	queue_release(&q);
}

/* Grows at every position of its ring. */
static void first_in_first_out_whatever_the_position(void **state)
{
	(void)state;
	for (uint32_t offset = 0; offset < 40; offset++) {
		struct queue q;

		queue_init(&q, sizeof(struct element));
		for (uint32_t i = 0; i < offset; i++) {
			push(&q, 0);
			queue_pop(&q);
		}
		for (uint32_t i = 0; i < 100; i++)
			push(&q, i);
		for (uint32_t i = 0; i < 100; i++)
			assert_int_equal(number_at(&q, i), i);
		for (uint32_t i = 0; i < 100; i++) {
			assert_int_equal(number_at(&q, 0), i);
			queue_pop(&q);
		}
		assert_null(queue_front(&q));
		queue_release(&q);
	}
}

static void insert(struct queue *q, uint64_t time_ns, uint32_t number)
{
	struct element e = {time_ns, number};

	assert_int_equal(queue_insert_by_time(q, &e), 0);
}

static void equal_times_stay_in_order_of_arrival(void **state)
{
	struct queue q;

	(void)state;
	queue_init(&q, sizeof(struct element));
	insert(&q, 5, 1);
	insert(&q, 5, 2);
	insert(&q, 4, 0);
	insert(&q, 5, 3);
	for (uint32_t i = 0; i < 4; i++)
		assert_int_equal(number_at(&q, i), i);
	queue_release(&q);
}

static void counting_stops_at_two(void **state)
{
	struct queue q;

	(void)state;
	queue_init(&q, sizeof(struct element));
	for (uint32_t i = 0; i < 5; i++)
		insert(&q, 10 + i, i);
	assert_int_equal(queue_count_before(&q, 10), 0);
	assert_int_equal(queue_count_before(&q, 11), 1);
	assert_int_equal(queue_count_before(&q, 12), 2);
	assert_int_equal(queue_count_before(&q, UINT64_MAX), 2);
	queue_release(&q);
}

/* Against a sorted array. */
static void random_use_matches_a_model(void **state)
{
	enum { MOST = 400 };

	(void)state;
	for (uint64_t round = 0; round < 200; round++) {
		struct prng p = prng_round(round);
		struct element model[MOST];
		uint32_t count = 0;
		struct queue q;

		queue_init(&q, sizeof(struct element));
		for (uint32_t i = 0; i < 1000; i++) {
			if (prng_chance(&p, 55) && count < MOST) {
				struct element e = {prng_below(&p, 50), i};
				uint32_t at = count++;

				insert(&q, e.time_ns, i);
				for (; at > 0 && model[at - 1].time_ns > e.time_ns; at--)
					model[at] = model[at - 1];
				model[at] = e;
			} else if (count > 0) {
				queue_pop(&q);
				memmove(model, model + 1, --count * sizeof(*model));
			}
			EXPECT(&p, queue_length(&q) == count);
			if (count)
				EXPECT(&p, number_at(&q, count - 1) == model[count - 1].number);
			if (count)
				EXPECT(&p, number_at(&q, 0) == model[0].number);
		}
		queue_release(&q);
	}
}

/* An element that comes very late is kept, if not quite in order. */
static void insertion_distance_is_bounded(void **state)
{
	struct queue q;

	(void)state;
	queue_init(&q, sizeof(struct element));
	for (uint32_t i = 0; i < 3 * QUEUE_REACH; i++)
		insert(&q, 1000 + i, i);
	insert(&q, 1, UINT32_MAX);
	assert_int_equal(queue_length(&q), 3 * QUEUE_REACH + 1);
	for (uint32_t i = 0; i < 2 * QUEUE_REACH; i++)
		assert_int_equal(number_at(&q, i), i);
	for (uint32_t i = 2 * QUEUE_REACH; i < 2 * QUEUE_REACH + 2; i++)
		if (number_at(&q, i) == UINT32_MAX)
			i = 4 * QUEUE_REACH;
		else
			assert_int_equal(number_at(&q, i), i);
	queue_release(&q);
}

/* After any crowd, the rest is in order and takes little memory. */
static void a_queue_shrinks_when_it_empties(void **state)
{
	const uint32_t n = 100 * QUEUE_KEPT;
	struct queue q;
	uint32_t crowd;

	(void)state;
	queue_init(&q, sizeof(struct element));
	for (uint32_t i = 0; i < n; i++)
		push(&q, i);
	crowd = q.capacity;
	for (uint32_t i = 0; i < n; i++) {
		assert_int_equal(number_at(&q, 0), i);
		assert_int_equal(number_at(&q, n - 1 - i), n - 1);
		queue_pop(&q);
		assert_true(q.capacity <= QUEUE_KEPT || q.capacity <= 4 * queue_length(&q));
	}
	assert_true(q.capacity <= QUEUE_KEPT && crowd >= n);
	queue_release(&q);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_empty_queue_has_nothing),
		cmocka_unit_test(first_in_first_out_whatever_the_position),
		cmocka_unit_test(equal_times_stay_in_order_of_arrival),
		cmocka_unit_test(counting_stops_at_two),
		cmocka_unit_test(random_use_matches_a_model),
		cmocka_unit_test(insertion_distance_is_bounded),
		cmocka_unit_test(a_queue_shrinks_when_it_empties),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
