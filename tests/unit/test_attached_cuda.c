/* SPDX-License-Identifier: MIT */
/*
 * Processes that ran before us and use CUDA: what recording waits for, and what is said at the end.
 * The library is injected into none here: that is test_inject_process.
 */
#include "unit.h"
#include "profiler/attach/attached_cuda.h"
#include "symbolize/util/monotonic.h"

#define PROCESSES 3
#define FIRST_PID 100

struct bench {
	struct log log;
	struct attached_cuda cuda;
	struct process *processes[PROCESSES];
	struct capture captured;
};

static int begin(void **state)
{
	struct bench *b = calloc(1, sizeof(*b));

	if (!b)
		return -1;
	*state = b;
	b->log.level = LOG_NORMAL;
	b->cuda.log = &b->log;
	b->cuda.collect = collect_new(&(struct collect_options){.sample_ns = 1, .is_over = true});
	attached_cuda_open(&b->cuda, NULL, NULL);
	for (int i = 0; i < PROCESSES; i++)
		b->processes[i] =
			collect_attach(b->cuda.collect, FIRST_PID + i, "app", 1, monotonic_ns(), 0);
	return b->processes[PROCESSES - 1] ? 0 : -1;
}

static int end(void **state)
{
	struct bench *b = *state;

	attached_cuda_release(&b->cuda);
	collect_free(b->cuda.collect);
	free(b);
	return 0;
}

static struct cuda_state *state_of(struct bench *b, int i)
{
	return cuda_states_get(&b->cuda.states, b->processes[i]->id, FIRST_PID + i);
}

static void end_process(struct bench *b, int i)
{
	const struct process_event event = {.type = PROCESS_EXIT,
					    .pid = FIRST_PID + i,
					    .tid = FIRST_PID + i,
					    .time_ns = monotonic_ns()};

	collect_process_event(b->cuda.collect, &event);
}

static void hellos_are_put_off_and_answered_once(void **state)
{
	struct bench *b = *state;
	uint64_t instance;
	uint32_t at = 0;
	pid_t pid;

	for (int i = 0; i < PROCESSES; i++)
		assert_true(attached_cuda_postpone_answer(&b->cuda, b->processes[i],
							  1000 + (uint64_t)i));
	end_process(b, 1);
	assert_true(attached_cuda_next_unanswered(&b->cuda, &at, &pid, &instance));
	assert_int_equal(pid, FIRST_PID);
	assert_int_equal(instance, 1000);
	assert_true(attached_cuda_next_unanswered(&b->cuda, &at, &pid, &instance));
	assert_int_equal(pid, FIRST_PID + 2);
	assert_int_equal(instance, 1002);
	assert_false(attached_cuda_next_unanswered(&b->cuda, &at, &pid, &instance));
	at = 0;
	assert_false(attached_cuda_next_unanswered(&b->cuda, &at, &pid, &instance));
}

static void recording_waits_for_hellos_of_those_that_run(void **state)
{
	struct bench *b = *state;

	assert_false(attached_cuda_delays_recording(&b->cuda, monotonic_ns()));
	state_of(b, 0)->delays_recording = state_of(b, 1)->delays_recording = true;
	assert_true(attached_cuda_delays_recording(&b->cuda, monotonic_ns()));
	attached_cuda_note_hello(&b->cuda, b->processes[0], false);
	assert_true(attached_cuda_delays_recording(&b->cuda, monotonic_ns()));
	end_process(b, 1);
	assert_false(attached_cuda_delays_recording(&b->cuda, monotonic_ns()));
}

static void after_a_while_it_begins_without_them(void **state)
{
	struct bench *b = *state;
	const char *text;

	state_of(b, 0)->delays_recording = state_of(b, 2)->delays_recording = true;
	capture_begin(&b->captured);
	assert_false(attached_cuda_delays_recording(&b->cuda, 0)); /* the machine runs for longer */
	assert_false(attached_cuda_delays_recording(&b->cuda, 0));
	text = capture_end(&b->captured);
	assert_non_null(strstr(text, "CUPTI has not begun in process 100"));
	assert_null(strstr(text, "process 101"));
	assert_non_null(strstr(text, "CUPTI has not begun in process 102"));
	assert_true(b->processes[0]->lacks_gpu_time);
	assert_false(b->processes[1]->lacks_gpu_time);
	assert_int_equal(collect_ledger(b->cuda.collect)->calls.processes, 2);
}

static void a_library_on_its_way_is_waited_for_while_its_process_runs(void **state)
{
	struct bench *b = *state;

	assert_false(attached_cuda_is_busy(&b->cuda));
	cuda_state_arrive(state_of(b, 0));
	assert_true(attached_cuda_is_busy(&b->cuda));
	end_process(b, 0);
	assert_false(attached_cuda_is_busy(&b->cuda));
}

static const char *tell(struct bench *b)
{
	capture_begin(&b->captured);
	attached_cuda_warn_missed(&b->cuda);
	return capture_end(&b->captured);
}

static void missing_time_is_said_and_counted(void **state)
{
	struct bench *b = *state;

	assert_string_equal(tell(b), "");
	for (int i = 0; i < PROCESSES; i++)
		state_of(b, i)->may_miss = state_of(b, i)->may_use_cuda = true;
	attached_cuda_note_hello(&b->cuda, b->processes[2], false);
	assert_non_null(strstr(tell(b), "2 processes had loaded CUDA and ended"));
	assert_int_equal(collect_ledger(b->cuda.collect)->calls.processes, 2);
}

static void what_ended_before_recording_lacks_nothing_unless_all_have(void **state)
{
	struct bench *b = *state;

	state_of(b, 0)->may_miss = state_of(b, 0)->may_use_cuda = true;
	end_process(b, 0);
	attached_cuda_forget_missed(&b->cuda);
	assert_string_equal(tell(b), "");
	state_of(b, 1)->may_miss = state_of(b, 1)->may_use_cuda = true;
	end_process(b, 1);
	end_process(b, 2);
	attached_cuda_forget_missed(&b->cuda);
	assert_non_null(strstr(tell(b), "1 process had loaded CUDA"));
}

static void processes_that_start_during_recording_are_late(void **state)
{
	struct bench *b = *state;

	attached_cuda_note_hello(&b->cuda, b->processes[0], true); /* ran before us */
	b->processes[1]->source = b->processes[2]->source = PROCESS_STARTED;
	attached_cuda_note_hello(&b->cuda, b->processes[1], false);
	assert_string_equal(tell(b), "");
	attached_cuda_note_hello(&b->cuda, b->processes[2], true);
	assert_non_null(strstr(tell(b), "1 process that started meanwhile"));
}

static void a_run_of_a_command_has_none(void **state)
{
	struct attached_cuda none = {0};
	uint64_t instance;
	uint32_t at = 0;
	pid_t pid;

	(void)state;
	attached_cuda_take_injected(&none);
	attached_cuda_forget_missed(&none);
	attached_cuda_warn_missed(&none);
	assert_false(attached_cuda_next_unanswered(&none, &at, &pid, &instance));
	attached_cuda_end_injections(&none);
	attached_cuda_release(&none);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(hellos_are_put_off_and_answered_once),
		TEST(recording_waits_for_hellos_of_those_that_run),
		TEST(after_a_while_it_begins_without_them),
		TEST(a_library_on_its_way_is_waited_for_while_its_process_runs),
		TEST(missing_time_is_said_and_counted),
		TEST(what_ended_before_recording_lacks_nothing_unless_all_have),
		TEST(processes_that_start_during_recording_are_late),
		cmocka_unit_test(a_run_of_a_command_has_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
