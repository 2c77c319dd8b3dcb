/* SPDX-License-Identifier: MIT */
/*
 * Places beside a model. The module is built into this test, with a bound that the tests choose,
 * and memory that can run out.
 */
#include "unit.h"
#include "unsure.h"
#include "profiler/model/places.h"

static const uint32_t real_bound = PLACES_MAX;
static uint32_t bound = PLACES_MAX;
#undef PLACES_MAX
#define PLACES_MAX bound

#define record_set_add unsure_record
#include "profiler/model/places.c"

#define ALL ((1u << PLACE_PARTS) - 1)

static int free_bounds(void **state)
{
	(void)state;
	bound = real_bound;
	failing_allocation = 0;
	return 0;
}

static uint32_t add(struct places *p, uint32_t process, uint32_t thread, uint32_t device,
		    uint32_t context, uint32_t stream)
{
	return places_add(p, &(struct place){{process, thread, device, context, stream}}).number;
}

static void expect(const struct places *p, uint32_t at, uint32_t process, uint32_t thread,
		   uint32_t device, uint32_t context, uint32_t stream)
{
	const struct place place = {{process, thread, device, context, stream}};

	assert_true(at < p->count);
	assert_memory_equal(&p->list[at], &place, sizeof(place));
}

static void the_first_is_nowhere(void **state)
{
	const struct place unknown = place_unknown();
	struct places p;

	(void)state;
	assert_int_equal(places_init(&p, ALL), 0);
	assert_int_equal(p.count, 1);
	assert_same_number(places_add(&p, &unknown), PLACE_NOWHERE);
	expect(&p, PLACE_NOWHERE.number, PLACE_UNKNOWN, PLACE_UNKNOWN, PLACE_UNKNOWN, PLACE_UNKNOWN,
	       PLACE_UNKNOWN);
	places_release(&p);
	places_release(&p);
}

static void each_part_counts(void **state)
{
	struct places p;

	(void)state;
	assert_int_equal(places_init(&p, ALL), 0);
	for (int round = 0; round < 2; round++) {
		assert_int_equal(add(&p, 0, 0, 0, 0, 0), 1);
		assert_int_equal(add(&p, 1, 0, 0, 0, 0), 2);
		assert_int_equal(add(&p, 0, 1, 0, 0, 0), 3);
		assert_int_equal(add(&p, 0, 0, 1, 0, 0), 4);
		assert_int_equal(add(&p, 0, 0, 0, 1, 0), 5);
		assert_int_equal(add(&p, 0, 0, 0, 0, 1), 6);
		assert_int_equal(add(&p, 0, 0, PLACE_UNKNOWN, 0, 1), 7);
		assert_int_equal(p.count, 8);
	}
	expect(&p, 7, 0, 0, PLACE_UNKNOWN, 0, 1);
	places_release(&p);
}

static void only_requested_parts_are_kept(void **state)
{
	(void)state;
	for (uint32_t mask = 0; mask <= ALL; mask++) {
		struct places p;
		uint32_t at;

		assert_int_equal(places_init(&p, mask), 0);
		at = add(&p, 10, 11, 12, 13, 14);
		assert_int_equal(at, mask != 0);
		for (uint32_t part = 0; part < PLACE_PARTS; part++) {
			struct place other = {{10, 11, 12, 13, 14}};

			assert_int_equal(p.list[at].part[part],
					 mask & 1u << part ? 10 + part : PLACE_UNKNOWN);
			other.part[part] = 99;
			assert_int_equal(places_add(&p, &other).number == at, !(mask & 1u << part));
		}
		places_release(&p);
	}
}

static void the_bound_is_a_quarter_of_a_million(void **state)
{
	(void)state;
	assert_int_equal(real_bound, 1u << 18);
}

/* First by process alone, and then not at all; those that are there stay. */
static void past_the_bound_parts_are_lost(void **state)
{
	struct places p;

	(void)state;
	bound = 100;
	assert_int_equal(places_init(&p, ALL), 0);
	for (uint32_t stream = 0; stream < 1000; stream++) {
		uint32_t at = add(&p, 1, 2, 3, 4, stream);

		if (stream < 89)
			expect(&p, at, 1, 2, 3, 4, stream);
		else
			expect(&p, at, 1, PLACE_UNKNOWN, PLACE_UNKNOWN, PLACE_UNKNOWN,
			       PLACE_UNKNOWN);
	}
	for (uint32_t process = 2; process < 100; process++) {
		uint32_t at = add(&p, process, 2, 3, 4, 5);

		if (process < 11)
			expect(&p, at, process, PLACE_UNKNOWN, PLACE_UNKNOWN, PLACE_UNKNOWN,
			       PLACE_UNKNOWN);
		else
			assert_int_equal(at, PLACE_NOWHERE.number);
	}
	assert_int_equal(p.count, 100);
	expect(&p, add(&p, 1, 2, 3, 4, 88), 1, 2, 3, 4, 88);
	places_release(&p);
}

/* Without memory it is not another place: by process alone if that exists, or nowhere. */
static void without_memory_parts_are_lost(void **state)
{
	struct places p;
	uint32_t process_alone;

	(void)state;
	failing_allocation = 1;
	assert_int_equal(places_init(&p, ALL), -ENOMEM);
	places_release(&p);
	assert_int_equal(places_init(&p, ALL), 0);
	process_alone = add(&p, 1, PLACE_UNKNOWN, PLACE_UNKNOWN, PLACE_UNKNOWN, PLACE_UNKNOWN);
	failing_allocation = 1;
	assert_int_equal(add(&p, 1, 2, 3, 4, 5), process_alone);
	assert_int_equal(add(&p, 1, 2, 3, 4, 5), 2); /* room again */
	places_release(&p);
}

/* ---- beside a model ---- */

static bool is_kept_of(const struct place *kept, const struct place *place, uint32_t mask)
{
	for (uint32_t i = 0; i < PLACE_PARTS; i++)
		if (kept->part[i] != (mask & 1u << i ? place->part[i] : PLACE_UNKNOWN))
			return false;
	return true;
}

static void random_places(struct prng *r)
{
	uint32_t mask = (uint32_t)prng_below(r, ALL + 1), seen = 0;
	bool may_fail = prng_chance(r, 30);
	uint64_t events = prng_bits(r, 11);
	struct places p;

	bound = 20 + (uint32_t)prng_bits(r, 12);
	assert_int_equal(places_init(&p, mask), 0);
	failing_allocation = may_fail ? 1 + (uint32_t)prng_bits(r, 7) : 0;
	for (uint64_t i = 0; i < events; i++) {
		struct place place = {{(uint32_t)prng_bits(r, 3), (uint32_t)prng_bits(r, 3),
				       prng_chance(r, 10) ? PLACE_UNKNOWN : 0,
				       (uint32_t)prng_bits(r, 2), (uint32_t)prng_bits(r, 4)}};
		uint32_t at = places_add(&p, &place).number;

		EXPECT(r, at < p.count && at <= seen + 1);
		seen = at > seen ? at : seen;
		if (is_kept_of(&p.list[at], &place, mask))
			continue;
		/* reduced, which is only so where there is no room */
		EXPECT(r, may_fail || p.count >= bound - bound / 10);
		EXPECT(r, at == PLACE_NOWHERE.number ||
				  is_kept_of(&p.list[at], &place, mask & 1u << PLACE_PROCESS));
	}
	EXPECT(r, p.count <= bound && seen < p.count);
	for (uint32_t i = 0; i < p.count; i++)
		for (uint32_t j = 0; j < i; j++)
			EXPECT(r, memcmp(&p.list[i], &p.list[j], sizeof(p.list[i])) != 0);
	failing_allocation = 0;
	places_release(&p);
}

static void places_are_exact_or_less_detailed(void **state)
{
	uint64_t rounds = unit_number("UNIT_ROUNDS", getenv("UNDER_VALGRIND") ? 10 : 300);

	(void)state;
	for (uint64_t round = 0; round < rounds; round++) {
		struct prng r = prng_round(round);

		random_places(&r);
	}
}

static void places_that_are_not_in_use_are_forgotten(void **state)
{
	struct quota memory = {.limit = 1 << 20};
	uint32_t numbers[101], left = 1;
	struct places p;

	(void)state;
	assert_int_equal(places_init(&p, ALL), 0);
	p.memory = &memory;
	for (uint32_t i = 0; i < 100; i++)
		assert_int_equal(add(&p, i, 1, 2, 3, 4), i + 1);
	for (uint32_t i = 0; i <= 100; i++)
		numbers[i] = i % 3 ? 0 : ID_UNUSED;
	places_forget(&p, numbers);
	assert_int_equal(numbers[0], PLACE_NOWHERE.number);
	for (uint32_t i = 1; i <= 100; i++) {
		if (i % 3 == 0) {
			assert_int_equal(numbers[i], PLACE_NOWHERE.number);
			continue;
		}
		assert_int_equal(numbers[i], left);
		expect(&p, left, i - 1, 1, 2, 3, 4);
		assert_int_equal(add(&p, i - 1, 1, 2, 3, 4), left);
		left++;
	}
	assert_int_equal(p.count, left);
	assert_int_equal(memory.used, (left - 1) * PLACE_BYTES);
	places_release(&p);
}

#define TEST(name) cmocka_unit_test_teardown(name, free_bounds)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_first_is_nowhere),
		TEST(each_part_counts),
		TEST(only_requested_parts_are_kept),
		TEST(the_bound_is_a_quarter_of_a_million),
		TEST(past_the_bound_parts_are_lost),
		TEST(without_memory_parts_are_lost),
		TEST(places_are_exact_or_less_detailed),
		TEST(places_that_are_not_in_use_are_forgotten),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
