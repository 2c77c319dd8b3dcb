/* SPDX-License-Identifier: MIT */
/* An index of an array from which elements are taken by moving the last one into the hole. */
#include "unit.h"
#include "symbolize/util/hash_index.h"

enum { KEYS = 100 };

static bool has_key(const void *records, uint32_t position, const void *key)
{
	return ((const uint32_t *)records)[position] == *(const uint32_t *)key;
}

static void an_empty_index_has_nothing(void **state)
{
	struct hash_index index = {0};
	uint32_t key = 1;

	(void)state;
	assert_int_equal(hash_index_find(&index, 1, has_key, NULL, &key), HASH_INDEX_NONE);
	hash_index_remove(&index, 1, 0);
	hash_index_move(&index, 1, 0, 1);
	assert_int_equal(index.used, 0);
	hash_index_release(&index);
}

static void check(struct prng *p, const struct hash_index *index, const uint32_t *keys,
		  uint32_t count, uint32_t mask)
{
	bool is_there[KEYS] = {false};

	EXPECT(p, index->used == count);
	for (uint32_t i = 0; i < count; i++)
		is_there[keys[i]] = true;
	for (uint32_t key = 0; key < KEYS; key++) {
		uint32_t at = hash_index_find(index, hash_number(key) & mask, has_key, keys, &key);

		EXPECT(p, (at != HASH_INDEX_NONE) == is_there[key]);
		EXPECT(p, at == HASH_INDEX_NONE || keys[at] == key);
	}
}

/* `mask` makes hashes equal: few, or all. */
static void random_changes(void **state)
{
	uint64_t rounds = unit_number("UNIT_ROUNDS", getenv("UNDER_VALGRIND") ? 20 : 400);

	(void)state;
	for (uint64_t round = 0; round < rounds; round++) {
		struct prng p = prng_round(round);
		uint32_t keys[KEYS], count = 0, mask = (uint32_t)prng_bits(&p, 32);
		struct hash_index index = {0};

		for (int i = 0; i < 300; i++) {
			uint32_t key = (uint32_t)prng_below(&p, KEYS);
			uint32_t hash = hash_number(key) & mask, last = count - 1;
			uint32_t at = hash_index_find(&index, hash, has_key, keys, &key);

			if (at == HASH_INDEX_NONE) {
				assert_int_equal(hash_index_add(&index, hash, count), 0);
				keys[count++] = key;
				continue;
			}
			hash_index_remove(&index, hash, at);
			hash_index_move(&index, hash_number(keys[last]) & mask, last, at);
			keys[at] = keys[last];
			count--;
			check(&p, &index, keys, count, mask);
		}
		hash_index_release(&index);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_empty_index_has_nothing),
		cmocka_unit_test(random_changes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
