// SPDX-License-Identifier: MIT
/* Links of random runs are right or none; which cases are certain. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "profiler/formats/span_links.h"

enum { OPERATIONS = 200, ROUNDS = 3000 };

#define US 1000u

static const struct link_stream_key stream = {7, 1, 4};

static void add(struct span_links *l, uint64_t launch_us, uint64_t returned_us, uint64_t end_us,
		uint64_t number)
{
	const struct link_operation o = {launch_us * US, returned_us * US, end_us * US, number};

	assert_int_equal(span_links_add(l, stream, &o), 0);
}

static uint64_t find(const struct span_links *l, uint64_t start_us, uint64_t end_us, bool *unknown)
{
	return span_links_find(l, stream, start_us * US, end_us * US, unknown);
}

#define assert_link(l, start_us, end_us, number)                                \
	do {                                                                    \
		bool unknown_;                                                  \
		assert_int_equal(find(l, start_us, end_us, &unknown_), number); \
		assert_false(unknown_);                                         \
	} while (0)

#define assert_unknown(l, start_us, end_us)                                \
	do {                                                               \
		bool unknown_;                                             \
		assert_int_equal(find(l, start_us, end_us, &unknown_), 0); \
		assert_true(unknown_);                                     \
	} while (0)

static void the_last_that_was_launched_before(void **state)
{
	struct span_links *l = span_links_new();
	bool unknown;

	(void)state;
	assert_link(l, 100, 200, 0);
	add(l, 10, 20, 110, 1);
	add(l, 30, 40, 190, 2);
	add(l, 150, 160, 198, 3); /* another thread's call in that time */
	assert_link(l, 100, 192, 2);
	assert_link(l, 100, 186, 2); /* within the clocks' error */
	assert_link(l, 300, 400, 0);
	assert_int_equal(
		span_links_find(l, (struct link_stream_key){7, 1, 5}, 100 * US, 200 * US, &unknown),
		0);
	assert_false(unknown);
	span_links_free(l);
}

static void what_is_not_certain_is_not_linked(void **state)
{
	struct span_links *l = span_links_new();

	(void)state;
	add(l, 10, 20, 190, 1);
	assert_unknown(l, 100, 180); /* a call that seems to end later */
	assert_unknown(l, 187, 200); /* the call may have been over */
	assert_unknown(l, 193, 200);
	assert_link(l, 196, 200, 0);
	assert_unknown(l, 15, 200); /* the launch was still going on */
	assert_link(l, 9, 200, 0);  /* launched later */
	add(l, 0, 0, 300, 2);       /* an unknown launch */
	assert_unknown(l, 100, 300);
	add(l, 310, 0, 400, 3); /* one whose return is not known */
	assert_unknown(l, 350, 401);
	assert_link(l, 305, 310, 0);
	span_links_free(l);
}

static void what_ended_sooner_or_after_the_call_was_not_waited_for(void **state)
{
	struct span_links *l = span_links_new();

	(void)state;
	add(l, 0, 0, 120, 1);    /* an unknown launch */
	add(l, 95, 105, 150, 2); /* one that went on */
	add(l, 10, 20, 190, 3);
	assert_link(l, 100, 192, 3);
	add(l, 96, 106, 198, 4); /* after the call, and the clocks' error */
	add(l, 0, 0, 300, 5);
	assert_link(l, 100, 192, 3);
	assert_unknown(l, 100, 193); /* the work may have begun before */
	add(l, 97, 107, 190, 6);     /* at an equal time */
	assert_unknown(l, 100, 192);
	span_links_free(l);
}

static void of_many_operations_the_older_ones_are_not_known(void **state)
{
	struct span_links *l = span_links_new();

	(void)state;
	for (uint64_t i = 1; i <= 3 * SPAN_LINKS_OPERATIONS; i++)
		add(l, 1 + i, 2 + i, 1000 + 10 * i, i);
	/* the first of those that are kept is 65; the ones before ended sooner */
	assert_link(l, 1645, 1970, 96);
	assert_link(l, 110, 1970, 96);
	assert_unknown(l, 60, 1600);
	add(l, 100, 101, 1980, 97);
	for (uint64_t i = 1; i < SPAN_LINKS_OPERATIONS; i++)
		add(l, 102, 103, 1970, 97 + i);
	assert_link(l, 110, 1990, 97);
	add(l, 102, 103, 1970, 200); /* 97 is not kept any more */
	assert_unknown(l, 110, 1990);
	span_links_free(l);
}

static void of_too_many_streams_some_are_not_known(void **state)
{
	struct span_links *l = span_links_new();
	const struct link_operation o = {1, 2, 200 * US, 9};
	struct link_stream_key key = stream;

	(void)state;
	for (key.stream = 100; key.stream <= 100 + SPAN_LINKS_STREAMS; key.stream++) {
		bool unknown, has_room = key.stream < 100 + SPAN_LINKS_STREAMS;

		assert_int_equal(span_links_add(l, key, &o), 0);
		assert_int_equal(span_links_find(l, key, 100 * US, 200 * US, &unknown),
				 has_room ? 9 : 0);
		assert_true(unknown == !has_room);
	}
	span_links_free(l);
}

/*
 * A stream in order, launched to by threads whose calls put the operation there at a random moment.
 * A call waits for the last one that was there when it began.
 */
static void links_are_right(void **state)
{
	uint32_t linked = 0, unknown_count = 0;
	unsigned int seed = 1;

	(void)state;
	for (uint32_t round = 0; round < ROUNDS; round++) {
		struct span_links *l = span_links_new();
		uint64_t now = 1000 * US, end = 0, wait = now + (uint64_t)rand_r(&seed) % 3000000;
		uint64_t waited_for = 0, until = wait + 1;
		bool unknown;
		uint64_t found;

		for (uint64_t i = 1; i <= OPERATIONS; i++) {
			uint64_t before = (uint64_t)rand_r(&seed) % 20000;
			struct link_operation o = {.number = i};

			now += (uint64_t)rand_r(&seed) % 40000; /* now it is in the stream */
			end = end > now ? end : now;
			if (now > wait && end > until + SPAN_LINKS_CLOCK_ERROR_NS)
				break;
			end += (uint64_t)rand_r(&seed) % 60000 + 1;
			o.launch_start_ns = now - before;
			o.launch_end_ns = now + (uint64_t)rand_r(&seed) % 20000;
			o.end_ns = end;
			if (now <= wait && end > wait) {
				waited_for = i;
				until = end + 2000;
			}
			assert_int_equal(span_links_add(l, stream, &o), 0);
		}
		found = span_links_find(l, stream, wait, until, &unknown);
		unknown_count += unknown;
		linked += found != 0;
		if (found || !unknown)
			assert_int_equal(found, waited_for);
		span_links_free(l);
	}
	assert_in_range(linked, 1, ROUNDS - 1);
	assert_in_range(unknown_count, 1, ROUNDS - 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_last_that_was_launched_before),
		cmocka_unit_test(what_is_not_certain_is_not_linked),
		cmocka_unit_test(what_ended_sooner_or_after_the_call_was_not_waited_for),
		cmocka_unit_test(of_many_operations_the_older_ones_are_not_known),
		cmocka_unit_test(of_too_many_streams_some_are_not_known),
		cmocka_unit_test(links_are_right),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
