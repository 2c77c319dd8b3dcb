/* SPDX-License-Identifier: MIT */
/* Waits that processes send: from events to the paths and weights of a tree. */
#include "collect_text.h"

#define PID 77

static void send_stack(struct collect *c, uint32_t id, const char *function)
{
	struct gpu_event event = {.type = GPU_EVENT_STACK,
				  .stack = {.id = id, .is_whole = 1, .function = function}};

	collect_gpu_event(c, PID, &event, NULL);
}

static void send_wait(struct collect *c, uint32_t stack, uint64_t start, uint64_t ns)
{
	struct gpu_event event = {
		.type = GPU_EVENT_WAIT,
		.wait = {.start_ns = start, .duration_ns = ns, .tid = 5, .stack_id = stack}};

	collect_gpu_event(c, PID, &event, NULL);
}

/* A launch from `stack` and the kernel it started. */
static void send_kernel(struct collect *c, uint32_t stack, uint64_t start, uint64_t ns)
{
	static uint32_t id;
	struct gpu_event launch = {.type = GPU_EVENT_LAUNCH,
				   .launch = {.time_ns = start,
					      .tid = 5,
					      .correlation_id = ++id,
					      .family = GPU_LAUNCH_RUNTIME,
					      .stack_id = stack}};
	struct gpu_event kernel = {
		.type = GPU_EVENT_KERNEL,
		.kernel = {.start_ns = start, .duration_ns = ns, .correlation_id = id}};

	collect_gpu_event(c, PID, &launch, NULL);
	collect_gpu_event(c, PID, &kernel, intern_string(&c->strings, "k"));
}

static int begin(void **state)
{
	struct gpu_event hello = {.type = GPU_EVENT_HELLO, .hello = {.version = 1, .pid = PID}};
	struct collect *c = calloc(1, sizeof(*c));

	if (!c || collect_init(c) != 0)
		return -1;
	*state = c;
	collect_gpu_event(c, PID, &hello, NULL);
	send_stack(c, 1, "cudaLaunchKernel");
	send_stack(c, 2, "cudaStreamSynchronize");
	return 0;
}

static int end(void **state)
{
	collect_release(*state);
	free(*state);
	return 0;
}

static void a_wait_lies_under_its_call(void **state)
{
	struct collect *c = *state;
	struct writer_result result;
	char *text;

	assert_int_equal(collect_follow_waits(c), 0);
	send_wait(c, 2, 1000, 100);
	send_kernel(c, 1, 900, 130);
	send_wait(c, 2, 2000, 7);
	text = collect_text(c, 0, &result);
	assert_string_equal(
		text,
		"cudaLaunchKernel;[GPU_Kernel]k 130\n"
		"cudaStreamSynchronize;[waiting for GPU] 77\n"
		"cudaStreamSynchronize;[waiting for GPU];[GPU_Kernel]k;launched at;cudaLaunchKernel"
		" 30\n");
	free(text);
	assert_int_equal(result.total[WEIGHT_CPU], 0);
	assert_int_equal(result.total[WEIGHT_GPU], 130);
	assert_int_equal(result.total[WEIGHT_WAIT], 107);
	assert_int_equal(c->stats.waits, 2);
	assert_int_equal(c->stats.wait_ns, 107);
}

static void a_stack_that_is_not_known_loses_no_time(void **state)
{
	struct collect *c = *state;
	struct writer_result result;
	char *text;

	assert_int_equal(collect_follow_waits(c), 0);
	send_wait(c, 0, 1000, 100);
	send_wait(c, 12345, 1000, 50);
	text = collect_text(c, 0, &result);
	assert_string_equal(text, "[stack not captured];[waiting for GPU] 150\n");
	free(text);
}

static void what_has_no_times_is_not_waited_for(void **state)
{
	struct gpu_event kernel = {.type = GPU_EVENT_KERNEL, .kernel = {.bad_time = 1}};
	struct collect *c = *state;
	struct writer_result result;
	char *text;

	assert_int_equal(collect_follow_waits(c), 0);
	collect_gpu_event(c, PID, &kernel, intern_string(&c->strings, "k"));
	send_wait(c, 2, 0, 100);
	text = collect_text(c, 0, &result);
	assert_string_equal(text, "cudaStreamSynchronize;[waiting for GPU] 100\n");
	free(text);
}

static void nobody_asked(void **state)
{
	struct collect *c = *state;
	struct writer_result result;
	char *text;

	send_wait(c, 2, 1000, 100);
	text = collect_text(c, 0, &result);
	assert_string_equal(text, "");
	free(text);
	assert_int_equal(c->stats.waits, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_wait_lies_under_its_call),
		TEST(a_stack_that_is_not_known_loses_no_time),
		TEST(what_has_no_times_is_not_waited_for),
		TEST(nobody_asked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
