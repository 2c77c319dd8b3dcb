/* SPDX-License-Identifier: MIT */
/* Sums by key, beside a model. The module is built into this test, with a small bound. */
#include "unit.h"

#define WORK_TALLY_MAX 100u
#include "cupti_trace/gpu_work.h"
#include "cupti_trace/work_tally.c"

static struct work_key key_of(uint32_t process, uint32_t device, uint32_t context, uint32_t stream,
			      uint32_t work)
{
	return (struct work_key){process, device, context, stream, work};
}

static void add(struct work_tally *t, struct work_key key, uint64_t ns)
{
	struct work_sum *sum = work_tally_get(t, &key);

	assert_non_null(sum);
	sum->count++;
	sum->ns += ns;
}

static uint64_t ns_of(const struct work_tally *t, struct work_key key)
{
	const struct work_sum *sum = work_tally_find(t, &key);

	return sum ? sum->ns : UINT64_MAX;
}

static void nothing_is_in_an_empty_one(void **state)
{
	struct work_tally t = {0};
	struct work_key key = key_of(0, 0, 0, 0, 0);
	uint32_t at = 0;

	(void)state;
	assert_null(work_tally_find(&t, &key));
	assert_null(work_tally_next(&t, &at));
	work_tally_release(&t);
	work_tally_release(&t);
}

static void each_part_of_a_key_counts(void **state)
{
	struct work_tally t = {0};

	(void)state;
	add(&t, key_of(0, 0, 0, 0, 0), 1);
	add(&t, key_of(1, 0, 0, 0, 0), 2);
	add(&t, key_of(0, 1, 0, 0, 0), 3);
	add(&t, key_of(0, 0, 1, 0, 0), 4);
	add(&t, key_of(0, 0, 0, 1, 0), 5);
	add(&t, key_of(0, 0, 0, 0, 1), 6);
	add(&t, key_of(0, 0, 0, 1, 0), 100);
	assert_int_equal(t.count, 6);
	assert_int_equal(ns_of(&t, key_of(0, 0, 0, 0, 0)), 1);
	assert_int_equal(ns_of(&t, key_of(1, 0, 0, 0, 0)), 2);
	assert_int_equal(ns_of(&t, key_of(0, 1, 0, 0, 0)), 3);
	assert_int_equal(ns_of(&t, key_of(0, 0, 1, 0, 0)), 4);
	assert_int_equal(ns_of(&t, key_of(0, 0, 0, 1, 0)), 105);
	assert_int_equal(ns_of(&t, key_of(0, 0, 0, 0, 1)), 6);
	assert_int_equal(ns_of(&t, key_of(1, 1, 0, 0, 0)), UINT64_MAX);
	assert_false(t.overflowed);
	work_tally_release(&t);
	assert_int_equal(ns_of(&t, key_of(0, 0, 0, 0, 0)), UINT64_MAX);
}

static struct work_key rest_of(uint32_t work)
{
	return key_of(WORK_TALLY_REST, WORK_TALLY_REST, WORK_TALLY_REST, WORK_TALLY_REST, work);
}

static void what_is_too_much_goes_to_the_rest(void **state)
{
	struct work_tally t = {0};

	(void)state;
	for (uint32_t stream = 0; stream < WORK_TALLY_MAX; stream++)
		add(&t, key_of(7, 0, 1, stream, GPU_WORK_KERNEL), stream);
	assert_false(t.overflowed);
	for (uint32_t stream = 0; stream < 1000; stream++)
		add(&t, key_of(8, 0, 1, stream, GPU_WORK_KERNEL), 1);
	for (uint32_t stream = 0; stream < 500; stream++)
		add(&t, key_of(8, 0, 1, stream, GPU_WORK_MEMSET), 2);
	assert_true(t.overflowed);
	assert_int_equal(ns_of(&t, rest_of(GPU_WORK_KERNEL)), 1000);
	assert_int_equal(ns_of(&t, rest_of(GPU_WORK_MEMSET)), 1000);
	assert_int_equal(t.count, WORK_TALLY_MAX + 2);
	/* those that were there go on */
	add(&t, key_of(7, 0, 1, 5, GPU_WORK_KERNEL), 10);
	assert_int_equal(ns_of(&t, key_of(7, 0, 1, 5, GPU_WORK_KERNEL)), 15);
	work_tally_release(&t);
}

/* The pipe's lines may name any ids. */
static void ids_like_the_rests_do_not_lift_the_bound(void **state)
{
	struct work_tally t = {0};

	(void)state;
	for (uint32_t i = 0; i < 10 * WORK_TALLY_MAX; i++)
		add(&t, key_of(i, WORK_TALLY_REST, i, i, GPU_WORK_KERNEL), 1);
	assert_true(t.count <= WORK_TALLY_MAX + GPU_WORKS);
	assert_true(t.overflowed);
	work_tally_release(&t);
}

/* ---- beside a model ---- */

enum { MOST = 400 };

struct model {
	struct work_sum sums[MOST];
	uint32_t count;
};

static struct work_sum *find_in_model(struct model *m, const struct work_key *key)
{
	for (uint32_t i = 0; i < m->count; i++)
		if (memcmp(&m->sums[i].key, key, sizeof(*key)) == 0)
			return &m->sums[i];
	return NULL;
}

static struct work_sum *get_in_model(struct model *m, struct work_key key)
{
	struct work_sum *sum = find_in_model(m, &key);

	if (!sum && m->count >= WORK_TALLY_MAX) {
		key = rest_of(key.work);
		sum = find_in_model(m, &key);
	}
	if (!sum) {
		assert_true(m->count < MOST);
		sum = &m->sums[m->count++];
		*sum = (struct work_sum){.key = key};
	}
	return sum;
}

static struct work_key random_key(struct prng *p)
{
	return key_of((uint32_t)prng_below(p, 2), (uint32_t)prng_below(p, 3),
		      prng_chance(p, 2) ? UINT32_MAX : (uint32_t)prng_below(p, 2),
		      (uint32_t)prng_bits(p, 4), (uint32_t)prng_below(p, GPU_WORKS));
}

static void compare(struct prng *p, const struct work_tally *t, struct model *m)
{
	const struct work_sum *sum;
	uint32_t at = 0, n = 0;

	while ((sum = work_tally_next(t, &at))) {
		struct work_sum *want = find_in_model(m, &sum->key);

		EXPECT(p, want && want->count == sum->count && want->ns == sum->ns &&
				  want->bytes == sum->bytes);
		EXPECT(p, work_tally_find(t, &sum->key) == sum);
		n++;
	}
	EXPECT(p, n == m->count && t->count == n);
}

static void random_sums(void **state)
{
	uint64_t rounds = unit_number("UNIT_ROUNDS", getenv("UNDER_VALGRIND") ? 3 : 100);

	(void)state;
	for (uint64_t round = 0; round < rounds; round++) {
		struct prng prng = prng_round(round);
		uint64_t events = prng_bits(&prng, 12);
		struct work_tally t = {0};
		struct model m = {.count = 0};

		for (uint64_t i = 0; i < events; i++) {
			struct work_key key = random_key(&prng);
			uint64_t ns = prng_bits(&prng, 64), bytes = prng_bits(&prng, 64);
			struct work_sum *sum = work_tally_get(&t, &key);
			struct work_sum *want = get_in_model(&m, key);

			assert_non_null(sum);
			sum->count++, want->count++;
			sum->ns += ns, want->ns += ns; /* wraps in both */
			sum->bytes += bytes, want->bytes += bytes;
		}
		compare(&prng, &t, &m);
		work_tally_release(&t);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_is_in_an_empty_one),
		cmocka_unit_test(each_part_of_a_key_counts),
		cmocka_unit_test(what_is_too_much_goes_to_the_rest),
		cmocka_unit_test(ids_like_the_rests_do_not_lift_the_bound),
		cmocka_unit_test(random_sums),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
