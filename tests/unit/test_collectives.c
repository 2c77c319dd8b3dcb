/* SPDX-License-Identifier: MIT */
/* Kernels that were one collective are found by their times, and who waited for whom in them. */
#include "unit.h"
#include "profiler/profile/collectives.h"

#define MS 1000000u

static struct allowance memory;

static struct collectives *begin(void)
{
	struct collectives *c;

	memory = (struct allowance){.limit = SIZE_MAX};
	c = collectives_new(&memory);
	assert_non_null(c);
	return c;
}

static void end(struct collectives *c)
{
	collectives_free(c);
	assert_int_equal(memory.used, 0);
}

/* An operation of a rank in its stream, until `end_ns`. */
static void add(struct collectives *c, uint32_t rank, uint32_t stream, uint64_t start_ns,
		uint64_t end_ns)
{
	const struct collective_line line = {.kernel = 7, .rank = rank, .stream = stream};

	collectives_add(c, &line, start_ns, end_ns - start_ns, 0);
}

static const struct collective_operation *operation(const struct collectives *c, uint32_t number)
{
	uint32_t count;
	const struct collective_operation *list = collectives_list(c, &count);

	assert_true(number < count);
	return &list[number];
}

static void check(const struct collectives *c, uint32_t number, uint32_t last, uint64_t wait_ns)
{
	assert_int_equal(operation(c, number)->last, last);
	assert_int_equal(operation(c, number)->wait_ns, wait_ns);
}

static void a_late_rank_is_found(void **state)
{
	struct collectives *c = begin();

	(void)state;
	for (uint32_t step = 0; step < 10; step++)
		for (uint32_t rank = 0; rank < 4; rank++) {
			uint64_t at = (100 + 20 * (uint64_t)step) * MS;

			add(c, rank, 3, at + (rank == 1 ? 5 * MS : rank),
			    at + 7 * MS + 3000 * rank);
		}
	assert_true(collectives_find(c));
	for (uint32_t i = 0; i < 40; i++)
		check(c, i, 1, i % 4 == 1 ? 0 : 5 * MS - i % 4);
	end(c);
}

/* Two operations of `a` and `b`: are they one collective? */
static bool are_one(const struct collective_line *a, const struct collective_line *b,
		    const uint64_t times[4])
{
	struct collectives *c = begin();
	bool found;

	collectives_add(c, a, times[0], times[1] - times[0], 0);
	collectives_add(c, b, times[2], times[3] - times[2], 0);
	assert_true(collectives_find(c));
	found = operation(c, 0)->last != COLLECTIVES_ALONE;
	assert_int_equal(operation(c, 1)->last != COLLECTIVES_ALONE, found);
	end(c);
	return found;
}

static void what_cannot_be_one_stays_alone(void **state)
{
	const struct collective_line a = {.rank = 1}, rank = {.rank = 2},
				     same_rank = {.rank = 1, .stream = 9},
				     clock = {.rank = 2, .clock = 1},
				     kernel = {.rank = 2, .kernel = 1};
	const uint64_t limit = 100000 + COLLECTIVES_TOLERANCE_NS;

	(void)state;
	assert_true(are_one(&a, &rank, (uint64_t[]){0, 100000, 50000, 100000}));
	assert_true(are_one(&a, &rank, (uint64_t[]){0, 100000, 99999, limit}));
	assert_true(are_one(&a, &rank, (uint64_t[]){7, 100000, 7, 100000})); /* nobody waits */
	assert_false(are_one(&a, &same_rank, (uint64_t[]){0, 100000, 50000, 100000}));
	assert_false(are_one(&a, &a, (uint64_t[]){0, 100000, 50000, 100000}));
	assert_false(are_one(&a, &clock, (uint64_t[]){0, 100000, 50000, 100000}));
	assert_false(are_one(&a, &kernel, (uint64_t[]){0, 100000, 50000, 100000}));
	assert_false(are_one(&a, &rank, (uint64_t[]){0, 100000, 50000, limit + 1}));
	assert_false(are_one(&a, &rank, (uint64_t[]){0, 100000, 100000, 100001}));
	assert_false(are_one(&a, &rank, (uint64_t[]){0, 100000, 100000, 100000}));
	assert_false(are_one(&a, &rank, (uint64_t[]){100000, 100000, 0, 100000}));
}

/* Pairs 0, 1 and 2, 3, of which a fifth happen to end together. */
static void independent_groups_stay_apart(void **state)
{
	struct collectives *c = begin();

	(void)state;
	for (uint32_t i = 0; i < 50; i++)
		for (uint32_t rank = 0; rank < 4; rank++) {
			uint64_t at = (1 + (uint64_t)i) * MS + (rank / 2) * (i % 5) * 100000;

			add(c, rank, 0, at + rank * 1000, at + 90000 + rank);
		}
	assert_true(collectives_find(c));
	for (uint32_t i = 0; i < 200; i++)
		check(c, i, i % 4 / 2 * 2 + 1, i % 2 ? 0 : 1000);
	end(c);
}

static void the_lowest_of_equal_ranks_comes_last(void **state)
{
	struct collectives *c = begin();

	(void)state;
	for (uint32_t rank = 4; rank-- > 0;)
		add(c, rank, 0, rank == 3 ? 100 : 600, 1000);
	assert_true(collectives_find(c));
	check(c, 0, 0, 500);
	for (uint32_t i = 1; i < 4; i++)
		check(c, i, 0, 0);
	end(c);
}

/* ---- against a model ---- */

#define RANKS 8u
#define CALLS 60u

/*
 * Communicators of random ranks, each with streams of its own. One after the other their ranks come
 * at random times and leave within 20 us.
 */
static void check_model(struct prng *p)
{
	struct {
		uint32_t last;
		uint64_t wait_ns;
	} want[4 * CALLS * RANKS];
	struct collectives *c = begin();
	uint32_t count = 0, groups = 1 + (uint32_t)prng_below(p, 4);

	for (uint32_t group = 0; group < groups; group++) {
		uint32_t members = 3 | (uint32_t)prng_below(p, 1u << RANKS);
		uint64_t now = 1000 * MS + prng_below(p, MS);

		for (uint32_t call = 0; call < CALLS; call++) {
			uint64_t latest = 0, starts[RANKS], done;
			uint32_t last = 0, first = count;

			now += prng_below(p, MS);
			for (uint32_t rank = 0; rank < RANKS; rank++) {
				starts[rank] = now + prng_below(p, MS);
				if (members >> rank & 1 && starts[rank] > latest) {
					latest = starts[rank];
					last = rank;
				}
			}
			done = latest + 1 + prng_below(p, MS / 4);
			for (uint32_t rank = 0; rank < RANKS; rank++) {
				if (!(members >> rank & 1))
					continue;
				add(c, rank, group, starts[rank], done + prng_below(p, 20000));
				want[count].last = last;
				want[count++].wait_ns = latest - starts[rank];
			}
			assert_true(count - first > 1);
			now = done + 20000;
		}
	}
	assert_true(collectives_find(c));
	for (uint32_t i = 0; i < count; i++) {
		EXPECT(p, operation(c, i)->last == want[i].last);
		EXPECT(p, operation(c, i)->wait_ns == want[i].wait_ns);
	}
	end(c);
}

static void the_model_agrees(void **state)
{
	(void)state;
	for (uint64_t round = 0; round < unit_number("UNIT_ROUNDS", 100); round++) {
		struct prng p = prng_round(round);

		check_model(&p);
	}
}

/* ---- what is not as it should be ---- */

static void nonsense_is_harmless(void **state)
{
	(void)state;
	for (uint64_t round = 0; round < unit_number("UNIT_ROUNDS", 100); round++) {
		struct prng p = prng_round(round);
		struct collectives *c = begin();
		uint32_t bits = (uint32_t)prng_below(&p, 65), count;
		uint64_t ranks = 1 + prng_below(&p, 400), streams = 1 + prng_below(&p, 3);
		const struct collective_operation *list;

		for (uint32_t i = 0; i < 3000; i++) {
			const struct collective_line line = {
				.kernel = (uint32_t)prng_below(&p, 2),
				.rank = (uint32_t)prng_below(&p, ranks),
				.stream = (uint32_t)prng_below(&p, streams)};

			collectives_add(c, &line, prng_bits(&p, bits), prng_bits(&p, bits), i);
		}
		assert_true(collectives_find(c));
		list = collectives_list(c, &count);
		EXPECT(&p, count == 3000);
		for (uint32_t i = 0; i < count; i++) {
			EXPECT(&p, list[i].id == i);
			EXPECT(&p, list[i].end_ns >= list[i].start_ns);
			EXPECT(&p, list[i].last < ranks || list[i].last == COLLECTIVES_ALONE);
			EXPECT(&p, list[i].wait_ns == 0 ||
					   list[i].wait_ns < list[i].end_ns - list[i].start_ns);
			EXPECT(&p, list[i].last != COLLECTIVES_ALONE || list[i].wait_ns == 0);
		}
		end(c);
	}
}

static void too_many_streams_are_not_compared(void **state)
{
	(void)state;
	for (uint32_t more = 0; more < 2; more++) {
		struct collectives *c = begin();
		uint32_t lines = COLLECTIVES_LINES_MAX + more;

		for (uint32_t i = 0; i < lines; i++)
			add(c, i, 0, i + 1, 1000);
		assert_true(collectives_find(c));
		/* one is compared with those that ended just before it: all are not one */
		assert_int_equal(operation(c, 1)->last == COLLECTIVES_ALONE, more);
		end(c);
	}
}

static void without_room_there_are_none(void **state)
{
	struct collectives *c = begin();
	uint32_t count;

	(void)state;
	memory.limit = 4000;
	for (uint32_t i = 0; i < 100; i++)
		add(c, i % 2, 0, i / 2 * 1000, i / 2 * 1000 + 500);
	assert_false(collectives_find(c));
	assert_null(collectives_list(c, &count));
	assert_int_equal(count, 0);
	assert_int_equal(memory.used, 0);
	end(c);
}

static void kernels_are_known_by_their_names(void **state)
{
	static const struct {
		const char *name;
		bool is_nccl, is_compared;
	} cases[] = {
		{"ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)", true,
		 true},
		{"ncclKernel_AllGather_RING_LL_Sum_int8_t(ncclDevComm*)", true, true},
		{"ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL", true, true},
		{"ncclSymkDevKernel_AllReduce_AGxLL_R_sum_f32(x)", true, true},
		{"ncclDevKernel_SendRecv(x)", true, false},
		{"ncclDevKernel_Broadcast_RING_LL(x)", true, false},
		{"ncclDevKernel_Reduce_Sum_f32_RING_LL(x)", true, false},
		{"ncclDevKernel_Generic(AllReduce)", true, false},
		{"my_AllReduce", false, false},
		{"", false, false},
	};
	char name[128];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct frame_info frame = {.class = CLASS_GPU_KERNEL, .name = name};

		snprintf(name, sizeof(name), "[GPU_Kernel]%s", cases[i].name);
		assert_int_equal(collectives_is_nccl(&frame), cases[i].is_nccl);
		assert_int_equal(collectives_is_compared(&frame), cases[i].is_compared);
		frame.class = CLASS_NATIVE;
		assert_false(collectives_is_nccl(&frame) || collectives_is_compared(&frame));
	}
	assert_false(collectives_is_nccl(
		&(struct frame_info){.class = CLASS_GPU_KERNEL, .name = "nccl"}));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_late_rank_is_found),
		cmocka_unit_test(what_cannot_be_one_stays_alone),
		cmocka_unit_test(independent_groups_stay_apart),
		cmocka_unit_test(the_lowest_of_equal_ranks_comes_last),
		cmocka_unit_test(the_model_agrees),
		cmocka_unit_test(nonsense_is_harmless),
		cmocka_unit_test(too_many_streams_are_not_compared),
		cmocka_unit_test(without_room_there_are_none),
		cmocka_unit_test(kernels_are_known_by_their_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
