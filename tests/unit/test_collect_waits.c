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

/* A launch from `stack` and the kernel it started. */
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

static int begin_with(void **state, bool follows_waits)
{
	const struct collect_options options = {.sample_ns = 1, .measure.waits = follows_waits};
	struct program *p = calloc(1, sizeof(*p));

	if (!p)
		return -1;
	*state = p;
	p->collect = collect_new(&options);
	p->process = p->collect ? say_hello(p->collect, PID) : NULL;
	if (!p->process)
		return -1;
	send_stack(p, 1, "cudaLaunchKernel");
	send_stack(p, 2, "cudaStreamSynchronize");
	return 0;
}

static int begin(void **state)
{
	return begin_with(state, true);
}

static int begin_without(void **state)
{
	return begin_with(state, false);
}

static int end(void **state)
{
	struct program *p = *state;

	collect_free(p->collect);
	free(p);
	return 0;
}

/* The profile in ns, and what it adds up to. */
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

/* Another process's work, though it has the same numbers. */
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
		cmocka_unit_test_setup_teardown(not_requested, begin_without, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
