/* SPDX-License-Identifier: MIT */
/* Waits that processes send: from events to the paths and weights of a file. */
#include "collect_text.h"

#define PID 77

struct program {
	struct collect *collect;
	struct process *process;
	uint32_t correlation;
};

static void send_stack(struct program *p, uint32_t id, const char *function)
{
	send_event(p->collect, p->process,
		   &(struct gpu_event){.type = GPU_EVENT_STACK,
				       .stack = {.id = id, .is_whole = 1, .function = function}});
}

static void send_wait(struct program *p, uint32_t stack, uint64_t start, uint64_t ns)
{
	send_event(p->collect, p->process,
		   &(struct gpu_event){.type = GPU_EVENT_WAIT,
				       .wait = {.start_ns = start,
						.duration_ns = ns,
						.tid = 5,
						.stack_id = stack}});
}

/* Sends a launch from `stack`, and its kernel. */
static void send_kernel(struct program *p, uint32_t stack, uint64_t start, uint64_t ns)
{
	uint32_t id = ++p->correlation;

	send_event(p->collect, p->process,
		   &(struct gpu_event){.type = GPU_EVENT_LAUNCH,
				       .launch = {.time_ns = start,
						  .tid = 5,
						  .correlation_id = id,
						  .family = GPU_LAUNCH_RUNTIME,
						  .stack_id = stack}});
	send_event(p->collect, p->process,
		   &(struct gpu_event){
			   .type = GPU_EVENT_KERNEL,
			   .kernel = {.start_ns = start, .duration_ns = ns, .correlation_id = id}});
}

/* Starts the target, so that samples belong to the program that sends waits. */
static void start_target(struct collect *c)
{
	const struct process_event exec = {.time_ns = 1, .type = PROCESS_EXEC, .pid = PID};

	assert_non_null(collect_start_target(c, PID));
	assert_non_null(collect_process_event(c, &exec));
	collect_know_tree(c);
}

static int begin_with(void **state, bool follows_waits, bool samples_cpu)
{
	const struct collect_options options = {
		.sample_ns = 1, .measure = {.waits = follows_waits, .samples_cpu = samples_cpu}};
	struct program *p = calloc(1, sizeof(*p));

	if (!p)
		return -1;
	*state = p;
	p->collect = collect_new(&options);
	if (samples_cpu && p->collect)
		start_target(p->collect);
	p->process = p->collect ? say_hello(p->collect, PID) : NULL;
	if (!p->process)
		return -1;
	send_stack(p, 1, "cudaLaunchKernel");
	send_stack(p, 2, "cudaStreamSynchronize");
	return 0;
}

static int begin(void **state)
{
	return begin_with(state, true, false);
}

static int begin_without(void **state)
{
	return begin_with(state, false, false);
}

static int begin_sampled(void **state)
{
	return begin_with(state, true, true);
}

static int end(void **state)
{
	struct program *p = *state;

	collect_free(p->collect);
	free(p);
	return 0;
}

/* Expects the profile in ns. Returns its sums. */
static struct written expect_profile(struct program *p, const char *expected)
{
	struct written written;
	char *text = folded_text(p->collect, 0, &written);

	assert_string_equal(text, expected);
	free(text);
	return written;
}

static void a_wait_is_under_its_call(void **state)
{
	struct program *p = *state;
	const struct ledger_calls *ledger = &collect_ledger(p->collect)->calls;
	struct written written;

	send_wait(p, 2, 1000, 100);
	send_kernel(p, 1, 900, 130);
	send_wait(p, 2, 2000, 7);
	written = expect_profile(
		p,
		"cudaLaunchKernel;[GPU_Kernel]k 130\n"
		"cudaStreamSynchronize;[waiting for GPU] 77\n"
		"cudaStreamSynchronize;[waiting for GPU];[GPU_Kernel]k;launched at;cudaLaunchKernel"
		" 30\n");
	assert_int_equal(written.total[ROW_CPU], 0);
	assert_int_equal(written.total[ROW_GPU], 130);
	assert_int_equal(written.total[ROW_WAIT], 107);
	assert_int_equal(written.total[ROW_CALL], 0);
	assert_int_equal(ledger->waits, 2);
	assert_int_equal(ledger->wait_ns, 107);
}

static void a_stack_that_is_not_known_loses_no_time(void **state)
{
	struct program *p = *state;

	send_wait(p, 0, 1000, 100);
	send_wait(p, 12345, 1000, 50);
	expect_profile(p, "[stack not captured];[waiting for GPU] 150\n");
}

static void work_without_times_is_not_waited_for(void **state)
{
	struct program *p = *state;

	send_event(p->collect, p->process,
		   &(struct gpu_event){.type = GPU_EVENT_KERNEL, .kernel = {.bad_time = 1}});
	send_wait(p, 2, 0, 100);
	expect_profile(p, "cudaStreamSynchronize;[waiting for GPU] 100\n");
}

/* Work of another process with equal numbers does not count in a wait. */
static void only_work_of_the_same_process_is_waited_for(void **state)
{
	struct program *p = *state, other = *p;

	send_wait(p, 2, 1000, 100);
	other.process = say_hello(p->collect, PID);
	send_stack(&other, 1, "cudaLaunchKernel");
	send_kernel(&other, 1, 1000, 90);
	expect_profile(p, "cudaLaunchKernel;[GPU_Kernel]k 90\n"
			  "cudaStreamSynchronize;[waiting for GPU] 100\n");
}

/* Sends a wait during which the thread was on a CPU for a part. */
static void send_computing_wait(struct program *p, uint64_t start, uint64_t ns, uint64_t computed)
{
	send_event(p->collect, p->process,
		   &(struct gpu_event){.type = GPU_EVENT_WAIT,
				       .wait = {.start_ns = start,
						.duration_ns = ns,
						.computed_ns = computed,
						.tid = PID,
						.stack_id = 2}});
}

static void send_sample(struct program *p, uint64_t time_ns)
{
	static struct stack_snapshot stack = {.registers[16] = 0x1010};

	stack.event = (struct stack_event){.time_ns = time_ns, .pid = PID, .tid = PID};
	assert_true(collect_snapshot(p->collect, &stack, NULL));
}

/* A thread's ns must not be both a wait and CPU time. */
static void cpu_time_is_no_wait(void **state)
{
	struct program *p = *state;
	const struct ledger_calls *ledger = &collect_ledger(p->collect)->calls;

	/* 20 before and 10 behind a kernel of 70 */
	send_computing_wait(p, 1000, 100, 36);
	send_kernel(p, 1, 1020, 70);
	expect_profile(
		p,
		"cudaLaunchKernel;[GPU_Kernel]k 70\n"
		"cudaStreamSynchronize;[waiting for GPU];[GPU_Kernel]k;launched at;cudaLaunchKernel"
		" 64\n");
	assert_int_equal(ledger->waits, 1);
	assert_int_equal(ledger->wait_ns, 64);
	assert_int_equal(ledger->wait_computed_ns, 36);
}

/* A program's claim of CPU time is bounded by its wait. */
static void no_more_than_the_wait_is_cpu_time(void **state)
{
	struct program *p = *state;

	send_computing_wait(p, 1000, 100, UINT64_MAX >> 2);
	send_kernel(p, 1, 1020, 70);
	expect_profile(p, "cudaLaunchKernel;[GPU_Kernel]k 70\n");
	assert_int_equal(collect_ledger(p->collect)->calls.wait_ns, 0);
	assert_int_equal(collect_ledger(p->collect)->calls.wait_computed_ns, 100);
}

/* Without CPU samples nothing else has that time: a thread that spins waits. */
static void without_samples_it_is_a_wait(void **state)
{
	struct program *p = *state;

	send_computing_wait(p, 1000, 100, 100);
	expect_profile(p, "cudaStreamSynchronize;[waiting for GPU] 100\n");
	assert_int_equal(collect_ledger(p->collect)->calls.wait_ns, 100);
	assert_int_equal(collect_ledger(p->collect)->calls.wait_computed_ns, 0);
}

/* A sample shows what its thread spins for, if something ran then. */
static void a_sample_of_a_thread_that_spins(void **state)
{
	struct program *p = *state;

	send_sample(p, 1010); /* the thread computes */
	send_sample(p, 1050); /* the thread spins */
	send_sample(p, 1200); /* elsewhere */
	send_computing_wait(p, 1000, 100, 100);
	send_kernel(p, 1, 1020, 70);
	expect_profile(p, "[truncated];[unknown] 2\n"
			  "[truncated];[unknown];[spinning for GPU];[GPU_Kernel]k;launched at;"
			  "cudaLaunchKernel 1\n"
			  "cudaLaunchKernel;[GPU_Kernel]k 70\n");
}

static void not_requested(void **state)
{
	struct program *p = *state;

	send_wait(p, 2, 1000, 100);
	expect_profile(p, "");
	assert_int_equal(collect_ledger(p->collect)->calls.waits, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_wait_is_under_its_call),
		TEST(a_stack_that_is_not_known_loses_no_time),
		TEST(work_without_times_is_not_waited_for),
		TEST(only_work_of_the_same_process_is_waited_for),
		TEST(without_samples_it_is_a_wait),
		cmocka_unit_test_setup_teardown(cpu_time_is_no_wait, begin_sampled, end),
		cmocka_unit_test_setup_teardown(no_more_than_the_wait_is_cpu_time, begin_sampled,
						end),
		cmocka_unit_test_setup_teardown(a_sample_of_a_thread_that_spins, begin_sampled,
						end),
		cmocka_unit_test_setup_teardown(not_requested, begin_without, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
