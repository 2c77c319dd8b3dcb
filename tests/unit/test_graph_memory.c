/* SPDX-License-Identifier: MIT */
/* Memory of graphs, as the driver reports it: an increase is an allocation, a decrease a
 * release. */
#include "unit.h"
#include <pthread.h>
#include "cupti_trace/memory/followed_memory.h"
#include "cupti_trace/memory/graph_memory.h"
#include "cupti_trace/memory/graph_memory_driver.h"

enum { LAUNCH_ID = 514, TRIM_ID = 640, RUNTIME_ID = 270 };
#define DRV CUPTI_ABI_DOMAIN_DRIVER_API
#define RT CUPTI_ABI_DOMAIN_RUNTIME_API

static struct gpu_event_work sent[8 * GRAPH_MEMORY_PIECES];
static uint32_t sent_count;
static uint64_t held_by_driver[2], clock_ns;
static int questions;
static bool can_tell, fails; /* the driver */
static bool is_overtaken;    /* another thread asks during the next question, and later */
static struct tracer tracer;
static int contexts[2];

/* Stands for the function of the library or the driver. */
void tracer_send_memory(struct tracer *t, const struct gpu_event_work *event, uint64_t timestamp)
{
	(void)t;
	assert_true(timestamp > 0 && sent_count < sizeof(sent) / sizeof(sent[0]));
	sent[sent_count++] = *event;
}

static int tell_time(uint64_t *timestamp)
{
	*timestamp = ++clock_ns;
	return 0;
}

static int tell_device(void *context, uint32_t *id)
{
	*id = (uint32_t)((int *)context - contexts);
	return 0;
}

static int tell_context(void *context, uint32_t *id)
{
	*id = 10 + (uint32_t)((int *)context - contexts);
	return 0;
}

static void call(uint32_t domain, uint32_t cbid, uint32_t correlation_id)
{
	struct cupti_abi_callback_data data = {.correlation_id = correlation_id};

	graph_memory_enter(domain, cbid, &data);
	graph_memory_exit(&tracer, domain, cbid, &data);
}

static void *call_later(void *unused)
{
	call(DRV, LAUNCH_ID, 1000);
	return unused;
}

bool graph_memory_driver_can_tell(void)
{
	return can_tell;
}

bool graph_memory_driver_tell(uint32_t device, uint64_t *bytes)
{
	pthread_t other;

	if (!can_tell)
		return false;
	assert_true(graph_memory_asks() && device < 2);
	questions++;
	*bytes = held_by_driver[device];
	if (is_overtaken) {
		is_overtaken = false;
		held_by_driver[device] += 50;
		assert_int_equal(pthread_create(&other, NULL, call_later, NULL), 0);
		pthread_join(other, NULL);
	}
	return !fails;
}

static int begin(void **state)
{
	(void)state;
	sent_count = 0;
	questions = 0;
	can_tell = true;
	fails = is_overtaken = false;
	held_by_driver[0] = held_by_driver[1] = 0;
	tracer.api.cuptiGetTimestamp = tell_time;
	tracer.api.cuptiGetDeviceId = tell_device;
	tracer.api.cuptiGetContextId = tell_context;
	graph_memory_add_function(DRV, LAUNCH_ID, "cuGraphLaunch_ptsz");
	graph_memory_add_function(DRV, TRIM_ID, "cuDeviceGraphMemTrim");
	graph_memory_add_function(RT, RUNTIME_ID, "cudaGraphUpload_v10000");
	graph_memory_add_function(RT, LAUNCH_ID, "cudaGraphKernelNodeCopyAttributes");
	graph_memory_add_function(DRV, 5000, "cuGraphLaunch");
	graph_memory_context_begins(&tracer, &contexts[0]);
	return 0;
}

static int end(void **state)
{
	(void)state;
	for (int i = 0; i < 2; i++)
		graph_memory_context_ends(&contexts[i]);
	return 0;
}

static void expect(uint32_t at, uint32_t work, uint64_t bytes, uint32_t correlation_id)
{
	assert_int_equal(sent[at].work, work);
	assert_int_equal(sent[at].bytes, bytes);
	assert_int_equal(sent[at].correlation_id, correlation_id);
	assert_int_equal(sent[at].context_id, 10);
	assert_int_equal(sent[at].destination_memory, GPU_MEMORY_DEVICE);
}

/* Adds up what those that were sent hold. */
static int64_t sum_of_sent(void)
{
	int64_t sum = 0;

	for (uint32_t i = 0; i < sent_count; i++)
		sum += sent[i].work == GPU_WORK_ALLOC ? (int64_t)sent[i].bytes
						      : -(int64_t)sent[i].bytes;
	return sum;
}

static uint32_t count_held(void)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < sent_count; i++)
		count += sent[i].work == GPU_WORK_ALLOC ? 1u : UINT32_MAX;
	return count;
}

static void changes_are_sent(void **state)
{
	(void)state;
	call(DRV, LAUNCH_ID, 100);
	assert_int_equal(sent_count, 0);
	held_by_driver[0] = 1000;
	call(RT, LAUNCH_ID, 101); /* another function */
	assert_int_equal(questions, 1);
	call(DRV, LAUNCH_ID, 102);
	call(DRV, LAUNCH_ID, 103);
	assert_int_equal(sent_count, 1);
	expect(0, GPU_WORK_ALLOC, 1000, 102);
	/* each, before it is known what it allocates: CUPTI's record may come first */
	assert_true(followed_memory_has(100) && followed_memory_has(102) &&
		    followed_memory_has(103));
	assert_false(followed_memory_has(101));
	can_tell = false; /* an old one: then CUPTI's records are what there is */
	call(DRV, LAUNCH_ID, 107);
	assert_false(followed_memory_has(107));
	can_tell = true;
	held_by_driver[0] = 1500;
	call(RT, RUNTIME_ID, 104);
	expect(1, GPU_WORK_ALLOC, 500, 104);
	/* the last 500 go, and a part of what came before them */
	held_by_driver[0] = 700;
	call(DRV, TRIM_ID, 105);
	assert_int_equal(sent_count, 5);
	expect(2, GPU_WORK_FREE, 500, 105);
	assert_int_equal(sent[2].address, sent[1].address);
	expect(3, GPU_WORK_FREE, 1000, 105);
	expect(4, GPU_WORK_ALLOC, 700, 105);
	held_by_driver[0] = 0;
	call(DRV, TRIM_ID, 106);
	expect(5, GPU_WORK_FREE, 700, 106);
	assert_int_equal(sum_of_sent(), 0);
}

static void pieces_are_bounded(void **state)
{
	enum { ROUNDS = 3 * GRAPH_MEMORY_PIECES };
	uint32_t most = 0;

	(void)state;
	for (uint32_t i = 1; i <= ROUNDS; i++) {
		held_by_driver[0] += i;
		call(DRV, LAUNCH_ID, i);
		if (count_held() > most)
			most = count_held();
	}
	assert_int_equal(most, GRAPH_MEMORY_PIECES);
	assert_int_equal(sum_of_sent(), ROUNDS * (ROUNDS + 1) / 2);
}

static void contexts_end_with_their_memory(void **state)
{
	(void)state;
	held_by_driver[0] = 100;
	held_by_driver[1] = 5; /* no context exists yet */
	call(DRV, LAUNCH_ID, 1);
	assert_int_equal(sent_count, 1);
	graph_memory_context_begins(&tracer, &contexts[1]);
	call(DRV, LAUNCH_ID, 2);
	assert_int_equal(sent_count, 2);
	assert_int_equal(sent[1].device_id, 1);
	assert_int_equal(sent[1].context_id, 11);
	graph_memory_context_ends(&contexts[0]);
	call(DRV, LAUNCH_ID, 3);
	assert_int_equal(sent_count, 2); /* the profiler knows by the context's end */
	graph_memory_context_begins(&tracer, &contexts[0]);
	held_by_driver[0] = 7;
	call(DRV, LAUNCH_ID, 4);
	expect(2, GPU_WORK_ALLOC, 7, 4);
}

/* Another thread has asked later, and its answer counts already. */
static void answers_that_are_overtaken_do_not_count(void **state)
{
	(void)state;
	is_overtaken = true;
	held_by_driver[0] = 100;
	call(DRV, LAUNCH_ID, 1);
	assert_int_equal(sent_count, 1);
	expect(0, GPU_WORK_ALLOC, 150, 1000);
	call(DRV, LAUNCH_ID, 2);
	assert_int_equal(sent_count, 1);
}

static void without_an_answer_nothing_is_sent(void **state)
{
	(void)state;
	held_by_driver[0] = 100;
	fails = true;
	call(DRV, LAUNCH_ID, 1);
	can_tell = false;
	call(DRV, LAUNCH_ID, 2);
	assert_int_equal(sent_count, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(changes_are_sent, begin, end),
		cmocka_unit_test_setup_teardown(pieces_are_bounded, begin, end),
		cmocka_unit_test_setup_teardown(contexts_end_with_their_memory, begin, end),
		cmocka_unit_test_setup_teardown(answers_that_are_overtaken_do_not_count, begin,
						end),
		cmocka_unit_test_setup_teardown(without_an_answer_nothing_is_sent, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
