// SPDX-License-Identifier: MIT
#include "symbolize/util/radix_sort.h"

#include "unit.h"

static void check(struct prng *p, uint32_t count, uint32_t bits)
{
	uint64_t *keys = malloc(count * sizeof(*keys) + 1), *before = malloc(count * 8u + 1);
	uint32_t *values = malloc(count * sizeof(*values) + 1);
	bool *seen = calloc(count + 1u, 1);

	assert_true(keys && before && values && seen);
	for (uint32_t i = 0; i < count; i++) {
		keys[i] = before[i] = prng_bits(p, bits);
		values[i] = i;
	}
	assert_int_equal(radix_sort(&keys, &values, count), 0);
	for (uint32_t i = 0; i < count; i++) {
		EXPECT(p, values[i] < count && !seen[values[i]]);
		seen[values[i]] = true;
		EXPECT(p, keys[i] == before[values[i]]);
		if (i > 0)
			EXPECT(p, keys[i - 1] < keys[i] ||
					  (keys[i - 1] == keys[i] && values[i - 1] < values[i]));
	}
	free(keys);
	free(before);
	free(values);
	free(seen);
}

static void equal_keys_keep_their_order(void **state)
{
	struct prng p = prng_round(0);

	(void)state;
	check(&p, 1000, 0);
	check(&p, 1000, 3);
}

static void nothing_to_sort(void **state)
{
	struct prng p = prng_round(0);

	(void)state;
	check(&p, 0, 64);
	check(&p, 1, 64);
}

static void random_keys(void **state)
{
	(void)state;
	for (uint64_t round = 0; round < unit_rounds(100); round++) {
		struct prng p = prng_round(round);

		check(&p, (uint32_t)prng_below(&p, 3000), (uint32_t)prng_below(&p, 65));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(equal_keys_keep_their_order),
		cmocka_unit_test(nothing_to_sort),
		cmocka_unit_test(random_keys),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
