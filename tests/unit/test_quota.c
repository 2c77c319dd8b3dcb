/* SPDX-License-Identifier: MIT */
/* Limits on the memory that a source may take, to the byte. */
#include "unit.h"
#include "profiler/base/quota.h"

static void the_whole_limit_may_be_taken(void **state)
{
	struct quota a = {.limit = 100};

	(void)state;
	assert_true(quota_take(&a, 60));
	assert_true(quota_take(&a, 40));
	assert_int_equal(a.used, 100);
	assert_int_equal(a.refused, 0);
	assert_false(quota_take(&a, 1));
	assert_true(quota_take(&a, 0));
	assert_int_equal(a.used, 100);
	assert_int_equal(a.refused, 1);
}

/* A large thing that is refused leaves room for a small one; each counts once, whatever its size.
 */
static void refused_bytes_are_not_taken(void **state)
{
	struct quota a = {.limit = 100};

	(void)state;
	assert_true(quota_take(&a, 10));
	assert_false(quota_take(&a, 91));
	assert_false(quota_take(&a, SIZE_MAX));
	assert_false(quota_take(&a, SIZE_MAX - 9)); /* the limit is reached with the used bytes */
	assert_int_equal(a.used, 10);
	assert_int_equal(a.refused, 3);
	assert_true(quota_take(&a, 90));
	assert_int_equal(a.refused, 3);
}

static void returned_bytes_may_be_taken_again(void **state)
{
	struct quota a = {.limit = 100};

	(void)state;
	assert_true(quota_take(&a, 100));
	assert_false(quota_take(&a, 30));
	quota_return(&a, 30);
	assert_int_equal(a.used, 70);
	assert_true(quota_take(&a, 30));
	assert_false(quota_take(&a, 1));
	assert_int_equal(a.refused, 2); /* still a loss */
}

/* A part has its own limit and that of the whole. */
static void a_part_is_taken_from_the_whole(void **state)
{
	struct quota whole = {.limit = 100};
	struct quota one = {.limit = 80, .outer = &whole};
	struct quota other = {.limit = 80, .outer = &whole};

	(void)state;
	assert_true(quota_take(&one, 70));
	assert_int_equal(whole.used, 70);
	assert_false(quota_take(&one, 11));   /* beyond its own */
	assert_false(quota_take(&other, 31)); /* beyond that of all */
	assert_int_equal(other.used, 0);
	assert_int_equal(whole.used, 70);
	assert_int_equal(one.refused, 1);
	assert_int_equal(other.refused, 1);
	assert_int_equal(whole.refused, 0);
	assert_true(quota_has(&other, 30));
	assert_true(quota_take(&other, 30));
	assert_false(quota_has(&one, 1));
	quota_return(&one, 71); /* no more than it took */
	assert_int_equal(one.used, 0);
	assert_int_equal(whole.used, 30);
	assert_true(quota_take(&other, 50));
}

static void no_quota_has_no_limit(void **state)
{
	(void)state;
	assert_true(quota_has(NULL, SIZE_MAX));
	assert_true(quota_take(NULL, SIZE_MAX));
	quota_return(NULL, SIZE_MAX);
}

/* A table that uses its records again pays for each once, from the first that is not free. */
static void a_table_pays_for_what_is_most(void **state)
{
	struct quota a = {.limit = 25};
	uint32_t paid = 0;

	(void)state;
	assert_true(quota_extend(&a, QUOTA_FREE_RECORDS - 1, &paid, 10));
	assert_int_equal(a.used, 0);
	assert_true(quota_extend(&a, QUOTA_FREE_RECORDS, &paid, 10));
	assert_true(quota_extend(&a, QUOTA_FREE_RECORDS + 1, &paid, 10));
	assert_int_equal(a.used, 20);
	assert_true(quota_extend(&a, QUOTA_FREE_RECORDS, &paid, 10)); /* paid for */
	assert_false(quota_extend(&a, QUOTA_FREE_RECORDS + 2, &paid, 10));
	assert_int_equal(a.used, 20);
}

/* Returning too much never raises the limit. */
static void no_more_than_was_taken_is_returned(void **state)
{
	struct quota a = {.limit = 100};

	(void)state;
	assert_true(quota_take(&a, 20));
	quota_return(&a, 21);
	assert_int_equal(a.used, 0);
	quota_return(&a, SIZE_MAX);
	assert_int_equal(a.used, 0);
	assert_false(quota_take(&a, 101));
	assert_true(quota_take(&a, 100));
}

static void without_a_limit_nothing_may_be_taken(void **state)
{
	struct quota a = {0};

	(void)state;
	assert_true(quota_take(&a, 0));
	assert_false(quota_take(&a, 1));
	assert_int_equal(a.refused, 1);
}

static void the_largest_limit_is_exact(void **state)
{
	struct quota a = {.limit = SIZE_MAX};

	(void)state;
	assert_true(quota_take(&a, SIZE_MAX - 1));
	assert_false(quota_take(&a, 2));
	assert_true(quota_take(&a, 1));
	assert_false(quota_take(&a, 1));
	assert_int_equal(a.used, SIZE_MAX);
}

enum { THINGS = 50 };

/* Random sizes taken and returned, compared with their sum. */
static void random_things(void **state)
{
	(void)state;
	for (uint64_t round = 0; round < unit_rounds(200); round++) {
		struct prng p = prng_round(round);
		struct quota a = {.limit = prng_bits(&p, 12)};
		size_t kept[THINGS] = {0}, sum = 0;
		uint64_t refused = 0;

		for (int i = 0; i < 500; i++) {
			size_t *thing = &kept[prng_below(&p, THINGS)], bytes = prng_bits(&p, 10);

			sum -= *thing;
			quota_return(&a, *thing);
			*thing = sum + bytes <= a.limit ? bytes : 0;
			refused += sum + bytes > a.limit;
			EXPECT(&p, quota_take(&a, bytes) == (sum + bytes <= a.limit));
			sum += *thing;
			EXPECT(&p, a.used == sum && a.used <= a.limit);
			EXPECT(&p, a.refused == refused);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_whole_limit_may_be_taken),
		cmocka_unit_test(refused_bytes_are_not_taken),
		cmocka_unit_test(returned_bytes_may_be_taken_again),
		cmocka_unit_test(no_more_than_was_taken_is_returned),
		cmocka_unit_test(without_a_limit_nothing_may_be_taken),
		cmocka_unit_test(the_largest_limit_is_exact),
		cmocka_unit_test(a_part_is_taken_from_the_whole),
		cmocka_unit_test(no_quota_has_no_limit),
		cmocka_unit_test(a_table_pays_for_what_is_most),
		cmocka_unit_test(random_things),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
