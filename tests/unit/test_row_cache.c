/* SPDX-License-Identifier: MIT */
/* The table of rows: what is found was put under that pc, also while many threads write to it. */
#include "unit.h"
#include <pthread.h>
#include <stdatomic.h>
#include "cupti_trace/unwind/row_cache.h"

#define THREADS 4
#define CROWD 11 /* pcs that share 8 slots */

static uint64_t crowd[CROWD];
static _Atomic uint64_t found, wrong;
static int rounds;

/* Returns a row as packed rows are: a kind above, offsets below. Rows differ in the bits in
 * which pcs differ. */
static uint64_t row_of(uint64_t pc)
{
	return UINT64_C(1) << 56 | (uint32_t)pc;
}

static uint64_t slot_of(uint64_t pc)
{
	return (pc * 0x9e3779b97f4a7c15u) >> 40 & (ROW_CACHE_SLOTS - 1);
}

static void gather_crowd(void)
{
	uint64_t pc = 0x7f0000001000;

	for (int n = 0; n < CROWD; pc++)
		if (slot_of(pc) == 77)
			crowd[n++] = pc;
}

/* Looks up a row as a walk does, and puts a missing row. */
static void look_up(uint64_t pc)
{
	uint64_t row = row_cache_get(pc);

	if (!row)
		row_cache_put(pc, row_of(pc));
	else if (row != row_of(pc))
		atomic_fetch_add(&wrong, 1);
	else
		atomic_fetch_add(&found, 1);
}

static void *look_up_many(void *arg)
{
	uint32_t random = (uint32_t)(uintptr_t)arg * 7919 + 1;

	for (int i = 0; i < rounds; i++) {
		random = random * 1664525u + 1013904223u;
		look_up(crowd[(random >> 16) % CROWD]);
	}
	return NULL;
}

static void *forget(void *arg)
{
	_Atomic bool *ends = arg;

	while (!atomic_load(ends))
		row_cache_forget();
	return NULL;
}

static void play(bool forgets)
{
	pthread_t threads[THREADS], forgetter;
	_Atomic bool ends = false;

	atomic_store(&found, 0);
	if (forgets)
		assert_int_equal(pthread_create(&forgetter, NULL, forget, &ends), 0);
	for (uintptr_t i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, look_up_many, (void *)i), 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	atomic_store(&ends, true);
	if (forgets)
		pthread_join(forgetter, NULL);
	assert_int_equal(atomic_load(&wrong), 0);
	assert_true(atomic_load(&found) > (uint64_t)rounds / 10);
}

static void threads_that_crowd(void **state)
{
	(void)state;
	play(false);
}

static void threads_that_crowd_and_forget(void **state)
{
	(void)state;
	play(true);
}

static void what_is_put_is_found(void **state)
{
	(void)state;
	row_cache_forget();
	assert_int_equal(row_cache_get(crowd[0]), 0);
	for (int i = 0; i < 8; i++)
		row_cache_put(crowd[i], row_of(crowd[i]));
	for (int i = 0; i < 8; i++)
		assert_int_equal(row_cache_get(crowd[i]), row_of(crowd[i]));
	/* one more takes the place of the last */
	row_cache_put(crowd[8], row_of(crowd[8]));
	assert_int_equal(row_cache_get(crowd[8]), row_of(crowd[8]));
	assert_int_equal(row_cache_get(crowd[7]), 0);
	row_cache_forget();
	assert_int_equal(row_cache_get(crowd[8]), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_put_is_found),
		cmocka_unit_test(threads_that_crowd),
		cmocka_unit_test(threads_that_crowd_and_forget),
	};

	gather_crowd();
	rounds = getenv("UNDER_VALGRIND") ? 20000 : 1000000;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
