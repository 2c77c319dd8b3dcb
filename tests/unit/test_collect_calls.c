/* SPDX-License-Identifier: MIT */
/* Timed calls of CUDA: from the kernel's events to the paths and weights of a file. */
#include "collect_text.h"

#define PID 77

/* Enters a call in a process without any mappings: the stack is the function's name alone. */
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

/* Reports an event of a process; events of threads are the main thread's. */
static void happens(struct collect *c, enum process_event_type type, pid_t pid, uint64_t time_ns)
{
	collect_process_event(
		c,
		&(struct process_event){
			.time_ns = time_ns, .type = type, .pid = pid, .tid = pid, .parent = pid});
}

static int begin(void **state)
{
	*state = new_collect();
	return 0;
}

static int end(void **state)
{
	collect_free(*state);
	return 0;
}

/* Expects the profile in ns, as in a file, after all has ended at `now_ns`. */
static void expect_profile(struct collect *c, uint64_t now_ns, uint64_t calls, const char *expected)
{
	const struct ledger_calls *ledger = &collect_ledger(c)->calls;
	struct written written;
	char *text = folded_text(c, now_ns, &written);

	assert_string_equal(text, expected);
	free(text);
	assert_int_equal(written.total[ROW_CPU], 0);
	assert_int_equal(written.total[ROW_GPU], 0);
	assert_int_equal(written.total[ROW_WAIT], 0);
	assert_int_equal(written.total[ROW_CALL], ledger->timed_ns);
	assert_int_equal(ledger->timed, calls);
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
	assert_int_equal(collect_ledger(c)->calls.unfinished, 0);
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
	assert_int_equal(collect_ledger(c)->calls.without_stack, 2);
	assert_int_equal(collect_ledger(c)->calls.unfinished, 1);
}

/* A call with a dropped return is not among the timed calls. Such calls are counted as lost. */
static void a_dropped_return_is_not_timed(void **state)
{
	struct collect *c = *state;

	enter(c, 1, 1000, "cudaFree");
	enter(c, 1, 2000, "cudaFree");
	leave(c, 1, 2000, 2001, "cudaFree");
	expect_profile(c, 4000, 1, "[truncated];cudaFree;[CUDA call, wall time] 1\n");
	assert_int_equal(collect_ledger(c)->calls.unfinished, 0);
}

/* Maps the program, which is the first event after exec. */
static void map_program(struct collect *c)
{
	collect_process_event(c, &(struct process_event){.time_ns = 600,
							 .type = PROCESS_MAP,
							 .pid = PID,
							 .mapping = {.path = "/bin/program"}});
}

static void a_call_ends_with_its_process(void **state)
{
	struct collect *c = *state;

	collect_start_target(c, PID);
	happens(c, PROCESS_EXEC, PID, 500);
	map_program(c);
	enter(c, 1, 1000, "cudaFree");
	happens(c, PROCESS_EXIT, PID + 1, 1200);
	happens(c, PROCESS_EXIT, PID, 1500);
	expect_profile(c, 9000, 1, "[truncated];cudaFree;[CUDA call, wall time] 500\n");
	assert_int_equal(collect_ledger(c)->calls.unfinished, 1);
}

/* The main thread has ended before the others: the process and its calls continue. */
static void a_call_outlives_the_main_thread(void **state)
{
	struct collect *c = *state;

	collect_start_target(c, PID);
	happens(c, PROCESS_EXEC, PID, 500);
	happens(c, PROCESS_FORK, PID, 600); /* a thread */
	enter(c, 2, 1000, "cudaFree");
	happens(c, PROCESS_EXIT, PID, 1500);
	assert_int_equal(collect_ledger(c)->calls.timed_ns, 0);
	leave(c, 2, 1000, 1700, "cudaFree");
	enter(c, 2, 2000, "cudaFree");
	leave(c, 2, 2000, 2001, "cudaFree");
	expect_profile(c, 9000, 2, "[truncated];cudaFree;[CUDA call, wall time] 701\n");
	assert_int_equal(collect_ledger(c)->calls.without_stack, 0);
	assert_int_equal(collect_ledger(c)->calls.unfinished, 0);
}

/* The record of a thread's start was lost: not all of its call counts twice when it returns. */
static void an_unfinished_call_counts_once(void **state)
{
	struct collect *c = *state;

	collect_start_target(c, PID);
	happens(c, PROCESS_EXEC, PID, 500);
	map_program(c);
	enter(c, 2, 1000, "cudaFree");
	happens(c, PROCESS_EXIT, PID, 1500);
	assert_int_equal(collect_ledger(c)->calls.timed_ns, 500);
	leave(c, 2, 1000, 1700, "cudaFree");
	enter(c, 2, 2000, "cudaFree");
	leave(c, 2, 2000, 2001, "cudaFree");
	expect_profile(c, 9000, 2, "[truncated];cudaFree;[CUDA call, wall time] 701\n");
	assert_int_equal(collect_ledger(c)->calls.without_stack, 0);
}

static void a_call_ends_when_another_program_begins(void **state)
{
	struct collect *c = *state;

	collect_start_target(c, PID);
	happens(c, PROCESS_EXEC, PID, 500);
	enter(c, 1, 1000, "cudaFree");
	happens(c, PROCESS_EXEC, PID, 1500);
	expect_profile(c, 9000, 1, "[truncated];cudaFree;[CUDA call, wall time] 500\n");
}

/* Another process with that pid is not the one in the call. */
static void a_call_ends_when_its_pid_is_used_again(void **state)
{
	struct collect *c = *state;
	const struct process_event fork = {
		.time_ns = 1500, .type = PROCESS_FORK, .pid = PID, .tid = PID, .parent = 1};

	collect_start_target(c, 1);
	happens(c, PROCESS_EXEC, 1, 500);
	enter(c, PID, 1000, "cudaFree");
	collect_process_event(c, &fork); /* no exit was reported */
	enter(c, PID, 2000, "cudaMalloc");
	leave(c, PID, 2000, 2010, "cudaMalloc");
	expect_profile(c, 9000, 2,
		       "[truncated];cudaFree;[CUDA call, wall time] 500\n"
		       "[truncated];cudaMalloc;[CUDA call, wall time] 10\n");
}

/* Stands for a kernel's function on the host. */
__attribute__((noinline)) void softmax_of_the_test(void);
void softmax_of_the_test(void)
{
	__asm__ volatile("" ::: "memory");
}

/* Calls a function in this process, with the host function of the kernel in a register. */
static void call_with_kernel(struct collect *c, uint64_t time, uint64_t address, int reg)
{
	struct stack_snapshot *s = calloc(1, sizeof(*s));
	struct stack_event returned = {.time_ns = time + 10,
				       .pid = (uint32_t)getpid(),
				       .tid = 3,
				       .kind = STACK_EVENT_CALL_END};

	assert_non_null(s);
	s->event = (struct stack_event){.time_ns = time, .pid = (uint32_t)getpid(), .tid = 3};
	s->registers[16] = 0x1000;
	s->registers[5] = address;
	collect_call(c, s, "cudaLaunchKernel", reg);
	collect_call_end(c, &returned, time, "cudaLaunchKernel");
	free(s);
}

static void a_call_is_named_after_its_kernel(void **state)
{
	struct collect *c = *state;

	call_with_kernel(c, 1000, (uintptr_t)softmax_of_the_test, 5);
	call_with_kernel(c, 2000, (uintptr_t)softmax_of_the_test, -1);
	call_with_kernel(c, 3000, 1, 5); /* no code lies there */
	expect_profile(c, 9000, 3,
		       "[truncated];cudaLaunchKernel;[CUDA call, wall time] 20\n"
		       "[truncated];cudaLaunchKernel;[CUDA call, wall time]softmax_of_the_test "
		       "10\n");
}

static void a_call_may_seem_to_end_before_it_begins(void **state)
{
	struct collect *c = *state;

	leave(c, 9, 1000, 900, "cudaFree");
	expect_profile(c, 2000, 1, "");
}

/* Random calls of random threads, some events dropped: every return's time counts, once. */
static void reports_add_up(void **state)
{
	static const char *const functions[] = {"cudaFree", "cudaMemcpy", "cudaLaunchKernel"};
	struct collect *c = *state;
	const struct ledger_calls *ledger = &collect_ledger(c)->calls;
	struct prng random = prng_round(0);
	uint64_t since[8] = {0}, now = 1, returned = 0, calls = 0, open = 0;
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
			returned += now - since[tid];
			calls++;
			known[tid] = false;
		}
		since[tid] = 0;
	}
	assert_int_equal(ledger->timed_ns, returned);
	assert_int_equal(ledger->timed, calls);
	for (int tid = 0; tid < 8; tid++)
		open += known[tid];
	collect_finish(c, now);
	assert_int_equal(ledger->unfinished, open);
	assert_int_equal(ledger->timed, calls + open);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(calls_add_up_by_function),
		TEST(a_dropped_entry_loses_no_time),
		TEST(a_dropped_return_is_not_timed),
		TEST(a_call_ends_with_its_process),
		TEST(a_call_outlives_the_main_thread),
		TEST(an_unfinished_call_counts_once),
		TEST(a_call_ends_when_another_program_begins),
		TEST(a_call_ends_when_its_pid_is_used_again),
		TEST(a_call_is_named_after_its_kernel),
		TEST(a_call_may_seem_to_end_before_it_begins),
		TEST(reports_add_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
