/* SPDX-License-Identifier: MIT */
/*
 * Sampling of launch stacks, on a clock that the test controls. For each place, the weights of
 * taken stacks add up to all launches, whatever loops and phases a program has. The limit holds. A
 * kernel that is seldom launched keeps all of its stacks.
 */
#include "unit.h"
#include "cupti_trace/launch/stack_sampler.h"

#define US 1000u
#define MS 1000000u
#define TICK_NS (50u * MS)
#define LIMIT(percent) ((uint32_t)((percent)*1000))

enum { PLACES = 8 };

/* A thread of a program, and what is known of its launches afterwards. */
struct thread {
	struct stack_sampler sampler;
	struct prng prng;
	uint64_t now_ns, tick_ns, spent_ns;
	uint32_t stack_ns; /* cost of taking one stack */
	/* sums by place; `squares`: squared errors of each launch, for the sum's standard
	 * deviation */
	double launches[PLACES], taken[PLACES], stands[PLACES], squares[PLACES];
};

static struct thread *new_thread(uint32_t limit, uint64_t round)
{
	struct thread *t = calloc(1, sizeof(*t));

	assert_non_null(t);
	t->prng = prng_round(round);
	t->stack_ns = 300;
	t->now_ns = 1000 * MS;
	t->tick_ns = t->now_ns;
	stack_sampler_init(&t->sampler, limit, prng_u64(&t->prng) | 1, 1, t->now_ns);
	return t;
}

static void free_thread(struct thread *t)
{
	stack_sampler_release(&t->sampler);
	free(t);
}

/* Advances the clock by the program's own work. */
static void pass(struct thread *t, uint64_t ns)
{
	t->now_ns += ns;
}

static uint64_t hashed(uint64_t kernel)
{
	return (kernel + 1) * 0x9e3779b97f4a7c15u;
}

static uint32_t launch(struct thread *t, uint64_t kernel, uint32_t place)
{
	uint32_t n;

	if (t->now_ns - t->tick_ns >= TICK_NS || stack_sampler_is_due(&t->sampler)) {
		t->tick_ns = t->now_ns;
		stack_sampler_end_window(&t->sampler, t->now_ns);
	}
	n = stack_sampler_choose(&t->sampler, hashed(kernel));
	assert_in_range(n, 0, GPU_LAUNCH_STANDS_MAX);
	t->launches[place]++;
	if (n > 0) {
		if (stack_sampler_times(&t->sampler))
			stack_sampler_spent(&t->sampler, t->stack_ns);
		t->taken[place]++;
		t->stands[place] += n;
		t->squares[place] += (double)n * (n - 1);
		t->spent_ns += t->stack_ns;
		t->now_ns += t->stack_ns;
	}
	return n;
}

/* Expects the weights of taken stacks to be the number of launches, within 5 standard
 * deviations. */
static void expect_unbiased(const struct thread *t, uint32_t places)
{
	for (uint32_t i = 0; i < places; i++) {
		double error = t->stands[i] - t->launches[i];

		EXPECT(&t->prng, error * error <= 25 * t->squares[i]);
		/* the bound is meaningful */
		EXPECT(&t->prng, t->squares[i] < 0.01 * t->launches[i] * t->launches[i]);
	}
}

static double share_spent(const struct thread *t)
{
	return (double)t->spent_ns / (double)(t->now_ns - 1000 * MS);
}

static void all_are_taken_while_that_is_cheap(void **state)
{
	struct thread *t = new_thread(LIMIT(2), 1);

	(void)state;
	for (uint32_t i = 0; i < 100000; i++) {
		pass(t, 20 * US); /* 1.5 % */
		assert_int_equal(launch(t, i % 3, 0), 1);
	}
	free_thread(t);
}

/* No loop of any period, from any start, is in step with the sampling. */
static void no_loop_is_in_step(void **state)
{
	static const uint32_t loop[] = {0, 1, 0, 2};

	(void)state;
	for (uint64_t round = 0; round < 5; round++) {
		struct thread *t = new_thread(LIMIT(1), round);

		for (uint32_t i = 0; i < 1000000; i++) {
			pass(t, 2 * US);
			launch(t, 7, loop[(i + round) % 4]);
		}
		assert_true(t->taken[0] < 0.2 * t->launches[0]);
		expect_unbiased(t, 3);
		EXPECT(&t->prng, share_spent(t) < 0.0115);
		EXPECT(&t->prng, share_spent(t) > 0.007);
		free_thread(t);
	}
}

/* A step: launches of one place, then of another, then the thread waits. */
static void no_place_suffers_from_when_it_is_in_a_step(void **state)
{
	struct thread *t = new_thread(LIMIT(0.5), 9);

	(void)state;
	for (uint32_t step = 0; step < 1500; step++) {
		for (uint32_t i = 0; i < 1000; i++) {
			pass(t, 1 * US);
			launch(t, i % 5, i < 500 ? 0 : i < 900 ? 1 : 2);
		}
		pass(t, 15 * MS);
	}
	expect_unbiased(t, 3);
	EXPECT(&t->prng, share_spent(t) < 0.0058);
	EXPECT(&t->prng, t->taken[0] < t->launches[0] / 2);
	free_thread(t);
}

/* The price of a stack and the rate of launches change all the time. */
static void weights_follow_the_rate(void **state)
{
	(void)state;
	for (uint64_t round = 0; round < 3; round++) {
		struct thread *t = new_thread(LIMIT(1), 20 + round);
		uint64_t gap = US;

		for (uint32_t i = 0; i < 1500000; i++) {
			if (prng_below(&t->prng, 20000) == 0) {
				gap = 200 + prng_bits(&t->prng, 16);
				t->stack_ns = 100 + (uint32_t)prng_bits(&t->prng, 12);
			}
			pass(t, gap);
			launch(t, prng_below(&t->prng, 3), gap % PLACES);
		}
		for (uint32_t i = 0; i < PLACES; i++) {
			double error = t->stands[i] - t->launches[i];

			EXPECT(&t->prng, error * error <= 25 * t->squares[i]);
		}
		free_thread(t);
	}
}

static void kernels_that_are_seldom_launched_keep_their_stacks(void **state)
{
	struct thread *t = new_thread(LIMIT(2), 3);

	(void)state;
	for (uint32_t i = 0; i < 2000000; i++) {
		bool is_seldom = i % 1000 == 0;

		pass(t, 1 * US);
		launch(t, is_seldom ? 99 : i % 2, is_seldom);
	}
	assert_true(t->taken[0] < 0.2 * t->launches[0]);
	assert_true(t->taken[1] > 0.95 * t->launches[1]);
	expect_unbiased(t, 2);
	EXPECT(&t->prng, share_spent(t) < 0.022);
	free_thread(t);
}

static void the_first_launch_of_each_kernel_is_taken(void **state)
{
	struct thread *t = new_thread(LIMIT(0.1), 4);

	(void)state;
	for (uint32_t i = 0; i < 300000; i++) {
		pass(t, 500);
		launch(t, 0, 0);
	}
	assert_true(t->sampler.interval > 50);
	for (uint32_t kernel = 1; kernel <= 1000; kernel++) {
		assert_int_equal(launch(t, kernel, 1), 1);
		for (uint32_t i = 0; i < 20; i++) {
			pass(t, 500);
			launch(t, kernel, 1);
		}
	}
	assert_true(t->taken[1] < 0.15 * t->launches[1]);
	free_thread(t);
}

static void there_may_be_any_number_of_kernels(void **state)
{
	struct thread *t = new_thread(LIMIT(0.5), 5);
	uint32_t next = 0;

	(void)state;
	for (uint32_t i = 0; i < 2000000; i++) {
		pass(t, 500);
		launch(t, i % 3 ? next++ % 20000 : prng_below(&t->prng, 20000), i % 2);
	}
	assert_true(t->sampler.count <= STACK_SAMPLER_KERNELS);
	assert_true(t->sampler.capacity <= 2 * STACK_SAMPLER_KERNELS);
	expect_unbiased(t, 2);
	EXPECT(&t->prng, share_spent(t) < 0.0075);
	free_thread(t);
}

/* A stack stands for few different numbers: each is kept with it. */
static void intervals_are_few(void **state)
{
	static bool seen[GPU_LAUNCH_STANDS_MAX + 1];
	uint32_t different = 0;

	(void)state;
	for (uint32_t i = 0; i < 4000; i++) {
		struct thread *t = new_thread(LIMIT(0.1), 6);

		t->stack_ns = 100 + 20 * i;
		for (uint32_t k = 0; k < 4 * STACK_SAMPLER_FIRST; k++) {
			uint32_t n = launch(t, k % 2, 0);

			different += !seen[n];
			seen[n] = true;
			pass(t, 200);
		}
		free_thread(t);
	}
	assert_in_range(different, 10, 60);
}

/* A thread that waited a second for a CPU, within a stack, has not a stack that takes so long. */
static void a_thread_that_was_stopped_recovers(void **state)
{
	struct thread *t = new_thread(LIMIT(5), 7);

	(void)state;
	for (uint32_t i = 0; i < 20000; i++) {
		pass(t, 10 * US);
		launch(t, 1, 0);
	}
	assert_true(t->taken[0] == t->launches[0]);
	stack_sampler_spent(&t->sampler, 1000u * MS);
	pass(t, 1000u * MS);
	for (uint32_t i = 0; i < 40000; i++) {
		pass(t, 10 * US);
		launch(t, 1, 1);
	}
	assert_true(t->taken[1] > 0.95 * t->launches[1]);
	free_thread(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_are_taken_while_that_is_cheap),
		cmocka_unit_test(no_loop_is_in_step),
		cmocka_unit_test(no_place_suffers_from_when_it_is_in_a_step),
		cmocka_unit_test(weights_follow_the_rate),
		cmocka_unit_test(kernels_that_are_seldom_launched_keep_their_stacks),
		cmocka_unit_test(the_first_launch_of_each_kernel_is_taken),
		cmocka_unit_test(there_may_be_any_number_of_kernels),
		cmocka_unit_test(intervals_are_few),
		cmocka_unit_test(a_thread_that_was_stopped_recovers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
