/* SPDX-License-Identifier: MIT */
/* Timed calls that have not returned: single rules, then random threads beside a plain array. */
#include "unit.h"
#include "profiler/join/open_calls.h"

enum { PROCESS = 1, OTHER = 2 };

static int begin(void **state)
{
	*state = calloc(1, sizeof(struct open_calls));
	return *state ? 0 : -1;
}

static int end(void **state)
{
	open_calls_release(*state);
	free(*state);
	return 0;
}

static void enter(struct open_calls *o, uint32_t process, uint32_t tid, uint64_t start_ns)
{
	struct open_call call = {.start_ns = start_ns,
				 .process = process,
				 .tid = tid,
				 .stack = {tid + 1000},
				 .place = {(uint32_t)start_ns + 5000}};

	assert_int_equal(open_calls_enter(o, &call), 0);
}

/* Returns the start that a call is taken to have, or 0 if its entry was not reported. */
static uint64_t leave(struct open_calls *o, uint32_t tid, uint64_t start_ns)
{
	struct open_call call = {0};

	if (!open_calls_leave(o, tid, start_ns, &call)) {
		assert_int_equal(call.tid, 0); /* unchanged */
		return 0;
	}
	assert_int_equal(call.tid, tid);
	assert_int_equal(call.stack.number, tid + 1000);
	assert_int_equal(call.place.number, (uint32_t)start_ns + 5000);
	assert_int_equal(call.start_ns, call.taken_ns ? call.taken_ns : start_ns);
	return call.start_ns;
}

static uint32_t take_all(struct open_calls *o, uint32_t process, uint64_t now_ns)
{
	uint32_t position = 0, n = 0;
	struct open_call call;

	for (; open_calls_take(o, process, now_ns, &position, &call); n++) {
		assert_int_equal(call.taken_ns, 0); /* unchanged */
		assert_int_equal(call.stack.number, call.tid + 1000);
		if (process)
			assert_int_equal(call.process, process);
	}
	assert_false(open_calls_take(o, process, now_ns, &position, &call));
	return n;
}

static void nothing_at_all(void **state)
{
	struct open_calls *o = *state;

	assert_int_equal(leave(o, 7, 10), 0);
	assert_int_equal(take_all(o, 0, 10), 0);
	open_calls_forget(o, PROCESS);
	open_calls_release(o);
	assert_int_equal(leave(o, 7, 10), 0);
}

static void a_call_is_entered_and_left(void **state)
{
	struct open_calls *o = *state;

	enter(o, PROCESS, 7, 10);
	enter(o, PROCESS, 8, 10);
	assert_int_equal(leave(o, 7, 10), 10);
	assert_int_equal(leave(o, 7, 10), 0); /* already taken */
	enter(o, PROCESS, 7, 20);
	assert_int_equal(leave(o, 7, 20), 20);
	assert_int_equal(leave(o, 8, 10), 10);
	assert_int_equal(o->calls.count, 0);
}

static void a_return_without_its_entry_is_recognised(void **state)
{
	struct open_calls *o = *state;

	assert_int_equal(leave(o, 7, 10), 0);
	enter(o, PROCESS, 7, 20);
	assert_int_equal(leave(o, 7, 10), 0); /* an earlier call */
	assert_int_equal(leave(o, 7, 30), 0); /* a later one */
	assert_int_equal(leave(o, 8, 20), 0); /* another thread's */
	assert_int_equal(leave(o, 7, 20), 20);
}

static void a_call_without_its_return_is_forgotten(void **state)
{
	struct open_calls *o = *state;

	enter(o, PROCESS, 7, 10);
	enter(o, PROCESS, 7, 20);
	enter(o, PROCESS, 7, 30);
	assert_int_equal(leave(o, 7, 10), 0);
	assert_int_equal(leave(o, 7, 20), 0);
	assert_int_equal(leave(o, 7, 30), 30);
	assert_int_equal(o->calls.count, 0);
}

/* The kernel gives a thread's id to another process's. */
static void a_thread_id_is_used_again(void **state)
{
	struct open_calls *o = *state;

	enter(o, PROCESS, 7, 10);
	enter(o, OTHER, 7, 20);
	open_calls_forget(o, PROCESS);
	assert_int_equal(take_all(o, PROCESS, 25), 0);
	assert_int_equal(leave(o, 7, 20), 20);
}

static void calls_are_taken_out_once(void **state)
{
	struct open_calls *o = *state;

	for (uint32_t tid = 10; tid < 20; tid++)
		enter(o, tid % 2 ? PROCESS : OTHER, tid, tid);
	assert_int_equal(take_all(o, PROCESS, 100), 5);
	assert_int_equal(take_all(o, PROCESS, 200), 0);
	assert_int_equal(take_all(o, 0, 300), 5);
	assert_int_equal(take_all(o, 0, 400), 0);
	/* the call continues from there, if it returns after all */
	for (uint32_t tid = 10; tid < 20; tid++)
		assert_int_equal(leave(o, tid, tid), tid % 2 ? 100 : 300);
	assert_int_equal(o->calls.count, 0);
}

static void a_call_after_a_removed_one(void **state)
{
	struct open_calls *o = *state;

	enter(o, PROCESS, 7, 10);
	assert_int_equal(take_all(o, PROCESS, 100), 1);
	enter(o, PROCESS, 7, 110);
	assert_int_equal(leave(o, 7, 10), 0);
	assert_int_equal(leave(o, 7, 110), 110);
	enter(o, PROCESS, 7, 120);
	assert_int_equal(take_all(o, PROCESS, 0), 1); /* even at time 0 */
	assert_int_equal(take_all(o, PROCESS, 0), 0);
	assert_int_equal(leave(o, 7, 120), 1);
}

static void an_ended_process_is_forgotten(void **state)
{
	struct open_calls *o = *state;

	for (uint32_t tid = 10; tid < 110; tid++)
		enter(o, tid % 3 ? PROCESS : OTHER, tid, tid);
	assert_int_equal(take_all(o, PROCESS, 200), 67);
	open_calls_forget(o, PROCESS);
	assert_int_equal(o->calls.count, 33);
	for (uint32_t tid = 10; tid < 110; tid++)
		assert_int_equal(leave(o, tid, tid), tid % 3 ? 0 : tid);
	assert_int_equal(o->calls.count, 0);
}

static void memory_is_that_of_threads_at_the_same_time(void **state)
{
	struct open_calls *o = *state;

	for (uint32_t tid = 1; tid < 100000; tid++) {
		enter(o, PROCESS, tid, tid);
		if (tid > 10)
			assert_int_equal(leave(o, tid - 10, tid - 10), tid - 10);
	}
	assert_int_equal(o->calls.count, 10);
	assert_true(o->calls.capacity <= 16 && o->calls.set.index.capacity <= 64);
	assert_true(sizeof(struct open_call) + 4 * sizeof(struct hash_slot) <= 64);
}

/* ---- random threads ---- */

enum { THREADS = 60, PROCESSES = 4 };

struct model {
	struct prng random;
	struct open_calls open;
	struct open_call calls[THREADS]; /* calls by thread; tid 0: no call */
	uint64_t now;
};

static uint32_t count_calls(const struct model *m)
{
	uint32_t n = 0;

	for (uint32_t tid = 1; tid < THREADS; tid++)
		n += m->calls[tid].tid != 0;
	return n;
}

static void enter_any(struct model *m)
{
	uint32_t tid = 1 + (uint32_t)prng_below(&m->random, THREADS - 1);
	struct open_call call = {.start_ns = m->now,
				 .process = 1 + (uint32_t)prng_below(&m->random, PROCESSES),
				 .tid = tid,
				 .stack = {(uint32_t)prng_u64(&m->random)},
				 .place = {(uint32_t)prng_u64(&m->random)}};

	EXPECT(&m->random, open_calls_enter(&m->open, &call) == 0);
	m->calls[tid] = call;
}

static void leave_any(struct model *m)
{
	uint32_t tid = 1 + (uint32_t)prng_below(&m->random, THREADS - 1);
	struct open_call *expected = &m->calls[tid], call;
	bool is_right = prng_chance(&m->random, 90);
	bool left = open_calls_leave(&m->open, tid, expected->start_ns + !is_right, &call);

	EXPECT(&m->random, left == (expected->tid && is_right));
	if (!left)
		return;
	if (expected->taken_ns)
		expected->start_ns = expected->taken_ns;
	EXPECT(&m->random, memcmp(&call, expected, sizeof(call)) == 0);
	*expected = (struct open_call){0};
}

static void take_any(struct model *m)
{
	uint32_t process = (uint32_t)prng_below(&m->random, PROCESSES + 1), position = 0;
	struct open_call call;

	while (open_calls_take(&m->open, process, m->now, &position, &call)) {
		EXPECT(&m->random, call.tid > 0 && call.tid < THREADS);
		EXPECT(&m->random, memcmp(&call, &m->calls[call.tid], sizeof(call)) == 0);
		EXPECT(&m->random, !call.taken_ns && (!process || call.process == process));
		m->calls[call.tid].taken_ns = m->now;
	}
	for (uint32_t tid = 1; tid < THREADS; tid++)
		EXPECT(&m->random, !m->calls[tid].tid || m->calls[tid].taken_ns ||
					   (process && m->calls[tid].process != process));
}

static void forget_any(struct model *m)
{
	uint32_t process = 1 + (uint32_t)prng_below(&m->random, PROCESSES);

	open_calls_forget(&m->open, process);
	for (uint32_t tid = 1; tid < THREADS; tid++)
		if (m->calls[tid].process == process)
			m->calls[tid] = (struct open_call){0};
}

static void step(struct model *m)
{
	uint64_t what = prng_below(&m->random, 100);

	m->now += 1 + prng_below(&m->random, 3);
	if (what < 50)
		enter_any(m);
	else if (what < 94)
		leave_any(m);
	else if (what < 98)
		take_any(m);
	else
		forget_any(m);
	EXPECT(&m->random, m->open.calls.count == count_calls(m));
}

static void random_threads(void **state)
{
	uint64_t rounds = unit_number("UNIT_ROUNDS", getenv("UNDER_VALGRIND") ? 10 : 200);

	(void)state;
	for (uint64_t round = 0; round < rounds; round++) {
		struct model m = {.random = prng_round(round)};

		for (int i = 0; i < 1000; i++)
			step(&m);
		open_calls_release(&m.open);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(nothing_at_all),
		TEST(a_call_is_entered_and_left),
		TEST(a_return_without_its_entry_is_recognised),
		TEST(a_call_without_its_return_is_forgotten),
		TEST(a_thread_id_is_used_again),
		TEST(calls_are_taken_out_once),
		TEST(a_call_after_a_removed_one),
		TEST(an_ended_process_is_forgotten),
		TEST(memory_is_that_of_threads_at_the_same_time),
		cmocka_unit_test(random_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
