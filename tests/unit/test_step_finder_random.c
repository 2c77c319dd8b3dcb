/* SPDX-License-Identifier: MIT */
/*
 * Steps in awkward input and in random programs: numbers that a target may choose, and rules that
 * hold for any order of launches.
 */
#include "made_launches.h"

#define MAIN 0

static struct program program;

static void begin(uint64_t round, uint32_t threads)
{
	program_begin(&program, round, threads);
}

static void end(void)
{
	program_release(&program);
	memset(&program, 0, sizeof(program));
}

static uint32_t between(uint32_t least, uint32_t most)
{
	return random_between(&program.prng, least, most);
}

static bool chance(uint32_t percent)
{
	return prng_chance(&program.prng, percent);
}

/* ---- hostile input ---- */

static void takes_empty_input(void **state)
{
	struct step_list steps;
	const struct step_launch one = {UINT64_MAX, UINT32_MAX, UINT32_MAX};
	const uint32_t process = 0;

	(void)state;
	assert_int_equal(steps_find(NULL, 0, NULL, NULL, 0, &steps), 0);
	assert_int_equal(steps.count, 0);
	step_list_release(&steps);
	step_list_release(&steps);
	assert_int_equal(steps_find(&one, 1, NULL, &process, 1, &steps), 0);
	assert_int_equal(steps.count, 0);
	assert_int_equal(steps_find(&one, UINT64_C(1) << 40, NULL, &process, 1, &steps), -ENOMEM);
	assert_int_equal(steps.count, 0);
}

/* Launches of threads that the caller has not are left out. */
static void takes_unknown_threads(void **state)
{
	(void)state;
	begin(0, 2);
	for (uint32_t i = 0; i < 100; i++) {
		step_begins(&program);
		launch_each(&program, MAIN, 10, 5, 10 * US);
		launch_each(&program, 2, 20, 5, 10 * US);
		launch_each(&program, UINT32_MAX, 20, 5, 10 * US);
	}
	program_find(&program);
	assert_int_equal(program.found.count, 1);
	assert_int_equal(program.found.list[0].count, 100);
	assert_int_equal(program.found.list[0].of, 500);
	program.thread_count = 0;
	program_find(&program);
	assert_int_equal(program.found.count, 0);
	end();
}

static void takes_any_times(void **state)
{
	static const uint64_t starts[] = {0, 1, UINT64_MAX, UINT64_MAX - 1};

	(void)state;
	for (uint32_t kind = 0; kind < 8; kind++) {
		begin(kind, 2);
		for (uint32_t i = 0; i < 200; i++) {
			launch_each(&program, MAIN, 10, 5, 10 * US);
			launch_each(&program, 1, 20, 5, 10 * US);
		}
		for (uint32_t i = 0; i < program.count; i++)
			program.launches[i].start_ns =
				kind < 4 ? starts[kind]
					 : (kind < 6 ? program.count - i : prng_u64(&program.prng));
		program_find(&program);
		for (uint32_t i = 0; i < program.found.count; i++)
			assert_in_range(program.found.list[i].count, STEPS_MIN, 200);
		/* equal times tell nothing of the order, which does */
		if (kind < 4) {
			assert_int_equal(program.found.count, 1);
			assert_int_equal(program.found.list[0].count, 200);
		}
		end();
	}
}

static void takes_many_threads(void **state)
{
	(void)state;
	begin(0, 3000);
	for (uint32_t i = 0; i < 60000; i++)
		launch(&program, i % 3000, i / 3000 % 2, 10 * US);
	program_find(&program);
	assert_in_range(program.found.count, 0, 3000);
	end();
}

static void takes_distinct_tokens(void **state)
{
	uint32_t count = getenv("UNDER_VALGRIND") ? 20000 : 1000000;

	(void)state;
	for (uint32_t kind = 0; kind < 3; kind++) {
		begin(kind, 1);
		for (uint32_t i = 0; i < count; i++)
			launch(&program, MAIN,
			       kind == 0 ? i : (kind == 1 ? UINT32_MAX - i * 1021 : i / 8 * 4096),
			       10 * US);
		program_find(&program);
		EXPECT(&program.prng, program.found.count == 0);
		end();
	}
}

static void takes_a_launch_for_a_step(void **state)
{
	uint32_t count = getenv("UNDER_VALGRIND") ? 20000 : 1000000;

	(void)state;
	begin(0, 1);
	for (uint32_t i = 0; i < count; i++) {
		step_begins(&program);
		launch(&program, MAIN, UINT32_MAX, 10 * US);
	}
	program_find(&program);
	assert_int_equal(program.found.count, 1);
	assert_int_equal(program.found.list[0].count, count);
	EXPECT(&program.prng, score_of(&program, &program.found.list[0]) >= 1);
	end();
}

/* ---- random programs ---- */

/*
 * Launches a structure: parts that are repeated, of parts. The numbers of parts and repetitions
 * follow from the token and the round, and seldom vary.
 */
static void launch_part(uint64_t round, uint32_t depth, uint32_t token)
{
	struct prng own = prng_round(round * 10007 + token);
	uint32_t parts = random_between(&own, 1, 4);
	uint32_t times = random_between(&own, 1, prng_chance(&own, 30) ? 30 : 3);

	times += chance(2) ? between(0, 3) : 0;
	for (uint32_t i = 0; i < times * parts && program.count < 20000; i++) {
		uint32_t part = token * 4 + i % parts;

		if (depth > 0)
			launch_part(round, depth - 1, part);
		else
			launch(&program, part % program.thread_count, part, between(1, 50) * US);
		if (chance(1))
			launch_random(&program, MAIN, 0, 50, between(0, 5), US);
	}
}

static void check_series(const struct step_series *series)
{
	const struct prng *prng = &program.prng;
	uint64_t first = program.launches[0].start_ns;
	uint64_t last = program.launches[program.count - 1].start_ns;

	EXPECT(prng, series->count >= STEPS_MIN);
	EXPECT(prng, series->thread < program.thread_count);
	EXPECT(prng, series->warm_up <= series->count);
	EXPECT(prng, series->launches <= series->of && series->of <= program.count);
	EXPECT(prng, series->launches >= series->count);
	EXPECT(prng, series->starts_ns[0] >= first);
	EXPECT(prng, series->starts_ns[series->count] <= last + 1);
	for (uint32_t i = 0; i < series->count; i++)
		EXPECT(prng, series->starts_ns[i] < series->starts_ns[i + 1]);
}

/* Steps do not depend on the numbers of tokens, nor on when the run began. */
static void expect_same_steps(const struct step_list *a, const struct step_list *b, uint64_t later)
{
	EXPECT(&program.prng, a->count == b->count);
	for (uint32_t i = 0; i < a->count; i++) {
		EXPECT(&program.prng, a->list[i].count == b->list[i].count);
		EXPECT(&program.prng, a->list[i].thread == b->list[i].thread);
		for (uint32_t k = 0; k <= a->list[i].count; k++)
			EXPECT(&program.prng,
			       a->list[i].starts_ns[k] + later == b->list[i].starts_ns[k]);
	}
}

static void finds_steps_in_any_program(void **state)
{
	uint32_t found = 0;

	(void)state;
	for (uint64_t round = 0; round < unit_rounds(600); round++) {
		struct step_list before;

		begin(round, 1);
		program.thread_count = between(1, 4);
		for (uint32_t i = 0; i < program.thread_count; i++)
			program.process_of[i] = between(0, 1);
		for (uint32_t i = between(1, 3); i > 0; i--)
			launch_part(round, between(0, 4), between(1, 9));
		program_find(&program);
		for (uint32_t i = 0; i < program.found.count; i++)
			check_series(&program.found.list[i]);
		for (uint32_t i = 1; i < program.found.count; i++)
			EXPECT(&program.prng, program.found.list[i - 1].launches >=
						      program.found.list[i].launches);
		found += program.found.count > 0;

		before = program.found;
		memset(&program.found, 0, sizeof(program.found));
		for (uint32_t i = 0; i < program.count; i++) {
			program.launches[i].token = program.launches[i].token * 2654435761u + 17;
			program.launches[i].start_ns += 12345;
		}
		program_find(&program);
		expect_same_steps(&before, &program.found, 12345);
		step_list_release(&before);
		end();
	}
	assert_true(found >= unit_rounds(600) / 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(takes_empty_input),
		cmocka_unit_test(takes_unknown_threads),
		cmocka_unit_test(takes_any_times),
		cmocka_unit_test(takes_many_threads),
		cmocka_unit_test(takes_distinct_tokens),
		cmocka_unit_test(takes_a_launch_for_a_step),
		cmocka_unit_test(finds_steps_in_any_program),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
