/* SPDX-License-Identifier: MIT */
/* Ticks that become samples. Their weights add up to the time that threads ran, however short
 * the threads are. */
#include "unit.h"
#include "profiler/sources/sample_ticks.h"

/*
 * Threads of all lengths, on a clock that starts anew in each and ticks on whole ticks only: what
 * their samples stand for is what they ran, on average. Ticks as long as samples, too.
 */
static void short_threads_have_their_samples(void **state)
{
	static const uint64_t ticks_us[] = {2000, 2000, 700}, samples_us[] = {20000, 2000, 20000};
	enum { THREADS = 20000 };

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		struct prng r = prng_round(i);
		uint64_t sample_ns = 1000 * samples_us[i], tick_ns = 1000 * ticks_us[i];
		struct sample_ticks ticks = {.tick_ns = 0};
		double ran = 0, sampled = 0;

		sample_ticks_begin(&ticks, sample_ns, tick_ns, (uint32_t)prng_below(&r, 1000));
		for (uint32_t tid = 1; tid <= THREADS; tid++) {
			uint64_t ns = tick_ns * 3 / 2 + prng_below(&r, 40000000);

			for (uint64_t at = ticks.tick_ns; at <= ns; at += ticks.tick_ns)
				sampled += sample_ticks_count(&ticks, tid % 100);
			sample_ticks_forget(&ticks, tid % 100);
			ran += (double)ns;
		}
		sampled *= (double)sample_ns;
		print_message("%.1f %%\n", 100 * sampled / ran);
		EXPECT(&r, sampled > 0.98 * ran && sampled < 1.02 * ran);
		assert_int_equal(ticks.seen.count, 0);
		sample_ticks_release(&ticks);
	}
}

/* The kernel counts lost ticks. A ring holds many, at the price of deep stacks. */
static void rings_are_for_many_ticks(void **state)
{
	(void)state;
	assert_int_equal(sample_ticks_stack_bytes(4u << 20, 2000000), SAMPLE_STACK_MAX);
	assert_in_range(sample_ticks_stack_bytes(1u << 20, 2000000), 20000, 21000);
	assert_int_equal(sample_ticks_stack_bytes(1u << 20, 2000000) % 8, 0);
	assert_int_equal(sample_ticks_stack_bytes(1u << 20, 100000), SAMPLE_STACK_MIN);
	assert_int_equal(sample_ticks_samples(21, 0, 100000), 21);
	assert_int_equal(sample_ticks_samples(21, 20000000, 2000000), 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(short_threads_have_their_samples),
		cmocka_unit_test(rings_are_for_many_ticks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
