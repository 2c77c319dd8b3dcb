/* SPDX-License-Identifier: MIT */
/*
 * Memory of join, and how long it keeps launches. Random streams with small numbers are compared
 * with the promises of profiler/join/join.h and profiler/join/join_links.h. Then come the real
 * numbers.
 */
#include "unit.h"
#include "profiler/join/join.h"

/* ---- random streams ---- */

enum {
	PROCESSES = 3,
	STREAM_LAUNCHES = 600,
	STREAM_OPERATIONS = 3000,
};

/* A launch that is to come or has come. */
struct launch {
	uint32_t process, correlation_id;
	bool is_graph, is_launched, is_probed;
	uint32_t operations; /* handed in */
};

/* An operation; its address is its name. */
struct operation {
	uint32_t launch;
	uint64_t duration_ns;
	bool must_match; /* promised by join.h */
	uint32_t times;  /* attributed */
	uint32_t stack;
};

struct stream {
	struct prng random;
	struct join *c;
	uint32_t newest;
	uint32_t probed_percent;
	uint64_t now;
	struct launch launches[STREAM_LAUNCHES];
	uint32_t launched; /* launches begun, in the order of their numbers */
	struct operation operations[STREAM_OPERATIONS];
	uint32_t operation_count;
	uint64_t ns;
	size_t memory;
};

static void record(void *context, struct origin_id origin, uint64_t launched_ns,
		   const struct gpu_operation *operation)
{
	uint32_t stack = origin.number;
	struct stream *s = context;
	size_t number =
		(size_t)((const struct operation *)(const void *)operation->name - s->operations);

	(void)launched_ns;
	assert_true(number < s->operation_count);
	s->operations[number].times++;
	s->operations[number].stack = stack;
	s->ns += operation->duration_ns;
}

static void launch_next(struct stream *s)
{
	struct prng *p = &s->random;
	struct launch *l = &s->launches[s->launched];
	uint32_t tid = l->process + (uint32_t)prng_below(p, 40);
	int err = 0;

	l->is_launched = true;
	if (!l->is_probed) {
		err = join_launch_with_stack(s->c, l->process, s->now, l->correlation_id,
					     l->is_graph, ORIGIN_ID(s->launched));
	} else {
		err |= join_probe(s->c, l->process, tid, s->now, FAMILY_RUNTIME,
				  ORIGIN_ID(s->launched));
		err |= join_launch(s->c, l->process, tid, s->now + 1, l->correlation_id,
				   FAMILY_RUNTIME, l->is_graph);
	}
	EXPECT(p, err == 0);
	s->now += 10;
	s->launched++;
}

/*
 * Returns whether an operation of launch `number` must match now. Launches must be decided on
 * arrival: only then is the order of decisions the order of launches.
 */
static bool must_match(const struct stream *s, uint32_t number)
{
	const struct launch *l = &s->launches[number];

	return l->is_launched && !s->probed_percent && s->launched - number <= s->newest &&
	       (l->is_graph || l->operations == 0);
}

static void run_operation(struct stream *s, uint32_t number)
{
	struct launch *l = &s->launches[number];
	struct operation *o = &s->operations[s->operation_count];
	struct gpu_operation op = {.correlation_id = l->correlation_id,
				   .duration_ns = prng_bits(&s->random, 50),
				   .name = (const char *)o};

	*o = (struct operation){number, op.duration_ns, must_match(s, number), 0, 0};
	s->operation_count++;
	l->operations++;
	EXPECT(&s->random, join_operation(s->c, l->process, &op) == 0);
}

/* Picks mostly past launches, near and far; sometimes a future one, or none. */
static uint32_t any_launch(struct stream *s)
{
	struct prng *p = &s->random;
	uint32_t back = (uint32_t)prng_bits(p, 10);

	if (prng_chance(p, 10))
		return (uint32_t)prng_below(p, STREAM_LAUNCHES);
	return back < s->launched ? s->launched - 1 - back : 0;
}

static void make_launches(struct stream *s)
{
	uint32_t next_id[PROCESSES] = {UINT32_MAX - 20, 0, 7}; /* ids wrap */

	for (uint32_t i = 0; i < STREAM_LAUNCHES; i++) {
		uint32_t process = (uint32_t)prng_below(&s->random, PROCESSES);

		s->launches[i] = (struct launch){
			.process = 1000 + 100 * process,
			.correlation_id = next_id[process]++,
			.is_graph = prng_chance(&s->random, 50),
			.is_probed = prng_chance(&s->random, s->probed_percent),
		};
	}
}

static void play(struct stream *s)
{
	struct prng *p = &s->random;
	uint32_t launch_percent = 5 + (uint32_t)prng_below(p, 90);

	while (s->launched < STREAM_LAUNCHES && s->operation_count < STREAM_OPERATIONS) {
		size_t memory;

		if (prng_chance(p, launch_percent))
			launch_next(s);
		else
			run_operation(s, any_launch(s));
		if (prng_chance(p, 2))
			join_advance(s->c, s->now);
		memory = join_memory(s->c);
		s->memory = memory > s->memory ? memory : s->memory;
	}
	join_finish(s->c);
}

static void check(struct stream *s)
{
	struct join_stats stats = join_stats(s->c);
	uint64_t ns = 0, unmatched_ns = 0, matched = 0;

	for (uint32_t i = 0; i < s->operation_count; i++) {
		const struct operation *o = &s->operations[i];

		EXPECT(&s->random, o->times == 1);
		EXPECT(&s->random, !o->must_match || o->stack == o->launch);
		EXPECT(&s->random, o->stack == o->launch || o->stack == ORIGIN_UNKNOWN.number);
		ns += o->duration_ns;
		unmatched_ns += o->stack == ORIGIN_UNKNOWN.number ? o->duration_ns : 0;
		matched += o->stack != ORIGIN_UNKNOWN.number;
	}
	EXPECT(&s->random, s->ns == ns && stats.unmatched_ns == unmatched_ns);
	EXPECT(&s->random, stats.matched == matched);
	EXPECT(&s->random, stats.matched + stats.unmatched == s->operation_count);
	EXPECT(&s->random,
	       stats.probes - stats.probes_unused == stats.launches - stats.launches_unprobed ||
		       stats.launches > stats.probes);
}

static void play_streams(uint32_t probed_percent)
{
	struct stream *s = malloc(sizeof(*s));
	struct join_output output = {record, s};

	assert_non_null(s);
	for (uint64_t i = 0; i < unit_rounds(300); i++) {
		memset(s, 0, sizeof(*s));
		s->random = prng_round(i);
		s->newest = 1 + (uint32_t)prng_bits(&s->random, 8);
		s->c = join_new(&output);
		join_remember(s->c, s->newest);
		s->probed_percent = probed_percent;
		make_launches(s);
		play(s);
		check(s);
		/* the first steps of the pools and of 64 threads' queues, at most */
		EXPECT(&s->random, s->memory < 400 * 1024);
		join_free(s->c);
	}
	free(s);
}

static void the_newest_operations_find_their_launch(void **state)
{
	(void)state;
	play_streams(0);
}

static void early_decisions_lose_and_double_nothing(void **state)
{
	(void)state;
	play_streams(60);
}

/* ---- threads ---- */

static void count(void *context, struct origin_id origin, uint64_t launched_ns,
		  const struct gpu_operation *operation)
{
	uint32_t stack = origin.number;
	uint64_t *of_stack = context;

	(void)launched_ns;
	of_stack[stack == ORIGIN_UNKNOWN.number] += operation->duration_ns;
}

/*
 * Threads by the thousand, each with one launch, some of which wait for long. Whether a thread is
 * forgotten in between makes no difference to the join.
 */
static void threads_are_forgotten_when_idle(void **state)
{
	const uint32_t threads = 50000;
	uint64_t ns[2] = {0, 0};
	struct join_output output = {count, ns};
	struct join *c = join_new(&output);
	struct gpu_operation op = {.duration_ns = 1, .name = ""};

	(void)state;
	for (uint32_t i = 0; i < threads; i++) {
		uint64_t t = 1000 * (uint64_t)i;

		/* every 100th launch is far ahead of its probe */
		op.correlation_id = i;
		if (i % 100)
			join_probe(c, 1, i, t, FAMILY_DRIVER, ORIGIN_ID(i));
		else
			join_probe(c, 1, i, UINT64_MAX / 2, FAMILY_DRIVER, ORIGIN_ID(i));
		join_launch(c, 1, i, i % 100 ? t + 1 : UINT64_MAX / 2, i, FAMILY_DRIVER, 0);
		join_operation(c, 1, &op);
		if (i % 10 == 0)
			join_advance(c, t + 1);
	}
	/* links of all of them, and room for the 500 threads that wait, twice over */
	assert_true(join_memory(c) < 6 << 20);
	join_finish(c);
	assert_int_equal(ns[0], threads);
	assert_int_equal(ns[1], 0);
	assert_int_equal(join_stats(c).probes_unused, 0);
	join_free(c);
}

/* Each thread leaves a launch and a probe that cannot be decided. */
static void threads_that_all_wait_are_bounded(void **state)
{
	uint64_t ns[2] = {0, 0};
	struct join_output output = {count, ns};
	struct join *c = join_new(&output);
	struct gpu_operation op = {.duration_ns = 1, .name = ""};

	(void)state;
	join_remember(c, 4096);
	for (uint32_t i = 0; i < 20000; i++) {
		op.correlation_id = i;
		assert_int_equal(join_probe(c, i, i, 1000, FAMILY_DRIVER, ORIGIN_ID(i)), 0);
		assert_int_equal(join_probe(c, i, i, 2000, FAMILY_RUNTIME, ORIGIN_ID(i)), 0);
		assert_int_equal(join_launch(c, i, i, 1001, i, FAMILY_DRIVER, 0), 0);
		join_operation(c, i, &op);
	}
	assert_true(join_memory(c) < 3 << 20);
	join_finish(c);
	assert_int_equal(ns[0], 20000);
	assert_int_equal(ns[1], 0);
	assert_int_equal(join_stats(c).probes_unused, 20000);
	join_free(c);
}

/* A thread that CUPTI does not see probes on and on; another is traced, and keeps its few. */
static void probes_that_nobody_takes_are_bounded(void **state)
{
	uint64_t ns[2] = {0, 0};
	struct join_output output = {count, ns};
	struct join *c = join_new(&output);
	struct gpu_operation op = {.correlation_id = 7, .duration_ns = 1, .name = ""};

	(void)state;
	join_remember(c, 4096);
	join_probe(c, 2, 2, 10, FAMILY_DRIVER, ORIGIN_ID(5));
	for (uint32_t i = 0; i < 50000; i++)
		assert_int_equal(join_probe(c, 1, 1, i, FAMILY_DRIVER, ORIGIN_ID(4)), 0);
	assert_true(join_memory(c) < 1 << 20);
	join_launch(c, 2, 2, 11, 7, FAMILY_DRIVER, 0);
	join_operation(c, 2, &op);
	join_finish(c);
	assert_int_equal(ns[0], 1);
	assert_int_equal(join_stats(c).probes_unused, 50000);
	join_free(c);
}

/* ---- processes ---- */

/*
 * Short processes, one after the other: each leaves launches, a launch without a probe, a probe
 * without a launch and an operation without either.
 */
static void processes_that_end_are_forgotten(void **state)
{
	const uint32_t processes = getenv("UNDER_VALGRIND") ? 2000 : 20000, launches = 50;
	uint64_t ns[2] = {0, 0};
	struct join_output output = {count, ns};
	struct join *c = join_new(&output);
	struct gpu_operation op = {.duration_ns = 1, .name = ""};

	(void)state;
	for (uint32_t i = 1; i <= processes; i++) {
		for (op.correlation_id = 0; op.correlation_id < launches; op.correlation_id++) {
			join_launch_with_stack(c, i, 10, op.correlation_id, 0, ORIGIN_ID(5));
			join_operation(c, i, &op);
		}
		join_launch(c, i, i, 20, launches, FAMILY_DRIVER, 0);
		join_operation(c, i, &op);
		op.correlation_id++;
		join_operation(c, i, &op);
		join_probe(c, i, i, 30, FAMILY_DRIVER, ORIGIN_ID(5));
		join_end_process(c, i);
	}
	/* the links of fewer than 2 * JOIN_ENDED_MAX processes, in powers of two */
	assert_true(join_memory(c) < 1 << 20);
	join_finish(c);
	assert_int_equal(ns[0], launches * (uint64_t)processes);
	assert_int_equal(ns[1], 2 * (uint64_t)processes);
	assert_int_equal(join_stats(c).probes_unused, processes);
	assert_int_equal(join_stats(c).launches_unprobed, processes);
	join_free(c);
}

/* ---- true numbers ---- */

static struct join *new_counting(uint64_t *ns)
{
	struct join_output output = {count, ns};
	struct join *c = join_new(&output);

	/* under valgrind, a tenth of the launches */
	if (getenv("UNDER_VALGRIND"))
		join_remember(c, JOIN_REMEMBERED / 10);
	return c;
}

static uint32_t scale(uint32_t number)
{
	return getenv("UNDER_VALGRIND") ? number / 10 : number;
}

static void operations(struct join *c, uint32_t process, uint32_t id, uint32_t n)
{
	struct gpu_operation op = {.correlation_id = id, .duration_ns = 3, .name = ""};

	while (n-- > 0)
		join_operation(c, process, &op);
}

/* Each graph's operations arrive half a million launches later. */
static void graph_launches_are_bounded(void **state)
{
	const uint32_t launches = scale(6500000), late = scale(500000);
	uint64_t ns[2] = {0, 0};
	struct join *c = new_counting(ns);

	(void)state;
	for (uint32_t i = 0; i < launches; i++) {
		join_launch_with_stack(c, i % 64, i, i, 1, ORIGIN_ID(5));
		if (i >= late)
			operations(c, (i - late) % 64, i - late, 2);
	}
	assert_true(join_memory(c) < scale(400) << 20);
	operations(c, 0, 0, 1); /* forgotten long since: waits, and has no stack in the end */
	join_finish(c);
	assert_int_equal(ns[0], 3 * 2 * (uint64_t)(launches - late));
	assert_int_equal(ns[1], 3);
	join_free(c);
}

static void launches_without_operations_are_bounded(void **state)
{
	const uint32_t launches = scale(6500000);
	uint64_t ns[2] = {0, 0};
	struct join *c = new_counting(ns);

	(void)state;
	for (uint32_t i = 0; i < launches; i++)
		join_launch_with_stack(c, i % 64, i, i, i % 2, ORIGIN_ID(5));
	assert_true(join_memory(c) < scale(400) << 20);
	for (uint32_t i = launches - scale(1000000); i < launches; i++)
		operations(c, i % 64, i, 1);
	join_finish(c);
	assert_int_equal(ns[0], 3 * (uint64_t)scale(1000000));
	assert_int_equal(ns[1], 0);
	join_free(c);
}

/* A hostile target: ids without launches, each once or a few over and over. */
static void operations_that_nobody_launched_are_bounded(void **state)
{
	const uint32_t n = scale(1500000);
	uint64_t ns[2] = {0, 0};
	struct join *c = new_counting(ns);

	(void)state;
	for (uint32_t i = 0; i < n; i++)
		operations(c, 1, i, 1);
	for (uint32_t i = 0; i < n; i++)
		operations(c, 2, i % 3, 1);
	assert_true(join_memory(c) < scale(300) << 20);
	assert_true(ns[1] >= 3 * (uint64_t)n);
	join_finish(c);
	assert_int_equal(ns[0], 0);
	assert_int_equal(ns[1], 2 * 3 * (uint64_t)n);
	assert_int_equal(join_stats(c).unmatched, 2 * n);
	join_free(c);
}

/* Launches whose probes are never handed in up to their time. */
static void undecided_launches_are_bounded(void **state)
{
	uint64_t ns[2] = {0, 0};
	struct join_output output = {count, ns};
	struct join *c = join_new(&output);

	(void)state;
	join_remember(c, 1024);
	for (uint32_t i = 0; i < 20000; i++) {
		assert_int_equal(join_probe(c, 1, 1, 10 * i, FAMILY_DRIVER, ORIGIN_ID(5)), 0);
		assert_int_equal(join_launch(c, 1, 1, 10 * i + 1, i, FAMILY_DRIVER, 1), 0);
		operations(c, 1, i, 3);
	}
	assert_true(join_memory(c) < 1 << 20);
	join_finish(c);
	assert_int_equal(ns[0], 3 * 3 * 20000);
	assert_int_equal(ns[1], 0);
	join_free(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_newest_operations_find_their_launch),
		cmocka_unit_test(early_decisions_lose_and_double_nothing),
		cmocka_unit_test(threads_are_forgotten_when_idle),
		cmocka_unit_test(threads_that_all_wait_are_bounded),
		cmocka_unit_test(probes_that_nobody_takes_are_bounded),
		cmocka_unit_test(processes_that_end_are_forgotten),
		cmocka_unit_test(graph_launches_are_bounded),
		cmocka_unit_test(launches_without_operations_are_bounded),
		cmocka_unit_test(operations_that_nobody_launched_are_bounded),
		cmocka_unit_test(undecided_launches_are_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
