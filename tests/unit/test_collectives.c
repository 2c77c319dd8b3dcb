/* SPDX-License-Identifier: MIT */
/* Kernels that were one collective are found by their times, and who waited for whom in them. */
#include "unit.h"
#include "profiler/tables/collectives.h"

#define MS 1000000u

static struct quota memory;

static struct collectives *begin(void)
{
	struct collectives *c;

	memory = (struct quota){.limit = SIZE_MAX};
	c = collectives_new(&memory);
	assert_non_null(c);
	return c;
}

static void end(struct collectives *c)
{
	collectives_free(c);
	assert_int_equal(memory.used, 0);
}

/* Adds a rank's operation in its stream, until `end_ns`. */
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
	assert_true(collectives_find(c, NULL, 0));
	for (uint32_t i = 0; i < 40; i++)
		check(c, i, 1, i % 4 == 1 ? 0 : 5 * MS - i % 4);
	end(c);
}

/* Returns true if two operations of `a` and `b` are one collective. */
static bool are_one(const struct collective_line *a, const struct collective_line *b,
		    const uint64_t times[4])
{
	struct collectives *c = begin();
	bool found;

	collectives_add(c, a, times[0], times[1] - times[0], 0);
	collectives_add(c, b, times[2], times[3] - times[2], 0);
	assert_true(collectives_find(c, NULL, 0));
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
	assert_true(collectives_find(c, NULL, 0));
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
	assert_true(collectives_find(c, NULL, 0));
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
	assert_true(collectives_find(c, NULL, 0));
	for (uint32_t i = 0; i < count; i++) {
		EXPECT(p, operation(c, i)->last == want[i].last);
		EXPECT(p, operation(c, i)->wait_ns == want[i].wait_ns);
	}
	end(c);
}

static void the_model_agrees(void **state)
{
	(void)state;
	for (uint64_t round = 0; round < unit_rounds(100); round++) {
		struct prng p = prng_round(round);

		check_model(&p);
	}
}

/* ---- several machines ---- */

#define US 1000u
#define HOSTS_MAX 64u

/* Machines whose clocks differ, with as many ranks each; all ranks are one communicator. */
struct cluster {
	struct collectives *c;
	struct collective_clock clocks[HOSTS_MAX];
	uint32_t hosts, ranks; /* ranks: of each */
	uint32_t comm;
	int64_t ahead_ns[HOSTS_MAX];
	double drift[HOSTS_MAX];
};

static void cluster_begin(struct prng *p, struct cluster *x, uint32_t hosts, uint32_t ranks,
			  int64_t apart_ns)
{
	*x = (struct cluster){.c = begin(), .hosts = hosts, .ranks = ranks};
	for (uint32_t i = 1; i < hosts; i++) {
		x->ahead_ns[i] = (int64_t)prng_below(p, 2 * (uint64_t)apart_ns + 1) - apart_ns;
		x->drift[i] = ((double)prng_below(p, 2001) - 1000) * 2e-8;
	}
}

static uint64_t on_clock(const struct cluster *x, uint32_t host, uint64_t ns)
{
	return (uint64_t)((int64_t)ns + x->ahead_ns[host] + (int64_t)(x->drift[host] * (double)ns));
}

static void add_on(struct cluster *x, uint32_t host, uint32_t rank, uint32_t stream,
		   uint64_t start_ns, uint64_t end_ns)
{
	const struct collective_line line = {
		.clock = host, .kernel = 7, .rank = rank, .stream = stream, .comm = x->comm};
	uint64_t start = on_clock(x, host, start_ns);

	collectives_add(x->c, &line, start, on_clock(x, host, end_ns) - start, 0);
}

/* Adds a collective to which all ranks come within 2 ms after `now`; rank `last` comes 1 ms
 * later. */
static void add_collective(struct prng *p, struct cluster *x, uint64_t now, uint32_t last)
{
	uint64_t left = now + 3 * MS + 100 * US;

	for (uint32_t rank = 0; rank < x->hosts * x->ranks; rank++)
		add_on(x, rank / x->ranks, rank, 1,
		       rank == last ? now + 3 * MS : now + prng_below(p, 2 * MS),
		       left + prng_below(p, 10 * US));
}

static void clocks_of_machines_are_aligned(void **state)
{
	(void)state;
	for (uint64_t round = 0; round < unit_rounds(20); round++) {
		struct prng p = prng_round(round);
		static struct cluster x;
		uint32_t hosts = 2 + (uint32_t)prng_below(&p, 3), count,
			 ranks = 1 + (uint32_t)prng_below(&p, 3), wanted[1000];
		const struct collective_operation *list;
		uint64_t now = 10000 * (uint64_t)MS;

		cluster_begin(&p, &x, hosts, ranks, 50 * (int64_t)MS);
		x.comm = round % 2;
		for (uint32_t i = 0; i < 1000; i++) {
			wanted[i] = (uint32_t)prng_below(&p, hosts * ranks);
			add_collective(&p, &x, now, wanted[i]);
			now += 10 * MS + prng_below(&p, 10 * MS);
		}
		assert_true(collectives_align(x.c, x.clocks, hosts));
		for (uint32_t i = 1; i < hosts; i++) {
			const struct clock_alignment *a = &x.clocks[i].alignment;
			uint64_t at = 15000 * (uint64_t)MS;
			uint64_t time = collectives_aligned_time(&x.clocks[i], on_clock(&x, i, at));

			EXPECT(&p, a->reference == 0 && a->collectives == 1000);
			EXPECT(&p, a->error_ns <= a->bound_ns && a->error_ns < 200 * US);
			EXPECT(&p, (time > at ? time - at : at - time) <= a->error_ns);
		}
		assert_true(collectives_find(x.c, x.clocks, hosts));
		list = collectives_list(x.c, &count);
		for (uint32_t i = 0; i < count; i++) {
			uint32_t rank = i % (hosts * ranks), last = wanted[i / (hosts * ranks)];

			EXPECT(&p, list[i].last == last);
			EXPECT(&p, list[i].verdict ==
					   (rank == last ? COLLECTIVE_LAST : COLLECTIVE_NOT_LAST));
			/* never longer than it was */
			EXPECT(&p, rank == last ? list[i].wait_ns == 0
						: list[i].wait_ns > MS - 500 * US &&
							  list[i].wait_ns <= 3 * MS);
		}
		end(x.c);
	}
}

/* If two ranks differ by less than the error of their clocks, no rank is the last. */
static void what_clocks_cannot_tell_is_undecided(void **state)
{
	struct prng p = prng_round(5);
	static struct cluster x;
	const struct collective_operation *list;
	uint64_t now = 1000 * (uint64_t)MS;
	uint32_t count;

	(void)state;
	cluster_begin(&p, &x, 2, 2, 5 * (int64_t)MS);
	for (uint32_t i = 0; i < 200; i++) {
		uint64_t left = now + 2 * MS;

		add_on(&x, 0, 0, 1, now, left);
		add_on(&x, 0, 1, 1, now + MS, left + 3 * US);
		add_on(&x, 1, 2, 1, now + MS + 10 * US, left + 2 * US);
		add_on(&x, 1, 3, 1, now, left + US);
		now += 10 * MS + prng_below(&p, 10 * MS);
	}
	assert_true(collectives_align(x.c, x.clocks, 2));
	assert_true(collectives_find(x.c, x.clocks, 2));
	list = collectives_list(x.c, &count);
	for (uint32_t i = 0; i < count; i += 4) {
		/* each waited for the last one of its own machine, for sure */
		assert_int_equal(list[i].last, 1);
		assert_int_equal(list[i].wait_ns, MS);
		assert_int_equal(list[i + 3].last, 2);
		assert_in_range(list[i + 3].wait_ns, MS + 9 * US, MS + 11 * US);
		assert_int_equal(list[i + 1].wait_ns + list[i + 2].wait_ns, 0);
		assert_int_equal(list[i].verdict + list[i + 1].verdict + list[i + 2].verdict +
					 list[i + 3].verdict,
				 COLLECTIVE_UNDECIDED);
	}
	end(x.c);
}

/* Tensor-parallel groups on each machine, and one data-parallel group for each of its ranks. */
static void groups_within_machines_do_not_mislead(void **state)
{
	struct prng p = prng_round(6);
	static struct cluster x;
	const struct collective_operation *list;
	uint64_t now = 1000 * (uint64_t)MS;
	uint32_t count;

	(void)state;
	cluster_begin(&p, &x, 3, 2, 5 * (int64_t)MS);
	for (uint32_t i = 0; i < 300; i++) {
		for (uint32_t host = 0; host < 3; host++) {
			uint64_t left = now + MS + prng_below(&p, MS);

			for (uint32_t k = 0; k < 2; k++)
				add_on(&x, host, host * 2 + k, 1, left - 200 * US, left);
		}
		for (uint32_t k = 0; k < 2; k++)
			for (uint32_t host = 0; host < 3; host++)
				add_on(&x, host, host * 2 + k, 2,
				       now + 4 * MS + (host == 1) * MS + k * 200 * US,
				       now + 6 * MS + k * 300 * US + host * 5 * US);
		now += 10 * MS + prng_below(&p, MS);
	}
	assert_true(collectives_align(x.c, x.clocks, 3));
	assert_int_equal(x.clocks[1].alignment.collectives, 300);
	assert_int_equal(x.clocks[2].alignment.collectives, 300);
	assert_true(collectives_find(x.c, x.clocks, 3));
	list = collectives_list(x.c, &count);
	for (uint32_t i = 0; i < count; i += 12)
		for (uint32_t k = 0; k < 12; k++) {
			uint32_t rank = k < 6 ? k : (k - 6) % 3 * 2 + (k - 6) / 3;

			if (k < 6)
				assert_int_equal(list[i + k].last, rank / 2 * 2);
			else
				assert_int_equal(list[i + k].last, 2 + rank % 2);
		}
	end(x.c);
}

static void a_large_job_is_compared(void **state)
{
	struct prng p = prng_round(7);
	static struct cluster x;
	const struct collective_operation *list;
	uint64_t now = 10000 * (uint64_t)MS;
	uint32_t count, right = 0;

	(void)state;
	cluster_begin(&p, &x, HOSTS_MAX, 8, 2 * (int64_t)MS);
	for (uint32_t i = 0; i < 100; i++) {
		add_collective(&p, &x, now, 77);
		now += 100 * MS + prng_below(&p, 10 * MS);
	}
	assert_true(collectives_align(x.c, x.clocks, HOSTS_MAX));
	for (uint32_t i = 1; i < HOSTS_MAX; i++)
		assert_int_equal(x.clocks[i].alignment.collectives, 100);
	assert_true(collectives_find(x.c, x.clocks, HOSTS_MAX));
	list = collectives_list(x.c, &count);
	assert_int_equal(count, 51200);
	for (uint32_t i = 0; i < count; i++)
		right += list[i].last == 77;
	assert_int_equal(right, count);
	end(x.c);
}

static void few_collectives_align_nothing(void **state)
{
	struct prng p = prng_round(8);
	static struct cluster x;
	uint64_t now = 1000 * (uint64_t)MS;
	uint32_t count;

	(void)state;
	cluster_begin(&p, &x, 2, 2, 5 * (int64_t)MS);
	for (uint32_t i = 0; i < CLOCK_FIT_PAIRS_MIN - 1; i++) {
		add_collective(&p, &x, now, 0);
		now += 10 * MS + prng_below(&p, 10 * MS);
	}
	assert_true(collectives_align(x.c, x.clocks, 2));
	assert_int_equal(x.clocks[1].alignment.collectives, 0);
	assert_int_equal(x.clocks[1].alignment.reference, 1);
	assert_int_equal(
		collectives_list(x.c, &count)[3].start_ns,
		collectives_aligned_time(&x.clocks[1], collectives_list(x.c, &count)[3].start_ns));
	assert_true(collectives_find(x.c, x.clocks, 2));
	assert_int_equal(collectives_list(x.c, &count)[0].last, 0);
	assert_true(collectives_list(x.c, &count)[2].last >= 2);
	end(x.c);
}

/* ---- what is not as it should be ---- */

static void nonsense_of_machines_is_harmless(void **state)
{
	(void)state;
	for (uint64_t round = 0; round < unit_rounds(60); round++) {
		struct prng p = prng_round(round);
		struct collectives *c = begin();
		struct collective_clock clocks[8] = {{0}};
		uint32_t bits = (uint32_t)prng_below(&p, 65), count;
		uint32_t hosts = 2 + (uint32_t)prng_below(&p, 7);
		uint64_t streams = 1 + prng_below(&p, prng_below(&p, 2) ? 3 : 2000);
		uint64_t range = 1 + (prng_below(&p, 2) ? 100 : prng_bits(&p, bits) / 4);
		const struct collective_operation *list;

		for (uint32_t i = 0; i < hosts; i++)
			clocks[i].wall_error_ns = prng_bits(&p, (uint32_t)prng_below(&p, 65));
		if (prng_below(&p, 4) == 0)
			memory.limit = 100000 + prng_below(&p, 600000);
		for (uint32_t i = 0; i < 3000; i++) {
			const struct collective_line line = {
				.clock = (uint32_t)prng_below(&p, hosts),
				.kernel = (uint32_t)prng_below(&p, 2),
				.rank = (uint32_t)prng_below(&p, 16),
				.stream = (uint32_t)prng_below(&p, streams),
				.comm = (uint32_t)prng_below(&p, 2)};
			uint64_t start = prng_below(&p, 2) ? prng_bits(&p, bits) : i / 20 * range;

			collectives_add(c, &line, start, prng_bits(&p, bits / 2), i);
		}
		collectives_align(c, clocks, hosts);
		collectives_find(c, clocks, hosts);
		list = collectives_list(c, &count);
		for (uint32_t i = 0; i < count; i++) {
			EXPECT(&p, list[i].end_ns >= list[i].start_ns);
			EXPECT(&p, list[i].last < 16 || list[i].last == COLLECTIVES_ALONE);
			EXPECT(&p, list[i].wait_ns == 0 ||
					   list[i].wait_ns < list[i].end_ns - list[i].start_ns);
			EXPECT(&p, list[i].last != COLLECTIVES_ALONE || list[i].wait_ns == 0);
		}
		for (uint32_t i = 0; i < hosts; i++)
			EXPECT(&p, clocks[i].alignment.reference <= i);
		end(c);
	}
}

static void nonsense_is_harmless(void **state)
{
	(void)state;
	for (uint64_t round = 0; round < unit_rounds(100); round++) {
		struct prng p = prng_round(round);
		struct collectives *c = begin();
		uint32_t bits = (uint32_t)prng_below(&p, 65), count;
		uint64_t ranks = 1 + prng_below(&p, 400), streams = 1 + prng_below(&p, 3);
		const struct collective_operation *list;

		for (uint32_t i = 0; i < 3000; i++) {
			const struct collective_line line = {
				.kernel = (uint32_t)prng_below(&p, 2),
				.rank = (uint32_t)prng_below(&p, ranks),
				.stream = (uint32_t)prng_below(&p, streams),
				.comm = (uint32_t)prng_below(&p, 2)};

			collectives_add(c, &line, prng_bits(&p, bits), prng_bits(&p, bits), i);
		}
		assert_true(collectives_find(c, NULL, 0));
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

/* ---- communicators ---- */

static void add_of(struct collectives *c, uint32_t comm, uint32_t rank, uint64_t start_ns,
		   uint64_t end_ns)
{
	const struct collective_line line = {.kernel = 7, .rank = rank, .comm = comm};

	collectives_add(c, &line, start_ns, end_ns - start_ns, 0);
}

/* Pairs 0, 1 and 2, 3 in step: only communicators tell them apart. */
static void communicators_in_step_stay_apart(void **state)
{
	(void)state;
	for (uint32_t is_known = 0; is_known < 2; is_known++) {
		struct collectives *c = begin();

		for (uint32_t i = 0; i < 20; i++)
			for (uint32_t rank = 0; rank < 4; rank++)
				add_of(c, is_known * (1 + rank / 2), rank,
				       (i + 1) * MS + rank * 1000, (i + 1) * MS + 90000);
		assert_true(collectives_find(c, NULL, 0));
		for (uint32_t i = 0; i < 80; i++)
			if (is_known)
				check(c, i, i % 4 / 2 * 2 + 1, i % 2 ? 0 : 1000);
			else
				check(c, i, 3, (3 - i % 4) * 1000);
		end(c);
	}
}

/* Ranks leave 400 us apart: times do not tell, numbers do. */
static void operations_of_one_number_are_peers(void **state)
{
	(void)state;
	for (uint32_t comm = 0; comm < 2; comm++) {
		struct collectives *c = begin();

		for (uint32_t i = 0; i < 20; i++)
			for (uint32_t rank = 0; rank < 3; rank++)
				add_of(c, comm, rank, (2 * i + 1) * MS + (rank == 1) * 50000,
				       (2 * i + 1) * MS + 90000 + rank * 400000);
		assert_true(collectives_find(c, NULL, 0));
		for (uint32_t i = 0; i < 60; i++)
			check(c, i, comm ? 1 : COLLECTIVES_ALONE, comm && i % 3 != 1 ? 50000 : 0);
		end(c);
	}
}

/* Captures of parts: rank 0 lacks the first operation, and rank 1 the last, or nothing. */
static void parts_of_a_run_are_compared_by_times(void **state)
{
	(void)state;
	for (uint32_t is_unequal = 0; is_unequal < 2; is_unequal++) {
		struct collectives *c = begin();
		uint32_t compared = 0, count;
		const struct collective_operation *list;

		for (uint32_t i = 0; i < 20; i++)
			for (uint32_t rank = 0; rank < 2; rank++)
				if ((rank == 1 || i > 0) && (rank == 0 || i < 19 || is_unequal))
					add_of(c, 5, rank, (i + 1) * MS + rank * 1000,
					       (i + 1) * MS + 90000);
		assert_true(collectives_find(c, NULL, 0));
		list = collectives_list(c, &count);
		for (uint32_t i = 0; i < count; i++) {
			compared += list[i].last == 1;
			assert_int_equal(list[i].wait_ns,
					 list[i].last == 1 && list[i].rank == 0 ? 1000 : 0);
		}
		assert_int_equal(compared, is_unequal ? 38 : 36);
		end(c);
	}
}

/* Operations of one number that cannot be one stay alone. */
static void few_that_do_not_overlap_stay_alone(void **state)
{
	struct collectives *c = begin();

	(void)state;
	for (uint32_t i = 0; i < 20; i++)
		for (uint32_t rank = 0; rank < 2; rank++) {
			uint64_t at = (i + 1) * (uint64_t)MS + (i % 10 == 3 ? rank * 200000 : 0);

			add_of(c, 5, rank, at + rank * 1000, at + 90000);
		}
	assert_true(collectives_find(c, NULL, 0));
	for (uint32_t i = 0; i < 40; i++)
		check(c, i, i / 2 % 10 == 3 ? COLLECTIVES_ALONE : 1,
		      i / 2 % 10 == 3 || i % 2 ? 0 : 1000);
	end(c);
}

static void a_rank_with_two_streams_of_one_communicator(void **state)
{
	struct collectives *c = begin();
	struct collective_line line = {.kernel = 7, .comm = 5};

	(void)state;
	for (uint32_t i = 0; i < 20; i++)
		for (uint32_t stream = 0; stream < 3; stream++) {
			line.rank = stream / 2;
			line.stream = stream;
			collectives_add(c, &line, (i + 1) * MS + stream * 100000, 90000, 0);
		}
	assert_true(collectives_find(c, NULL, 0));
	for (uint32_t i = 0; i < 60; i++)
		check(c, i, COLLECTIVES_ALONE, 0);
	end(c);
}

static void too_many_streams_are_not_compared(void **state)
{
	(void)state;
	for (uint32_t more = 0; more < 2; more++) {
		struct collectives *c = begin();
		uint32_t lines = COLLECTIVES_LINES_MAX + more;

		for (uint32_t i = 0; i < lines; i++)
			add(c, i, 0, i + 1, 1000);
		assert_true(collectives_find(c, NULL, 0));
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
	assert_false(collectives_find(c, NULL, 0));
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
		cmocka_unit_test(clocks_of_machines_are_aligned),
		cmocka_unit_test(what_clocks_cannot_tell_is_undecided),
		cmocka_unit_test(groups_within_machines_do_not_mislead),
		cmocka_unit_test(a_large_job_is_compared),
		cmocka_unit_test(few_collectives_align_nothing),
		cmocka_unit_test(nonsense_of_machines_is_harmless),
		cmocka_unit_test(nonsense_is_harmless),
		cmocka_unit_test(communicators_in_step_stay_apart),
		cmocka_unit_test(operations_of_one_number_are_peers),
		cmocka_unit_test(parts_of_a_run_are_compared_by_times),
		cmocka_unit_test(few_that_do_not_overlap_stay_alone),
		cmocka_unit_test(a_rank_with_two_streams_of_one_communicator),
		cmocka_unit_test(too_many_streams_are_not_compared),
		cmocka_unit_test(without_room_there_are_none),
		cmocka_unit_test(kernels_are_known_by_their_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
