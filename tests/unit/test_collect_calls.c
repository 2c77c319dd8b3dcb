/* SPDX-License-Identifier: MIT */
/* Timed calls of CUDA: from the kernel's events to the paths and weights of a tree. */
#include "collect_text.h"

#define PID 77

/* Of a process that nothing is known of: the function's name is all there is to its stack. */
static void enter(struct collect *c, uint32_t tid, uint64_t time, const char *function)
{
	struct stack_snapshot *s = calloc(1, sizeof(*s));

	assert_non_null(s);
	s->event = (struct stack_event){
		.time_ns = time, .pid = PID, .tid = tid, .kind = STACK_EVENT_CALL};
	s->registers[16] = 0x1000;
	collect_call(c, s, function, -1);
	free(s);
}

static void leave(struct collect *c, uint32_t tid, uint64_t start, uint64_t end,
		  const char *function)
{
	struct stack_event event = {
		.time_ns = end, .pid = PID, .tid = tid, .kind = STACK_EVENT_CALL_END};

	collect_call_end(c, &event, start, function);
}

static int begin(void **state)
{
	struct collect *c = calloc(1, sizeof(*c));

	if (!c || collect_init(c) != 0)
		return -1;
	*state = c;
	return 0;
}

static int end(void **state)
{
	collect_release(*state);
	free(*state);
	return 0;
}

/* The profile in ns, as it would be in a file, after it all ended at `now_ns`. */
static void expect_profile(struct collect *c, uint64_t now_ns, uint64_t calls, const char *expected)
{
	struct writer_result result;
	char *text = collect_text(c, now_ns, &result);

	assert_string_equal(text, expected);
	free(text);
	assert_int_equal(result.total[WEIGHT_CPU], 0);
	assert_int_equal(result.total[WEIGHT_GPU], 0);
	assert_int_equal(result.total[WEIGHT_CALL], c->stats.call_ns);
	assert_int_equal(c->stats.calls, calls);
}

static void calls_add_up_by_function(void **state)
{
	struct collect *c = *state;

	enter(c, 1, 1000, "cudaLaunchKernel");
	enter(c, 2, 1050, "cudaFree");
	leave(c, 1, 1000, 1100, "cudaLaunchKernel");
	enter(c, 1, 1200, "cudaLaunchKernel");
	leave(c, 1, 1200, 1203, "cudaLaunchKernel");
	leave(c, 2, 1050, 1060, "cudaFree");
	expect_profile(c, 5000, 3,
		       "[truncated];cudaFree;[CUDA call, wall time] 10\n"
		       "[truncated];cudaLaunchKernel;[CUDA call, wall time] 103\n");
	assert_int_equal(c->stats.unfinished_calls, 0);
}

static void a_dropped_entry_loses_no_time(void **state)
{
	struct collect *c = *state;

	leave(c, 1, 1000, 1100, "cudaMemcpy");
	enter(c, 1, 2000, "cudaFree");
	leave(c, 1, 3000, 3007, "cudaMemcpy"); /* another call's than the one that is open */
	expect_profile(c, 4000, 3,
		       "[truncated];cudaFree;[CUDA call, wall time] 2000\n"
		       "cudaMemcpy;[CUDA call, wall time] 107\n");
	assert_int_equal(c->stats.calls_without_stack, 2);
	assert_int_equal(c->stats.unfinished_calls, 1);
}

static void a_dropped_return_is_counted(void **state)
{
	struct collect *c = *state;

	enter(c, 1, 1000, "cudaFree");
	enter(c, 1, 2000, "cudaFree");
	leave(c, 1, 2000, 2001, "cudaFree");
	expect_profile(c, 4000, 1, "[truncated];cudaFree;[CUDA call, wall time] 1\n");
	assert_int_equal(c->stats.replaced_calls, 1);
}

static void a_call_ends_with_its_process(void **state)
{
	struct collect *c = *state;
	struct process_event exited = {.time_ns = 1500, .type = PROCESS_EXIT, .pid = PID};
	struct process_event other = {.time_ns = 1200, .type = PROCESS_EXIT, .pid = PID + 1};

	collect_set_root(c, PID);
	enter(c, 1, 1000, "cudaFree");
	collect_process_event(c, &other);
	collect_process_event(c, &exited);
	expect_profile(c, 9000, 1, "[truncated];cudaFree;[CUDA call, wall time] 500\n");
	assert_int_equal(c->stats.unfinished_calls, 1);
}

/* The main thread has ended before the others: not all of it counts twice when they return. */
static void a_call_that_goes_on_counts_once(void **state)
{
	struct collect *c = *state;
	struct process_event exited = {.time_ns = 1500, .type = PROCESS_EXIT, .pid = PID};

	collect_set_root(c, PID);
	enter(c, 2, 1000, "cudaFree");
	collect_process_event(c, &exited);
	assert_int_equal(c->stats.call_ns, 500);
	leave(c, 2, 1000, 1700, "cudaFree");
	enter(c, 2, 2000, "cudaFree");
	leave(c, 2, 2000, 2001, "cudaFree");
	expect_profile(c, 9000, 2, "[truncated];cudaFree;[CUDA call, wall time] 701\n");
	assert_int_equal(c->stats.calls_without_stack, 0);
	assert_int_equal(c->stats.replaced_calls, 0);
}

static void a_call_ends_when_another_program_begins(void **state)
{
	struct collect *c = *state;
	struct process_event executed = {.time_ns = 1500, .type = PROCESS_EXEC, .pid = PID};

	collect_set_root(c, PID);
	enter(c, 1, 1000, "cudaFree");
	collect_process_event(c, &executed);
	expect_profile(c, 9000, 1, "[truncated];cudaFree;[CUDA call, wall time] 500\n");
}

/* Whatever the kernel's side sends. */
static void nonsense_does_no_harm(void **state)
{
	struct collect *c = *state;
	struct stack_snapshot *s = calloc(1, sizeof(*s));

	assert_non_null(s);
	s->event.kernel_frames = 1;
	collect_call(c, s, "cudaFree", -1);
	s->event.kernel_frames = 0;
	s->stack_bytes = STACK_CALL_BYTES + 1;
	collect_call(c, s, "cudaFree", -1);
	free(s);
	leave(c, 9, 1000, 900, "cudaFree"); /* ends before it begins */
	expect_profile(c, 2000, 1, "");
}

/* Random calls of random threads, some events dropped: every return's time counts, once. */
static void what_is_told_adds_up(void **state)
{
	static const char *const functions[] = {"cudaFree", "cudaMemcpy", "cudaLaunchKernel"};
	struct collect *c = *state;
	struct prng random = prng_round(0);
	uint64_t since[8] = {0}, now = 1, told = 0, calls = 0, open = 0;
	bool known[8] = {false};

	for (int i = 0; i < 20000; i++) {
		uint32_t tid = (uint32_t)prng_below(&random, 8);
		const char *function = functions[tid % 3];
		bool dropped = prng_below(&random, 10) == 0;

		now += 1 + prng_below(&random, 100);
		if (!since[tid]) {
			since[tid] = now;
			if (!dropped) {
				enter(c, tid, now, function);
				known[tid] = true;
			}
			continue;
		}
		if (!dropped) {
			leave(c, tid, since[tid], now, function);
			told += now - since[tid];
			calls++;
			known[tid] = false;
		}
		since[tid] = 0;
	}
	assert_int_equal(c->stats.call_ns, told);
	assert_int_equal(c->stats.calls, calls);
	for (int tid = 0; tid < 8; tid++)
		open += known[tid];
	collect_finish(c, now);
	assert_int_equal(c->stats.unfinished_calls, open);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(calls_add_up_by_function, begin, end),
		cmocka_unit_test_setup_teardown(a_dropped_entry_loses_no_time, begin, end),
		cmocka_unit_test_setup_teardown(a_dropped_return_is_counted, begin, end),
		cmocka_unit_test_setup_teardown(a_call_ends_with_its_process, begin, end),
		cmocka_unit_test_setup_teardown(a_call_that_goes_on_counts_once, begin, end),
		cmocka_unit_test_setup_teardown(a_call_ends_when_another_program_begins, begin,
						end),
		cmocka_unit_test_setup_teardown(nonsense_does_no_harm, begin, end),
		cmocka_unit_test_setup_teardown(what_is_told_adds_up, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
