// SPDX-License-Identifier: MIT
/* Links of random runs, compared with what a search of all operations finds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#define SPAN_LINKS_WAITS 16u
#define SPAN_LINKS_STREAMS 16u
#include "profiler/output/span_links.c"

enum { OPERATIONS = 400, CALLS = 12, STREAMS = 3, ROUNDS = 300 };

static struct link_operation operations[OPERATIONS];
static struct link_stream_key streams[OPERATIONS];
static unsigned int seed;

static uint64_t up_to(uint64_t n)
{
	return (uint64_t)rand_r(&seed) % (n + 1);
}

static struct link_stream_key key(uint32_t context, uint32_t stream)
{
	return (struct link_stream_key){7, context, stream};
}

/* Streams that run in order; launches are made some time before. */
static void make_operations(void)
{
	uint64_t end[STREAMS] = {0}, now = 1000000;

	for (uint32_t i = 0; i < OPERATIONS; i++) {
		uint32_t stream = (uint32_t)up_to(STREAMS - 1);

		now += up_to(2000);
		if (end[stream] < now)
			end[stream] = now;
		end[stream] += 1 + up_to(5000);
		operations[i] = (struct link_operation){now, end[stream], i + 1};
		streams[i] = key(1, stream);
	}
}

/* When the operation ended that a call waited for; 0: there is none. */
static uint64_t expected(struct link_stream_key of, uint64_t start_ns, uint64_t end_ns)
{
	uint64_t last = 0;

	for (uint32_t i = 0; i < OPERATIONS; i++) {
		const struct link_operation *o = &operations[i];

		if ((of.context == SPAN_LINKS_ANY || is_key(&of, &streams[i])) &&
		    o->launched_ns <= start_ns && o->end_ns > start_ns &&
		    o->end_ns <= end_ns + CLOCK_ERROR_NS && o->end_ns >= last)
			last = o->end_ns;
	}
	return last;
}

static int compare(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static void links_are_those_of_a_search(void **state)
{
	uint32_t found = 0;

	(void)state;
	for (uint32_t round = 1; round <= ROUNDS; round++) {
		struct span_links *l = span_links_new();
		uint64_t times[CALLS][2];
		uint32_t tickets[CALLS];
		struct link_stream_key of[CALLS];

		seed = round;
		make_operations();
		for (uint32_t i = 0; i < CALLS; i++)
			times[i][0] = 1000000 + up_to(400000);
		qsort(times, CALLS, sizeof(times[0]), compare);
		for (uint32_t i = 0; i < CALLS; i++) {
			of[i] = up_to(2) ? key(1, (uint32_t)up_to(STREAMS - 1))
					 : key(SPAN_LINKS_ANY, SPAN_LINKS_ANY);
			times[i][1] = times[i][0] + up_to(20000);
			tickets[i] = span_links_wait(l, of[i], times[i][0], times[i][1]);
		}
		for (uint32_t i = 0; i < OPERATIONS; i++)
			span_links_operation(l, streams[i], &operations[i]);
		for (uint32_t i = 0; i < CALLS; i++) {
			bool dropped;
			uint64_t number = span_links_end(l, tickets[i], &dropped);

			assert_false(dropped);
			assert_int_equal(number ? operations[number - 1].end_ns : 0,
					 expected(of[i], times[i][0], times[i][1]));
			found += number != 0;
		}
		span_links_free(l);
	}
	assert_in_range(found, ROUNDS, ROUNDS * CALLS - 1);
}

static void operations_that_came_before_are_known(void **state)
{
	struct span_links *l = span_links_new();
	uint32_t ticket;
	bool dropped;

	(void)state;
	for (uint64_t i = 1; i <= 20; i++)
		span_links_operation(l, key(1, 4), &(struct link_operation){i, 100 * i, i});
	ticket = span_links_wait(l, key(1, 4), 1750, 1901);
	assert_int_equal(span_links_end(l, ticket, &dropped), 20); /* within the clocks' error */
	ticket = span_links_wait(l, key(1, 5), 1750, 1901);
	assert_int_equal(span_links_end(l, ticket, &dropped), 0);
	ticket = span_links_wait(l, key(1, 4), 2000, 3000);
	assert_int_equal(span_links_end(l, ticket, &dropped), 0);
	/* launched after the call began, or at an unknown time */
	span_links_operation(l, key(1, 4), &(struct link_operation){2501, 2600, 21});
	span_links_operation(l, key(1, 4), &(struct link_operation){0, 2700, 22});
	ticket = span_links_wait(l, key(1, 4), 2500, 3000);
	assert_int_equal(span_links_end(l, ticket, &dropped), 0);
	span_links_free(l);
}

static void of_several_contexts_none_is_known(void **state)
{
	struct span_links *l = span_links_new();
	struct link_stream_key all = key(SPAN_LINKS_ANY, SPAN_LINKS_ANY);
	uint32_t first, second;
	bool dropped;

	(void)state;
	span_links_operation(l, key(1, 4), &(struct link_operation){1, 200, 1});
	first = span_links_wait(l, all, 100, 300);
	second = span_links_wait(l, all, 100, 300);
	assert_int_equal(span_links_end(l, first, &dropped), 1);
	span_links_operation(l, key(2, 4), &(struct link_operation){1, 50, 2});
	assert_int_equal(span_links_end(l, second, &dropped), 0);
	assert_false(dropped);
	/* streams are told apart all the same */
	first = span_links_wait(l, key(1, 4), 100, 300);
	assert_int_equal(span_links_end(l, first, &dropped), 1);
	span_links_free(l);
}

static void what_finds_no_room_is_dropped(void **state)
{
	struct span_links *l = span_links_new();
	uint32_t tickets[SPAN_LINKS_WAITS + 1];
	uint32_t count = 0;
	bool dropped;

	(void)state;
	for (uint32_t i = 0; i <= SPAN_LINKS_WAITS; i++)
		tickets[i] = span_links_wait(l, key(1, 4), 100, 200 + i);
	for (uint32_t i = 0; i <= SPAN_LINKS_WAITS; i++) {
		span_links_end(l, tickets[i], &dropped);
		assert_true(dropped == (i == SPAN_LINKS_WAITS));
	}
	/* each with a stream of its own: whoever finds a place keeps it */
	for (uint32_t i = 0; i < SPAN_LINKS_WAITS; i++) {
		tickets[i] = span_links_wait(l, key(1, 100 + i), 100, 200);
		span_links_operation(l, key(1, 100 + i), &(struct link_operation){1, 150, 100 + i});
	}
	for (uint32_t i = 0; i < SPAN_LINKS_WAITS; i++) {
		uint64_t number = span_links_end(l, tickets[i], &dropped);

		assert_int_equal(number, dropped ? 0 : 100 + i);
		count += dropped;
	}
	assert_in_range(count, 0, SPAN_LINKS_WAITS - WAYS);
	/* and all places are free again, for streams that come later */
	for (uint32_t i = 0; i < 1000; i++) {
		tickets[0] = span_links_wait(l, key(1, 1000 + i), 100, 200);
		span_links_operation(l, key(1, 1000 + i), &(struct link_operation){1, 150, 1});
		assert_int_equal(span_links_end(l, tickets[0], &dropped), 1);
	}
	span_links_free(l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(links_are_those_of_a_search),
		cmocka_unit_test(operations_that_came_before_are_known),
		cmocka_unit_test(of_several_contexts_none_is_known),
		cmocka_unit_test(what_finds_no_room_is_dropped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
