/* SPDX-License-Identifier: MIT */
/* Sets of records beside a plain list, with memory that can run out. */
#include "unit.h"
#include "symbolize/util/array.h"
#include "symbolize/util/hash_index.h"

/* The one that fails, counted from now; 0: none does. */
static uint32_t failing_allocation;

static bool fails_now(void)
{
	return failing_allocation && --failing_allocation == 0;
}

#define array_make_room(...) (!fails_now() && array_make_room(__VA_ARGS__))
#define hash_index_add(...) (fails_now() ? -1 : hash_index_add(__VA_ARGS__))
#include "symbolize/util/record_set.h"

enum { KEYS = 60, STEPS = 400 };

struct sum {
	uint16_t stack, place;
	uint32_t kind;
	uint64_t ns;
};

struct name {
	const char *text;
};

static bool name_equal(const void *records, uint32_t position, const void *key)
{
	return strcmp(((const struct name *)records)[position].text, key) == 0;
}

static void an_empty_set_has_nothing(void **state)
{
	RECORD_SET(struct sum) sums = {0};
	uint64_t key = 0;

	(void)state;
	assert_int_equal(record_find(&sums, &key), RECORD_NONE);
	record_reindex(&sums, uint64_t);
	record_set_clear(&sums.set);
	assert_int_equal(sums.count, 0);
	record_set_release(&sums.set);
}

/* Makes a record. Its key is the first eight bytes, whatever follows. */
static struct sum made(uint32_t number, uint64_t ns)
{
	return (struct sum){(uint16_t)(number % 4), (uint16_t)(number / 4), number % 3, ns};
}

/* Checks that the set holds `list`, in order. */
static void check(struct prng *p, const struct sum *sums, uint32_t count, const uint32_t *list,
		  uint32_t expected)
{
	EXPECT(p, count == expected);
	for (uint32_t i = 0; i < count; i++) {
		const struct sum sum = made(list[i], sums[i].ns);

		EXPECT(p, memcmp(&sum, &sums[i], sizeof(sum)) == 0);
	}
}

static void random_changes(void **state)
{
	uint64_t rounds = unit_number("UNIT_ROUNDS", getenv("UNDER_VALGRIND") ? 20 : 400);

	(void)state;
	for (uint64_t round = 0; round < rounds; round++) {
		struct prng p = prng_round(round);
		RECORD_SET(struct sum) sums = {0};
		uint32_t list[KEYS], count = 0, left = 0;

		for (int i = 0; i < STEPS; i++) {
			uint32_t number = (uint32_t)prng_below(&p, KEYS), expected = 0;
			struct sum sum = made(number, prng_bits(&p, 60));
			uint64_t key;

			memcpy(&key, &sum, sizeof(key));
			while (expected < count && list[expected] != number)
				expected++;
			EXPECT(&p, record_find(&sums, &key) ==
					   (expected < count ? expected : RECORD_NONE));
			if (expected == count) {
				failing_allocation = prng_chance(&p, 5) ? 1 + (uint32_t)i % 2 : 0;
				bool fails = failing_allocation;

				EXPECT(&p, record_add(&sums, &key, &sum) ==
						   (fails ? RECORD_NONE : count));
				list[count] = number;
				count += !fails;
			} else if (prng_chance(&p, 10)) {
				left = 0;
				for (uint32_t k = 0; k < count; k++)
					if (prng_chance(&p, 50)) {
						list[left] = list[k];
						sums.list[left++] = sums.list[k];
					}
				count = sums.count = left;
				record_reindex(&sums, uint64_t);
			} else if (prng_chance(&p, 20)) {
				record_remove(&sums, uint64_t, expected);
				list[expected] = list[--count];
			} else if (prng_chance(&p, 1)) {
				record_set_clear(&sums.set);
				count = 0;
			}
			check(&p, sums.list, sums.count, list, count);
		}
		record_set_release(&sums.set);
		assert_null(sums.list);
	}
}

/* Found by a callback, with hashes that may all be equal. */
static void texts(void **state)
{
	RECORD_SET(struct name) names = {0};
	char apart[] = "two";

	(void)state;
	for (uint32_t hash = 0; hash < 2; hash++) {
		assert_int_equal(record_add_hashed(&names, 0, &(struct name){"one"}), 0);
		assert_int_equal(record_add_hashed(&names, hash, &(struct name){"two"}), 1);
		assert_int_equal(record_find_equal(&names, hash, name_equal, apart), 1);
		assert_int_equal(record_find_equal(&names, 0, name_equal, "one"), 0);
		assert_int_equal(record_find_equal(&names, hash, name_equal, "three"), RECORD_NONE);
		record_set_release(&names.set);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_empty_set_has_nothing),
		cmocka_unit_test(random_changes),
		cmocka_unit_test(texts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
