/* SPDX-License-Identifier: MIT */
/* Stages of the library in processes, and processes that may have missed it. */
#include "unit.h"
#include "profiler/attach/cuda_states.h"

static struct cuda_states states;

static int release(void **state)
{
	(void)state;
	cuda_states_release(&states);
	return 0;
}

static void a_process_has_one_record(void **state)
{
	(void)state;
	for (uint32_t id = 1; id <= 1000; id++)
		cuda_states_get(&states, id, (pid_t)(id + 5))->was_injected = id == 700;
	assert_int_equal(states.count, 1000);
	for (uint32_t id = 1; id <= 1000; id++) {
		struct cuda_state *s = cuda_states_get(&states, id, 0);

		assert_int_equal(s->id, id);
		assert_int_equal(s->pid, id + 5);
		assert_int_equal(cuda_states_was_injected(&states, s->pid), id == 700);
	}
	assert_int_equal(states.count, 1000);
}

static void a_hello_may_come_before_the_arrival_is_known(void **state)
{
	struct cuda_state *s = cuda_states_get(&states, 1, 10);

	(void)state;
	cuda_state_note_hello(s);
	cuda_state_arrive(s);
	assert_int_equal(s->stage, LIBRARY_HELLO);
	cuda_state_give_up(s);
	assert_int_equal(s->stage, LIBRARY_HELLO);
}

static void one_that_is_given_up_may_still_say_hello(void **state)
{
	struct cuda_state *s = cuda_states_get(&states, 1, 10);

	(void)state;
	s->delays_recording = true;
	cuda_state_arrive(s);
	assert_int_equal(s->stage, LIBRARY_ARRIVED);
	assert_true(s->delays_recording);
	cuda_state_give_up(s);
	assert_int_equal(s->stage, LIBRARY_ABSENT);
	assert_false(s->delays_recording);
	cuda_state_note_hello(s);
	assert_int_equal(s->stage, LIBRARY_HELLO);
}

/* Counts those that may have used CUDA, and whose library said nothing in time. */
static void who_missed_is_counted(void **state)
{
	(void)state;
	for (uint32_t id = 1; id <= 8; id++) {
		struct cuda_state *s = cuda_states_get(&states, id, 10);

		s->may_miss = id & 1;
		s->may_use_cuda = id & 2;
		if (id & 4)
			cuda_state_note_hello(s);
	}
	assert_int_equal(cuda_states_count_missed(&states), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(a_process_has_one_record, release),
		cmocka_unit_test_teardown(a_hello_may_come_before_the_arrival_is_known, release),
		cmocka_unit_test_teardown(one_that_is_given_up_may_still_say_hello, release),
		cmocka_unit_test_teardown(who_missed_is_counted, release),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
