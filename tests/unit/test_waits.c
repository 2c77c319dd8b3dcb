/* SPDX-License-Identifier: MIT */
/* GPU work during waits: pieces add up, and are correct. */
#include "unit.h"
#include "profiler/addons/waits.h"

#define PID 7
#define MOST 4096

/* Pieces by the operation's launch (a number here); 0: none ran. */
struct bench {
	struct waits *waits;
	uint64_t ns[MOST], off_cpu_ns[MOST];
	uint64_t total, off_cpu;
	uint32_t pieces;
};

static void note(void *context, const struct waits_wait *wait, const struct waits_piece *piece)
{
	struct bench *b = context;
	uint32_t number = piece->origin ? piece->origin->launch.number : 0;
	uint64_t from_ns = piece->from_ns, ns = piece->ns;

	assert_int_equal(wait->process, PID);
	assert_true(ns > 0);
	assert_true(from_ns >= wait->start_ns && from_ns + ns <= wait->end_ns);
	assert_true(number < MOST);
	assert_true(piece->off_cpu_ns <= ns);
	if (!wait->computed_ns)
		assert_int_equal(piece->off_cpu_ns, ns);
	b->ns[number] += ns;
	b->total += ns;
	b->off_cpu_ns[number] += piece->off_cpu_ns;
	b->off_cpu += piece->off_cpu_ns;
	b->pieces++;
}

static int begin(void **state)
{
	struct bench *b = calloc(1, sizeof(*b));

	if (!b)
		return -1;
	*state = b;
	b->waits = waits_new(&(struct waits_output){note, b});
	return b->waits ? 0 : -1;
}

static int end(void **state)
{
	struct bench *b = *state;

	waits_free(b->waits);
	free(b);
	return 0;
}

static void ran(struct bench *b, uint32_t number, uint32_t stream, uint64_t from, uint64_t to)
{
	assert_int_equal(
		waits_add_operation(b->waits, &(struct waits_operation){.start_ns = from,
									.end_ns = to,
									.process = PID,
									.context = 1,
									.stream = stream,
									.origin.launch = {number}}),
		0);
}

static void waited(struct bench *b, uint64_t from, uint64_t to)
{
	assert_int_equal(
		waits_add(b->waits,
			  &(struct waits_wait){.start_ns = from, .end_ns = to, .process = PID}),
		0);
}

static void waited_for(struct bench *b, uint32_t stream, uint64_t from, uint64_t to)
{
	assert_int_equal(waits_add(b->waits, &(struct waits_wait){.start_ns = from,
								  .end_ns = to,
								  .process = PID,
								  .has_stream = true,
								  .context = 1,
								  .stream = stream}),
			 0);
}

static void a_wait_is_split_by_operation(void **state)
{
	struct bench *b = *state;

	ran(b, 1, 1, 50, 110);
	ran(b, 2, 1, 120, 150);
	ran(b, 3, 1, 190, 300);
	ran(b, 4, 1, 300, 400); /* later */
	waited(b, 100, 200);
	waits_finish(b->waits);
	assert_int_equal(b->ns[1], 10);
	assert_int_equal(b->ns[2], 30);
	assert_int_equal(b->ns[3], 10);
	assert_int_equal(b->ns[4], 0);
	assert_int_equal(b->ns[0], 50);
	assert_int_equal(b->total, 100);
}

static void waited_and_computed(struct bench *b, uint64_t from, uint64_t to, uint64_t computed)
{
	assert_int_equal(waits_add(b->waits, &(struct waits_wait){.start_ns = from,
								  .end_ns = to,
								  .computed_ns = computed,
								  .process = PID}),
			 0);
}

/* Computing inside a call is CPU time, which is taken first from times without GPU work. */
static void what_it_computes_is_no_wait(void **state)
{
	struct bench *b = *state;

	ran(b, 1, 1, 110, 130);
	ran(b, 2, 1, 140, 180);
	waited_and_computed(b, 100, 200, 30);
	waits_finish(b->waits);
	assert_int_equal(b->ns[0], 40);
	assert_int_equal(b->off_cpu_ns[0], 10);
	assert_int_equal(b->off_cpu_ns[1], 20);
	assert_int_equal(b->off_cpu_ns[2], 40);
}

/* A thread that spins has nothing but CPU time; one that spins for a half, a half. */
static void spinning_is_no_wait(void **state)
{
	struct bench *b = *state;

	ran(b, 1, 1, 100, 160);
	ran(b, 2, 1, 160, 190);
	waited_and_computed(b, 100, 200, 100);
	waits_finish(b->waits);
	assert_int_equal(b->total, 100);
	assert_int_equal(b->off_cpu, 0);
	/* 10 where nothing ran, 45 of the 90 in which it did */
	waited_and_computed(b, 100, 200, 55);
	waits_finish(b->waits);
	assert_int_equal(b->off_cpu_ns[0], 0);
	assert_int_equal(b->off_cpu_ns[1] + b->off_cpu_ns[2], 45);
	assert_true(b->off_cpu_ns[1] == 30 || b->off_cpu_ns[2] == 15);
	/* more than there is, as a program may say */
	waited_and_computed(b, 100, 200, UINT64_MAX);
	waits_finish(b->waits);
	assert_int_equal(b->off_cpu, 45);
}

/* Remainders are exact to the ns, for any parts. */
static void what_is_left_is_exact(void **state)
{
	struct bench *b = *state;
	struct prng r = prng_round(7);
	uint64_t left = 0;

	for (uint32_t i = 1; i < 200; i++) {
		uint64_t from = prng_below(&r, 10000);

		ran(b, i, 1, from, from + 1 + prng_below(&r, 300));
	}
	for (uint32_t i = 0; i < 200; i++) {
		uint64_t from = prng_below(&r, 10000), ns = 1 + prng_below(&r, 3000);
		uint64_t computed = prng_below(&r, 4000);

		waited_and_computed(b, from, from + ns, computed);
		left += computed < ns ? ns - computed : 0;
	}
	waits_finish(b->waits);
	assert_int_equal(b->off_cpu, left);
}

/* The order in which records and waits arrive does not matter. */
static void order_of_arrival_does_not_matter(void **state)
{
	struct bench *b = *state;

	waited(b, 100, 200);
	ran(b, 3, 1, 190, 300);
	ran(b, 1, 2, 50, 110);
	ran(b, 2, 1, 120, 150);
	waits_finish(b->waits);
	assert_int_equal(b->ns[1], 10);
	assert_int_equal(b->ns[2], 30);
	assert_int_equal(b->ns[3], 10);
	assert_int_equal(b->total, 100);
}

static void the_last_to_end_gets_the_moment(void **state)
{
	struct bench *b = *state;

	ran(b, 1, 1, 100, 190); /* the last while it runs */
	ran(b, 2, 2, 90, 150);  /* loses all that the first has */
	ran(b, 3, 3, 95, 105);
	ran(b, 4, 4, 80, 99);
	waited(b, 85, 200);
	waits_finish(b->waits);
	assert_int_equal(b->ns[1], 90);
	assert_int_equal(b->ns[2], 10);
	assert_int_equal(b->ns[3], 0);
	assert_int_equal(b->ns[4], 5);
	assert_int_equal(b->ns[0], 10);
	assert_int_equal(b->total, 115);
}

/* A long operation beside the waited-for one still runs when the wait is over. */
static void later_ends_delay_nothing(void **state)
{
	struct bench *b = *state;
	uint64_t ms = 1000000;

	ran(b, 1, 1, 0, 100 * ms);      /* another stream works all the while */
	ran(b, 2, 2, 10 * ms, 30 * ms); /* the work before the event */
	ran(b, 3, 3, 15 * ms, 35 * ms); /* beside it, a little longer */
	waited(b, 12 * ms, 31 * ms);
	waits_finish(b->waits);
	assert_int_equal(b->ns[1], 0);
	assert_int_equal(b->ns[2], 18 * ms);
	assert_int_equal(b->ns[3], 0);
	assert_int_equal(b->ns[0], ms);
	/* a later wait is for work that the earlier one did not wait for */
	waited(b, 31 * ms, 110 * ms);
	waits_finish(b->waits);
	assert_int_equal(b->ns[1], 69 * ms);
	assert_int_equal(b->ns[2], 18 * ms);
	assert_int_equal(b->ns[3], 0);
	assert_int_equal(b->ns[0], 11 * ms);
}

/* Somebody else may have queued it there after the wait began. */
static void later_ends_on_the_same_stream_delay_nothing(void **state)
{
	struct bench *b = *state;

	ran(b, 1, 1, 0, 20000);
	ran(b, 2, 1, 20000, 90000);
	waited_for(b, 1, 10000, 40000);
	waits_finish(b->waits);
	assert_int_equal(b->ns[1], 10000);
	assert_int_equal(b->ns[2], 0);
	assert_int_equal(b->ns[0], 20000);
}

/* The other clock may show an operation's end this much later, and its start before. */
static void clocks_differ_a_little(void **state)
{
	struct bench *b = *state;
	uint64_t end = 100000, latest = end + WAITS_CLOCK_ERROR_NS;

	ran(b, 1, 1, 50000, latest);
	ran(b, 2, 2, 0, latest + 1);
	ran(b, 3, 3, end, latest);     /* began when the wait was over */
	ran(b, 4, 4, end + 1, latest); /* work after that */
	waited(b, 40000, end);
	waits_finish(b->waits);
	assert_int_equal(b->ns[1], 50000);
	assert_int_equal(b->total, 60000);
	assert_int_equal(b->ns[0], 10000);
	waited(b, UINT64_MAX - 10, UINT64_MAX - 1);
	ran(b, 5, 1, UINT64_MAX - 5, UINT64_MAX);
	waits_finish(b->waits);
	assert_int_equal(b->ns[5], 4);
	assert_int_equal(b->total, 60009);
}

static void a_stream_is_waited_for_alone(void **state)
{
	struct bench *b = *state;

	ran(b, 1, 1, 100, 150);
	ran(b, 2, 2, 100, 200);
	waited_for(b, 1, 100, 200);
	waits_finish(b->waits);
	assert_int_equal(b->ns[1], 50);
	assert_int_equal(b->ns[2], 0);
	assert_int_equal(b->ns[0], 50);
}

static void other_processes_do_not_count(void **state)
{
	struct bench *b = *state;

	for (uint32_t pid = PID - 1; pid <= PID + 1; pid += 2)
		waits_add_operation(b->waits, &(struct waits_operation){.start_ns = 100,
									.end_ns = 200,
									.process = pid,
									.origin.launch = {9}});
	waited(b, 100, 200);
	waited_for(b, 0, 100, 200);
	waits_finish(b->waits);
	assert_int_equal(b->ns[0], 200);
	assert_int_equal(b->total, 200);
}

static void empty_intervals_have_no_pieces(void **state)
{
	struct bench *b = *state;

	ran(b, 1, 1, 100, 100);
	waited(b, 100, 100);
	waited(b, 0, 0);
	waited(b, 100, 99);
	waits_finish(b->waits);
	waits_finish(b->waits);
	assert_int_equal(b->pieces, 0);
}

/* A wait is not decided before its timeout is over. Later reports count until then. */
static void waits_are_decided_after_the_records(void **state)
{
	struct bench *b = *state;
	uint64_t t = 5000000000;

	waited(b, t, t + 100);
	waits_advance(b->waits, t + 200);
	waits_advance(b->waits, t + WAITS_TIMEOUT_NS);
	assert_int_equal(b->total, 0);
	ran(b, 1, 1, t, t + 60);
	waits_advance(b->waits, t + 100 + WAITS_TIMEOUT_NS);
	assert_int_equal(b->ns[1], 60);
	assert_int_equal(b->total, 100);
	ran(b, 2, 1, t, t + 60); /* too late */
	waits_finish(b->waits);
	assert_int_equal(b->total, 100);
}

/* However many there are: bounded, and no wait is lost. */
static void memory_is_bounded(void **state)
{
	struct bench *b = *state;
	uint64_t sum = 0;

	waits_remember(b->waits, 64);
	for (uint64_t i = 1; i <= 10000; i++) {
		ran(b, 1, 1, i * 100, i * 100 + 80);
		if (i % 3 == 0) {
			waited(b, i * 100 - 50, i * 100 + 50);
			sum += 100;
		}
		assert_true(waits_memory(b->waits) < 64 * 200 + 1000);
	}
	waits_finish(b->waits);
	assert_int_equal(b->total, sum);
	/* 30 of the one before and 50 of the one after, but for the very oldest */
	assert_true(b->ns[1] == sum / 100 * 80);
	for (uint64_t i = 1; i <= 10000; i++)
		waited(b, i * 100, i * 100 + 10);
	waits_finish(b->waits);
	assert_int_equal(b->total, sum + 100000);
}

/* Waits that are decided together look at so many operations; the next ones at as many again. */
static void time_is_bounded(void **state)
{
	enum { NEWEST = 256, ALL_NS = NEWEST * 100, TOO_MANY = 3 };
	struct bench *b = *state;

	waits_remember(b->waits, NEWEST);
	for (uint32_t i = 0; i < NEWEST; i++)
		ran(b, 1, 1, i * 100, i * 100 + 100);
	waited(b, 50, ALL_NS);
	for (uint32_t i = 0; i < WAITS_STEPS - 1 + TOO_MANY; i++)
		waited(b, 0, ALL_NS);
	waits_finish(b->waits);
	assert_int_equal(waits_cut(b->waits), TOO_MANY);
	assert_int_equal(b->ns[1], WAITS_STEPS * ALL_NS - 50);
	assert_int_equal(b->ns[0], TOO_MANY * ALL_NS);
	waited(b, 0, ALL_NS);
	waits_finish(b->waits);
	assert_int_equal(waits_cut(b->waits), TOO_MANY);
	assert_int_equal(b->ns[1], (WAITS_STEPS + 1) * ALL_NS - 50);
	assert_int_equal(b->ns[0], TOO_MANY * ALL_NS);
}

/* The start of a wait may be older than the operations kept: that part has no operation, and is
 * counted. */
static void operations_that_are_forgotten(void **state)
{
	enum { NEWEST = 64, COUNT = 100 };
	struct bench *b = *state;

	waits_remember(b->waits, NEWEST);
	for (uint32_t i = 0; i < COUNT; i++)
		ran(b, 1, 1, i * 100, i * 100 + 100);
	waited(b, (COUNT - NEWEST) * 100, COUNT * 100); /* all of it is there */
	waited(b, (COUNT - NEWEST) * 100 - 1, COUNT * 100);
	waited(b, 0, COUNT * 100);
	waits_finish(b->waits);
	assert_int_equal(waits_cut(b->waits), 2);
	assert_int_equal(b->ns[1], 3 * NEWEST * 100);
	assert_int_equal(b->ns[0], 1 + (COUNT - NEWEST) * 100);
}

/* ---- against a model that looks at each moment ---- */

/* A moment is as long as four of them are the clocks' error. */
enum { SPAN = 300, OPERATIONS = 40, WAITS = 12, STREAMS = 3 };
enum { ERROR = 4, MOMENT_NS = WAITS_CLOCK_ERROR_NS / ERROR };

struct model_operation {
	uint32_t stream;
	uint64_t from, to;
};

/*
 * Returns the number of the operation that counts at moment `t` of a wait that ends at `end`, or 0.
 * The latest wins a tie.
 */
static uint32_t counts_at(const struct model_operation *o, uint32_t count, uint64_t t, uint64_t end,
			  uint32_t stream)
{
	uint32_t best = 0;

	for (uint32_t i = 0; i < count; i++)
		if (o[i].from <= t && t < o[i].to && o[i].to <= end + ERROR &&
		    (!stream || o[i].stream == stream) && (!best || o[i].to >= o[best - 1].to))
			best = i + 1;
	return best;
}

static void same_as_a_model(void **state)
{
	uint64_t rounds = unit_rounds(300);

	(void)state;
	for (uint64_t round = 0; round < rounds; round++) {
		struct prng p = prng_round(round);
		struct model_operation o[OPERATIONS];
		uint64_t wanted[OPERATIONS + 1] = {0};
		struct bench *b = NULL;

		begin((void **)&b);
		for (uint32_t i = 0; i < OPERATIONS; i++) {
			o[i].stream = 1 + (uint32_t)prng_below(&p, STREAMS);
			o[i].from = prng_below(&p, SPAN);
			o[i].to = o[i].from + prng_bits(&p, 5);
			ran(b, i + 1, o[i].stream, o[i].from * MOMENT_NS, o[i].to * MOMENT_NS);
		}
		for (int i = 0; i < WAITS; i++) {
			uint64_t from = prng_below(&p, SPAN), to = from + prng_bits(&p, 7);
			uint32_t stream = (uint32_t)prng_below(&p, STREAMS + 1);

			if (stream)
				waited_for(b, stream, from * MOMENT_NS, to * MOMENT_NS);
			else
				waited(b, from * MOMENT_NS, to * MOMENT_NS);
			for (uint64_t t = from; t < to; t++)
				wanted[counts_at(o, OPERATIONS, t, to, stream)] += MOMENT_NS;
		}
		waits_finish(b->waits);
		for (uint32_t i = 0; i <= OPERATIONS; i++)
			EXPECT(&p, b->ns[i] == wanted[i]);
		end((void **)&b);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_wait_is_split_by_operation),
		TEST(what_it_computes_is_no_wait),
		TEST(spinning_is_no_wait),
		TEST(what_is_left_is_exact),
		TEST(order_of_arrival_does_not_matter),
		TEST(the_last_to_end_gets_the_moment),
		TEST(later_ends_delay_nothing),
		TEST(later_ends_on_the_same_stream_delay_nothing),
		TEST(clocks_differ_a_little),
		TEST(a_stream_is_waited_for_alone),
		TEST(other_processes_do_not_count),
		TEST(empty_intervals_have_no_pieces),
		TEST(waits_are_decided_after_the_records),
		TEST(memory_is_bounded),
		TEST(time_is_bounded),
		TEST(operations_that_are_forgotten),
		cmocka_unit_test(same_as_a_model),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
