/* SPDX-License-Identifier: MIT */
/* The last seconds of a run beside a model, and within their bytes over many millions of items. */
#include "unit.h"
#include "profiler/model/timeline.h"

#define RECENT_PIECE 8u
#define RECENT_BYTES (16u * (24 + 64 * RECENT_PIECE))
#include "profiler/join/recent.c"

#define ITEMS_MAX (16u * RECENT_PIECE)

static struct recent_item item_at(uint64_t start_ns, uint64_t duration_ns, uint32_t number)
{
	return (struct recent_item){
		.record = {.start_ns = start_ns, .duration_ns = duration_ns, .stack = number}};
}

static struct recent *filled(uint32_t count)
{
	struct recent *r = recent_new();

	assert_non_null(r);
	for (uint32_t i = 0; i < count; i++) {
		const struct recent_item item = item_at(1000 + i, 5, i);

		assert_true(recent_add(r, &item, 1000000));
	}
	return r;
}

/* The numbers of what is there, in order. */
static void expect_items(struct recent *r, uint32_t first, uint32_t end)
{
	const struct recent_item *item;
	uint64_t position = 0;

	assert_int_equal(recent_count(r), end - first);
	for (uint32_t i = first; i < end; i++) {
		item = recent_next(r, &position);
		assert_non_null(item);
		assert_int_equal(item->record.stack, i);
	}
	assert_null(recent_next(r, &position));
	assert_null(recent_next(r, &position));
}

static void items_come_back_in_order(void **state)
{
	(void)state;
	for (uint32_t count = 0; count <= 3 * RECENT_PIECE; count++) {
		struct recent *r = filled(count);

		expect_items(r, 0, count);
		assert_int_equal(recent_whole_from(r), 0);
		recent_free(r);
	}
	recent_free(NULL);
}

static void whole_pieces_are_forgotten_when_all_in_them_is_old(void **state)
{
	struct recent *r = filled(3 * RECENT_PIECE);

	(void)state;
	/* the last of the first piece ends at 1012 */
	recent_forget(r, 1012);
	expect_items(r, 0, 3 * RECENT_PIECE);
	recent_forget(r, 1013);
	expect_items(r, RECENT_PIECE, 3 * RECENT_PIECE);
	assert_int_equal(recent_whole_from(r), 1000 + RECENT_PIECE);
	/* the one that is being filled stays */
	recent_forget(r, UINT64_MAX);
	expect_items(r, 2 * RECENT_PIECE, 3 * RECENT_PIECE);
	recent_free(r);
}

static void the_oldest_make_room(void **state)
{
	struct recent *r = filled(ITEMS_MAX + 1);

	(void)state;
	expect_items(r, RECENT_PIECE, ITEMS_MAX + 1);
	assert_int_equal(recent_whole_from(r), 1000 + RECENT_PIECE);
	recent_free(r);
}

/* What a process claims of times to come keeps nothing, and makes nothing incomplete. */
static void times_to_come_count_as_now(void **state)
{
	const struct recent_item lie = item_at(UINT64_MAX - 3, UINT64_MAX, 0),
				 lasting = item_at(5, UINT64_MAX, 0);
	struct recent *r = recent_new();

	(void)state;
	assert_non_null(r);
	assert_true(recent_add(r, &lie, 2000));
	assert_true(recent_add(r, &lasting, 2000));
	for (uint32_t i = 0; i < RECENT_PIECE; i++) {
		const struct recent_item item = item_at(3000 + i, 1, i);

		assert_true(recent_add(r, &item, 4000));
	}
	assert_int_equal(recent_count(r), RECENT_PIECE + 2);
	recent_forget(r, 3500);
	assert_int_equal(recent_count(r), 2);
	assert_true(recent_whole_from(r) <= 3000 + RECENT_PIECE);
	recent_free(r);
}

/* Late items, long ones, and times that were: nothing that began since is missing. */
static void random_items_match_a_model(void **state)
{
	(void)state;
	for (uint64_t round = 0; round < unit_rounds(300); round++) {
		struct prng p = prng_round(round);
		uint32_t total = (uint32_t)prng_below(&p, 4 * ITEMS_MAX);
		uint64_t *starts = calloc(total + 1, sizeof(*starts)), now = 10000, wanted = 0;
		struct recent *r = recent_new();
		struct recent_item *item;
		uint64_t position = 0, seen = 0;
		bool *is_there = calloc(total + 1, sizeof(*is_there));

		assert_true(r && starts && is_there);
		for (uint32_t i = 0; i < total; i++) {
			struct recent_item new;

			now += prng_below(&p, 20);
			starts[i] = now - prng_below(&p, 3000);
			new = item_at(starts[i], prng_below(&p, now - starts[i] + 1), i);
			assert_true(recent_add(r, &new, now));
			if (prng_chance(&p, 10)) {
				wanted = now - 500 - prng_below(&p, 2000);
				recent_forget(r, wanted);
			}
			assert_true(recent_bytes(r) <= RECENT_BYTES);
		}
		while ((item = recent_next(r, &position))) {
			assert_false(is_there[item->record.stack]);
			is_there[item->record.stack] = true;
			assert_int_equal(item->record.start_ns, starts[item->record.stack]);
			seen++;
		}
		assert_int_equal(seen, recent_count(r));
		for (uint32_t i = 0; i < total; i++)
			if (starts[i] >= recent_whole_from(r) && !is_there[i])
				fail_msg("seed %" PRIu64 ": item %u of %u is missing", p.seed, i,
					 total);
		recent_free(r);
		free(starts);
		free(is_there);
	}
}

static void millions_of_items_take_no_more(void **state)
{
	uint64_t count = unit_rounds(20000000);
	struct recent *r = recent_new();
	size_t most = 0;

	(void)state;
	assert_non_null(r);
	for (uint64_t i = 0; i < count; i++) {
		const struct recent_item item = item_at(i, 3, 0);

		assert_true(recent_add(r, &item, i));
		if (recent_bytes(r) > most)
			most = recent_bytes(r);
		if (i % 1000 == 0)
			recent_forget(r, i > 100 ? i - 100 : 0);
	}
	assert_true(most <= RECENT_BYTES);
	assert_true(recent_count(r) <= ITEMS_MAX);
	assert_true(recent_whole_from(r) > count - ITEMS_MAX - RECENT_PIECE);
	recent_free(r);
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
