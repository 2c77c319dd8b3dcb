/* SPDX-License-Identifier: MIT */
/* The last seconds of a run beside a model, and within their bytes over many millions of items. */
#include "unit.h"
#include "profiler/model/timeline.h"

#define FLIGHT_RECORDER_PIECE 8u
#define FLIGHT_RECORDER_BYTES (16u * (24 + 64 * FLIGHT_RECORDER_PIECE))
#include "profiler/model/flight_recorder.c"

#define ITEMS_MAX (16u * FLIGHT_RECORDER_PIECE)

static struct profile_item item_at(uint64_t start_ns, uint64_t duration_ns, uint32_t number)
{
	return (struct profile_item){
		.record = {.start_ns = start_ns, .duration_ns = duration_ns, .stack = {number}}};
}

static struct flight_recorder *filled(uint32_t count)
{
	struct flight_recorder *r = flight_recorder_new();

	assert_non_null(r);
	for (uint32_t i = 0; i < count; i++) {
		const struct profile_item item = item_at(1000 + i, 5, i);

		assert_true(flight_recorder_add(r, &item, 1000000));
	}
	return r;
}

/* Expects the recorder to hold these numbers, in order. */
static void expect_items(struct flight_recorder *r, uint32_t first, uint32_t end)
{
	const struct profile_item *item;
	uint64_t position = 0;

	assert_int_equal(flight_recorder_count(r), end - first);
	for (uint32_t i = first; i < end; i++) {
		item = flight_recorder_next(r, &position);
		assert_non_null(item);
		assert_int_equal(item->record.stack.number, i);
	}
	assert_null(flight_recorder_next(r, &position));
	assert_null(flight_recorder_next(r, &position));
}

static void items_come_back_in_order(void **state)
{
	(void)state;
	for (uint32_t count = 0; count <= 3 * FLIGHT_RECORDER_PIECE; count++) {
		struct flight_recorder *r = filled(count);

		expect_items(r, 0, count);
		assert_int_equal(flight_recorder_whole_from(r), 0);
		flight_recorder_free(r);
	}
	flight_recorder_free(NULL);
}

static void whole_pieces_are_forgotten_when_all_in_them_is_old(void **state)
{
	struct flight_recorder *r = filled(3 * FLIGHT_RECORDER_PIECE);

	(void)state;
	/* the last of the first piece ends at 1012 */
	flight_recorder_forget(r, 1012);
	expect_items(r, 0, 3 * FLIGHT_RECORDER_PIECE);
	flight_recorder_forget(r, 1013);
	expect_items(r, FLIGHT_RECORDER_PIECE, 3 * FLIGHT_RECORDER_PIECE);
	assert_int_equal(flight_recorder_whole_from(r), 1000 + FLIGHT_RECORDER_PIECE);
	/* the one that is being filled stays */
	flight_recorder_forget(r, UINT64_MAX);
	expect_items(r, 2 * FLIGHT_RECORDER_PIECE, 3 * FLIGHT_RECORDER_PIECE);
	flight_recorder_free(r);
}

static void the_oldest_make_room(void **state)
{
	struct flight_recorder *r = filled(ITEMS_MAX + 1);

	(void)state;
	expect_items(r, FLIGHT_RECORDER_PIECE, ITEMS_MAX + 1);
	assert_int_equal(flight_recorder_whole_from(r), 1000 + FLIGHT_RECORDER_PIECE);
	flight_recorder_free(r);
}

/* A process may claim future times. Such items are not kept longer, and nothing else becomes
 * incomplete. */
static void times_to_come_count_as_now(void **state)
{
	const struct profile_item lie = item_at(UINT64_MAX - 3, UINT64_MAX, 0),
				  lasting = item_at(5, UINT64_MAX, 0);
	struct flight_recorder *r = flight_recorder_new();

	(void)state;
	assert_non_null(r);
	assert_true(flight_recorder_add(r, &lie, 2000));
	assert_true(flight_recorder_add(r, &lasting, 2000));
	for (uint32_t i = 0; i < FLIGHT_RECORDER_PIECE; i++) {
		const struct profile_item item = item_at(3000 + i, 1, i);

		assert_true(flight_recorder_add(r, &item, 4000));
	}
	assert_int_equal(flight_recorder_count(r), FLIGHT_RECORDER_PIECE + 2);
	flight_recorder_forget(r, 3500);
	assert_int_equal(flight_recorder_count(r), 2);
	assert_true(flight_recorder_whole_from(r) <= 3000 + FLIGHT_RECORDER_PIECE);
	flight_recorder_free(r);
}

/* Late items, long ones, and times that were: nothing that began since is missing. */
static void random_items_match_a_model(void **state)
{
	(void)state;
	for (uint64_t round = 0; round < unit_rounds(300); round++) {
		struct prng p = prng_round(round);
		uint32_t total = (uint32_t)prng_below(&p, 4 * ITEMS_MAX);
		uint64_t *starts = calloc(total + 1, sizeof(*starts)), now = 10000, wanted = 0;
		struct flight_recorder *r = flight_recorder_new();
		struct profile_item *item;
		uint64_t position = 0, seen = 0;
		bool *is_there = calloc(total + 1, sizeof(*is_there));

		assert_true(r && starts && is_there);
		for (uint32_t i = 0; i < total; i++) {
			struct profile_item new;

			now += prng_below(&p, 20);
			starts[i] = now - prng_below(&p, 3000);
			new = item_at(starts[i], prng_below(&p, now - starts[i] + 1), i);
			assert_true(flight_recorder_add(r, &new, now));
			if (prng_chance(&p, 10)) {
				wanted = now - 500 - prng_below(&p, 2000);
				flight_recorder_forget(r, wanted);
			}
			assert_true(flight_recorder_bytes(r) <= FLIGHT_RECORDER_BYTES);
		}
		while ((item = flight_recorder_next(r, &position))) {
			assert_false(is_there[item->record.stack.number]);
			is_there[item->record.stack.number] = true;
			assert_int_equal(item->record.start_ns, starts[item->record.stack.number]);
			seen++;
		}
		assert_int_equal(seen, flight_recorder_count(r));
		for (uint32_t i = 0; i < total; i++)
			if (starts[i] >= flight_recorder_whole_from(r) && !is_there[i])
				fail_msg("seed %" PRIu64 ": item %u of %u is missing", p.seed, i,
					 total);
		flight_recorder_free(r);
		free(starts);
		free(is_there);
	}
}

static void millions_of_items_take_no_more(void **state)
{
	uint64_t count = unit_rounds(20000000);
	struct flight_recorder *r = flight_recorder_new();
	size_t most = 0;

	(void)state;
	assert_non_null(r);
	for (uint64_t i = 0; i < count; i++) {
		const struct profile_item item = item_at(i, 3, 0);

		assert_true(flight_recorder_add(r, &item, i));
		if (flight_recorder_bytes(r) > most)
			most = flight_recorder_bytes(r);
		if (i % 1000 == 0)
			flight_recorder_forget(r, i > 100 ? i - 100 : 0);
	}
	assert_true(most <= FLIGHT_RECORDER_BYTES);
	assert_true(flight_recorder_count(r) <= ITEMS_MAX);
	assert_true(flight_recorder_whole_from(r) > count - ITEMS_MAX - FLIGHT_RECORDER_PIECE);
	flight_recorder_free(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(items_come_back_in_order),
		cmocka_unit_test(whole_pieces_are_forgotten_when_all_in_them_is_old),
		cmocka_unit_test(the_oldest_make_room),
		cmocka_unit_test(times_to_come_count_as_now),
		cmocka_unit_test(random_items_match_a_model),
		cmocka_unit_test(millions_of_items_take_no_more),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
