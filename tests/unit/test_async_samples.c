/* SPDX-License-Identifier: MIT */
/*
 * Samples of threads that work for others, against what their launches say.
 */
#include "unit.h"
#include <stdlib.h>
#include <string.h>
#include "profiler/join/async_samples.h"

#define P 7
#define T 70
#define MS UINT64_C(1000000)
#define S (1000 * MS)

/* Output as "TIME:BELOW", TIME in ms, "?" if unknown. */
static char out[4096];
static uint64_t count;

static void take(void *context, const struct async_sample *sample, struct owner_stack owner)
{
	size_t used = strlen(out);

	assert_null(context);
	count++;
	if (used + 32 > sizeof(out))
		return;
	if (same_id(owner, OWNER_UNKNOWN))
		snprintf(out + used, sizeof(out) - used, "%d:? ", (int)(sample->time_ns / MS));
	else
		snprintf(out + used, sizeof(out) - used, "%d:%u ", (int)(sample->time_ns / MS),
			 owner.number);
}

static int setup(void **state)
{
	struct async_samples *h = calloc(1, sizeof(*h));

	h->output = take;
	out[0] = '\0';
	count = 0;
	*state = h;
	return 0;
}

static int teardown(void **state)
{
	async_samples_release(*state);
	free(*state);
	return 0;
}

static void launch(struct async_samples *h, uint64_t ms, uint32_t below)
{
	async_samples_launch(h, P, T, ms * MS, OWNER_STACK(below));
}

static void sample(struct async_samples *h, uint64_t ms)
{
	async_samples_add(h, &(struct async_sample){
				     .time_ns = ms * MS, .process = P, .tid = T, .stack = {1}});
}

static void expect_out(const char *expected)
{
	assert_string_equal(out, expected);
	out[0] = '\0';
}

static void between_equal_launches_is_known(void **state)
{
	launch(*state, 100, 5);
	sample(*state, 150);
	expect_out(""); /* the next launch decides */
	launch(*state, 400, 5);
	expect_out("150:5 ");
	sample(*state, 300); /* launches may come first */
	sample(*state, 400);
	expect_out("300:5 400:5 ");
}

static void between_different_launches_is_not(void **state)
{
	launch(*state, 100, 5);
	sample(*state, 101);
	sample(*state, 150);
	launch(*state, 151, 6);
	expect_out("101:? 150:? ");
	sample(*state, 100); /* late, and known */
	sample(*state, 151);
	expect_out("100:5 151:6 ");
	launch(*state, 160, OWNER_UNKNOWN.number);
	launch(*state, 170, OWNER_UNKNOWN.number);
	sample(*state, 165);
	expect_out("165:? ");
}

static void ends_count_if_near(void **state)
{
	sample(*state, 80);
	sample(*state, 95);
	launch(*state, 100, 5);
	expect_out("80:? 95:5 ");
	sample(*state, 105);
	sample(*state, 120);
	async_samples_advance(*state, 105 * MS + S - 1);
	expect_out("");
	async_samples_advance(*state, 105 * MS + S);
	expect_out("105:5 ");
	async_samples_forget(*state, P);
	expect_out("120:? ");
	/* nothing is left of it */
	assert_false(async_samples_has(*state, P, T));
	sample(*state, 130);
	async_samples_forget(*state, P);
	expect_out("130:? ");
}

static void threads_and_processes_are_apart(void **state)
{
	launch(*state, 100, 5);
	launch(*state, 200, 5);
	async_samples_launch(*state, P, T + 1, 100 * MS, OWNER_STACK(6));
	async_samples_launch(*state, P, T + 1, 200 * MS, OWNER_STACK(6));
	async_samples_launch(*state, P + 1, T, 100 * MS, OWNER_STACK(7));
	async_samples_launch(*state, P + 1, T, 200 * MS, OWNER_STACK(7));
	for (uint32_t i = 0; i < 3; i++)
		async_samples_add(*state, &(struct async_sample){.time_ns = 150 * MS,
								 .process = P + i / 2,
								 .tid = T + i % 2});
	expect_out("150:5 150:6 150:7 ");
	async_samples_forget(*state, P);
	assert_false(async_samples_has(*state, P, T));
	assert_true(async_samples_has(*state, P + 1, T));
}

static void only_the_latest_launches_are_known(void **state)
{
	for (uint32_t i = 0; i <= ASYNC_SAMPLES_SPANS; i++)
		launch(*state, 100 + i, i);
	sample(*state, 100); /* forgotten */
	sample(*state, 101);
	sample(*state, 100 + ASYNC_SAMPLES_SPANS);
	expect_out("100:? 101:1 164:64 ");
	/* a time that runs backwards changes nothing */
	launch(*state, 50, 99);
	sample(*state, 164);
	expect_out("164:64 ");
}

static void each_sample_comes_out_once(void **state)
{
	uint64_t passed = 0;

	for (uint32_t i = 0; i < 3 * ASYNC_SAMPLES_WAITING_MAX; i++, passed++)
		sample(*state, 1000 + i);
	assert_true(count >= 2 * ASYNC_SAMPLES_WAITING_MAX);
	launch(*state, 100000, 3);
	for (uint32_t i = 0; i < ASYNC_SAMPLES_THREADS_MAX + 10; i++, passed++)
		async_samples_add(*state, &(struct async_sample){
						  .time_ns = MS, .process = P, .tid = 1000 + i});
	async_samples_advance(*state, 10 * S);
	async_samples_forget(*state, P);
	assert_int_equal(count, passed);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(between_equal_launches_is_known),
		TEST(between_different_launches_is_not),
		TEST(ends_count_if_near),
		TEST(threads_and_processes_are_apart),
		TEST(only_the_latest_launches_are_known),
		TEST(each_sample_comes_out_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
