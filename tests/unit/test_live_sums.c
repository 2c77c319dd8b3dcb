/* SPDX-License-Identifier: MIT */
/* Sums for --live while only the last seconds are kept: as if all items were in rows. */
#include "unit.h"
#include "profiler/model/live_sums.h"
#include "profiler/model/profile_sink.h"

enum { PICKS = 8, KERNELS = 3, ITEMS = 3 * FLIGHT_RECORDER_PIECE };

struct bench {
	struct stack_table *stacks;
	struct profile *profile;
	struct flight_recorder *recorder;
	struct collected collected;
	struct live_sums sums;
	struct live_pick picks[PICKS];
	struct stack_id kernels[KERNELS], function;
};

static int begin(void **state)
{
	static const char *const names[KERNELS] = {"k0", "k1", "k2"};
	struct bench *b = calloc(1, sizeof(*b));
	struct stack_id launch;

	*state = b;
	if (!b)
		return -1;
	b->stacks = stack_table_new();
	b->profile = profile_new();
	b->recorder = flight_recorder_new();
	if (!b->stacks || !b->profile || !b->recorder)
		return -1;
	launch = stack_table_push_text(b->stacks, STACK_EMPTY, FRAME_API, "launch");
	for (uint32_t i = 0; i < KERNELS; i++)
		b->kernels[i] =
			stack_table_push_text(b->stacks, launch, FRAME_GPU_KERNEL, names[i]);
	b->function = stack_table_push_text(b->stacks, STACK_EMPTY, FRAME_MARK, "function");
	b->collected =
		(struct collected){.stacks = b->stacks, .profile = b->profile, .kept = b->recorder};
	return 0;
}

static int end(void **state)
{
	struct bench *b = *state;

	live_sums_release(&b->sums);
	flight_recorder_free(b->recorder);
	profile_free(b->profile);
	stack_table_free(b->stacks);
	free(b);
	return 0;
}

static void add(struct bench *b, enum timeline_kind kind, struct stack_id stack, uint64_t start_ns,
		uint64_t ns, uint32_t flags)
{
	assert_true(flight_recorder_add(b->recorder,
					&(struct profile_item){.record = {.kind = (uint8_t)kind,
									  .start_ns = start_ns,
									  .duration_ns = ns,
									  .stack = stack},
							       .flags = flags},
					UINT64_MAX));
}

static void kernel(struct bench *b, uint32_t number, uint64_t start_ns, uint64_t ns)
{
	add(b, TIMELINE_GPU_OPERATION, b->kernels[number], start_ns, ns, ITEM_COUNTS | ITEM_ROW);
}

static void pass(struct bench *b)
{
	live_sums_begin(&b->sums);
	while (!live_sums_step(&b->sums, &b->collected, 0))
		continue;
}

static uint32_t pick(struct bench *b, enum live_table table)
{
	return live_sums_pick(&b->sums, &b->collected, table, b->picks, PICKS);
}

static void only_rows_of_the_last_seconds_count(void **state)
{
	struct bench *b = *state;

	b->collected.last_from_ns = 100;
	kernel(b, 0, 99, 1000);
	kernel(b, 1, 100, 5);
	kernel(b, 1, 101, 6);
	kernel(b, 2, 102, 20);
	add(b, TIMELINE_CPU_SAMPLE, b->function, 103, 7, ITEM_COUNTS | ITEM_ROW);
	add(b, TIMELINE_CPU_SAMPLE, b->function, 103, 7, ITEM_COUNTS);
	add(b, TIMELINE_WAIT, b->function, 103, 7, ITEM_ROW);
	add(b, (enum timeline_kind)NOTE_SHARE, b->kernels[0], 103, 7, 0);
	pass(b);
	assert_int_equal(pick(b, LIVE_KERNELS), 2);
	assert_same_number(b->picks[0].stacks[0], b->kernels[2]);
	assert_int_equal(b->picks[0].sum.ns, 20);
	assert_same_number(b->picks[1].stacks[0], b->kernels[1]);
	assert_int_equal(b->picks[1].sum.ns, 11);
	assert_int_equal(b->picks[1].sum.count, 2);
	assert_int_equal(b->sums.whole[LIVE_KERNELS].ns, 31);
	assert_int_equal(b->sums.whole[LIVE_SITES].ns, 31);
	assert_int_equal(pick(b, LIVE_FUNCTIONS), 1);
	assert_int_equal(b->picks[0].sum.ns, 7);
}

/* A pass goes on where it was, however many were forgotten before that, and in what it has not
 * seen. */
static void items_are_forgotten_during_a_pass(void **state)
{
	struct bench *b = *state;
	uint64_t seen = 0;

	for (uint64_t i = 0; i < ITEMS; i++)
		kernel(b, 0, 1 + i, 1);
	live_sums_begin(&b->sums);
	assert_false(live_sums_step(&b->sums, &b->collected, 0));
	seen = b->sums.whole[LIVE_KERNELS].count;
	assert_true(seen > 0 && seen < FLIGHT_RECORDER_PIECE);
	/* the first piece, of which not all was seen */
	flight_recorder_forget(b->recorder, 1 + FLIGHT_RECORDER_PIECE + 2);
	assert_int_equal(flight_recorder_forgotten(b->recorder), FLIGHT_RECORDER_PIECE);
	while (!live_sums_step(&b->sums, &b->collected, 0))
		continue;
	assert_int_equal(b->sums.whole[LIVE_KERNELS].count, seen + 2 * FLIGHT_RECORDER_PIECE);
	/* the second one, after the pass: there is nothing more */
	flight_recorder_forget(b->recorder, 1 + 2 * FLIGHT_RECORDER_PIECE + 2);
	assert_true(live_sums_step(&b->sums, &b->collected, 0));
	assert_int_equal(b->sums.whole[LIVE_KERNELS].count, seen + 2 * FLIGHT_RECORDER_PIECE);
	pass(b);
	assert_int_equal(b->sums.whole[LIVE_KERNELS].count, FLIGHT_RECORDER_PIECE);
}

/* After stacks get new numbers, all sums start again, because sums are kept by a stack's number. */
static void stacks_have_new_numbers(void **state)
{
	struct bench *b = *state;

	for (uint64_t i = 0; i < 1000; i++)
		kernel(b, 0, 1 + i, 1);
	pass(b);
	assert_true(live_sums_are_of(&b->sums, &b->collected));
	live_sums_begin(&b->sums);
	assert_false(live_sums_step(&b->sums, &b->collected, 0));
	b->collected.renumbered++;
	assert_false(live_sums_are_of(&b->sums, &b->collected));
	while (!live_sums_step(&b->sums, &b->collected, 0))
		continue;
	assert_true(live_sums_are_of(&b->sums, &b->collected));
	assert_int_equal(b->sums.whole[LIVE_KERNELS].count, 1000);
	assert_int_equal(pick(b, LIVE_KERNELS), 1);
	assert_int_equal(b->picks[0].sum.count, 1000);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(only_rows_of_the_last_seconds_count),
		TEST(items_are_forgotten_during_a_pass),
		TEST(stacks_have_new_numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
