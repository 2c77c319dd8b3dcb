/* SPDX-License-Identifier: MIT */
/* Hashes whose collisions nobody can choose. */
#include "unit.h"
#include "symbolize/util/hash.h"

#define KEYS 1024u
#define SLOTS (2 * KEYS)

static struct hash_seed seed_of(struct prng *p)
{
	return (struct hash_seed){.first = prng_u64(p), .second = prng_u64(p) | 1};
}

/* Returns the most steps that one of the hashes takes to find its slot. */
static uint32_t longest_walk(const uint32_t *hashes)
{
	static bool used[SLOTS];
	uint32_t longest = 0;

	memset(used, 0, sizeof(used));
	for (uint32_t i = 0; i < KEYS; i++) {
		uint32_t at = hashes[i] % SLOTS, steps = 1;

		for (; used[at]; at = (at + 1) % SLOTS)
			steps++;
		used[at] = true;
		longest = steps > longest ? steps : longest;
	}
	return longest;
}

static uint64_t next_key(uint64_t key)
{
	return key * 0x9e3779b97f4a7c15u + 1;
}

static void a_seed_is_drawn(void **state)
{
	(void)state;
	assert_int_not_equal(hash_seed.first, 0x9e3779b97f4a7c15u);
	assert_int_equal(hash_seed.second % 2, 1);
}

/* Keys that share a slot under one seed are spread under the next. */
static void chosen_collisions_are_worth_nothing(void **state)
{
	static uint64_t numbers[KEYS];
	static char texts[KEYS][32];
	static uint32_t hashes[KEYS];

	(void)state;
	for (uint32_t round = 0; round < 20; round++) {
		struct prng p = prng_round(round);
		uint64_t key = 1;

		hash_seed = seed_of(&p);
		for (uint32_t n = 0; n < KEYS; key = next_key(key))
			if (hash_number(key) % SLOTS < 8)
				numbers[n++] = key;
		for (uint32_t n = 0; n < KEYS; key = next_key(key)) {
			snprintf(texts[n], sizeof(texts[n]), "name %" PRIu64, key);
			n += hash_bytes(texts[n], strlen(texts[n])) % SLOTS < 8;
		}
		for (uint32_t i = 0; i < KEYS; i++)
			hashes[i] = hash_number(numbers[i]);
		assert_true(longest_walk(hashes) > KEYS - 16);
		hash_seed = seed_of(&p);
		for (uint32_t i = 0; i < KEYS; i++)
			hashes[i] = hash_number(numbers[i]);
		assert_true(longest_walk(hashes) < KEYS / 10);
		for (uint32_t i = 0; i < KEYS; i++)
			hashes[i] = hash_bytes(texts[i], strlen(texts[i]));
		assert_true(longest_walk(hashes) < KEYS / 10);
	}
}

/* Programs choose keys at equal distances, or keys that differ in their upper bits alone. */
static void regular_keys_are_spread(void **state)
{
	static uint32_t hashes[KEYS];

	(void)state;
	for (uint32_t round = 0; round < 50; round++) {
		struct prng p = prng_round(round);

		hash_seed = seed_of(&p);
		for (uint32_t shift = 0; shift < 12; shift++) {
			for (uint32_t i = 0; i < KEYS; i++)
				hashes[i] = hash_number((uint64_t)i << shift);
			assert_true(longest_walk(hashes) < KEYS / 4);
		}
		for (uint32_t i = 0; i < KEYS; i++)
			hashes[i] = hash_pair(i % 64, i / 64);
		assert_true(longest_walk(hashes) < KEYS / 4);
		for (uint32_t i = 0; i < KEYS; i++)
			hashes[i] = hash_bytes((uint64_t[]){i / 64 * 4096, i % 64, 7}, 24);
		assert_true(longest_walk(hashes) < KEYS / 10);
		for (uint32_t i = 0; i < KEYS; i++)
			hashes[i] = hash_four(i / 256, i % 16, i / 16 % 16, 2);
		assert_true(longest_walk(hashes) < KEYS / 10);
	}
}

/* Under any seed, words that differ in their upper bits do not cancel each other. */
static void differences_do_not_cancel(void **state)
{
	const uint64_t top = UINT64_C(1) << 63;
	uint32_t equal = 0;

	(void)state;
	for (uint32_t round = 0; round < 1000; round++) {
		struct prng p = prng_round(round);
		uint64_t words[4] = {1, 2, 3, 4}, others[4] = {1 ^ top, 2, 3 ^ top, 4};

		hash_seed = seed_of(&p);
		equal += hash_bytes(words, sizeof(words)) == hash_bytes(others, sizeof(others));
		others[2] ^= top >> 32;
		equal += hash_bytes(words, sizeof(words)) == hash_bytes(others, sizeof(others));
		others[1] ^= top;
		equal += hash_bytes(words, sizeof(words)) == hash_bytes(others, sizeof(others));
	}
	assert_in_range(equal, 0, 2);
}

static void sizes_differ(void **state)
{
	static const char zeros[64];

	(void)state;
	for (size_t size = 1; size <= sizeof(zeros); size++)
		assert_int_not_equal(hash_bytes(zeros, size - 1), hash_bytes(zeros, size));
	assert_int_equal(hash_bytes("abc", 3), hash_bytes("abcd", 3));
	assert_int_equal(hash_bytes(NULL, 0), hash_bytes("", 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_seed_is_drawn),
		cmocka_unit_test(chosen_collisions_are_worth_nothing),
		cmocka_unit_test(regular_keys_are_spread),
		cmocka_unit_test(differences_do_not_cancel),
		cmocka_unit_test(sizes_differ),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
