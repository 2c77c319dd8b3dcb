/* SPDX-License-Identifier: MIT */
/* What graphs hold, as the driver says: what is more is an allocation, what is less a release. */
#include "unit.h"
#define GRAPH_MEMORY_PIECES 4u
#include "cupti_trace/memory/graph_memory.c"

enum { LAUNCH_ID = 514, TRIM_ID = 640, RUNTIME_ID = 270 };
#define DRV CUPTI_ABI_DOMAIN_DRIVER_API
#define RT CUPTI_ABI_DOMAIN_RUNTIME_API

static struct gpu_event_work sent[64];
static uint32_t sent_count;
static uint64_t held_by_driver[2], clock_ns;
static int questions, error;
static struct tracer tracer;
static int contexts[2];

/* In place of the library's and the driver's. */
void tracer_send_memory(struct tracer *t, const struct gpu_event_work *event, uint64_t timestamp)
{
	(void)t;
	assert_true(timestamp > 0 && sent_count < 64);
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

static int answer(int device, uint32_t attribute, void *value)
{
	assert_true(graph_memory_asks() && attribute == RESERVED_NOW && device < 2);
	questions++;
	memcpy(value, &held_by_driver[device], sizeof(uint64_t));
	return error;
}

static int begin(void **state)
{
	(void)state;
	memset(all.devices, 0, sizeof(all.devices));
	sent_count = 0;
	questions = error = 0;
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
	/* the library looks for the driver at the first question: here it is answered by a test */
	graph_memory_exit(&tracer, DRV, LAUNCH_ID, &(struct cupti_abi_callback_data){0});
	ask_driver = answer;
	return 0;
}

static void call(uint32_t domain, uint32_t cbid, uint32_t correlation_id)
{
	struct cupti_abi_callback_data data = {.correlation_id = correlation_id};

	graph_memory_enter(domain, cbid, &data);
	graph_memory_exit(&tracer, domain, cbid, &data);
}

static void expect(uint32_t at, uint32_t work, uint64_t bytes, uint32_t correlation_id)
{
	assert_int_equal(sent[at].work, work);
	assert_int_equal(sent[at].bytes, bytes);
	assert_int_equal(sent[at].correlation_id, correlation_id);
	assert_int_equal(sent[at].context_id, 10);
	assert_int_equal(sent[at].destination_memory, GPU_MEMORY_DEVICE);
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
	ask_driver = NULL; /* an old one: then CUPTI's records are what there is */
	call(DRV, LAUNCH_ID, 107);
	assert_false(followed_memory_has(107));
	ask_driver = answer;
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
	assert_int_equal(all.devices[0].held, 0);
}

static void pieces_are_bounded(void **state)
{
	int64_t sum = 0;

	(void)state;
	for (uint32_t i = 1; i <= 20; i++) {
		held_by_driver[0] += i;
		call(DRV, LAUNCH_ID, i);
		assert_true(all.devices[0].count <= GRAPH_MEMORY_PIECES);
	}
	for (uint32_t i = 0; i < sent_count; i++)
		sum += sent[i].work == GPU_WORK_ALLOC ? (int64_t)sent[i].bytes
						      : -(int64_t)sent[i].bytes;
	assert_int_equal(sum, 210);
}

static void contexts_end_with_their_memory(void **state)
{
	(void)state;
	held_by_driver[0] = 100;
	held_by_driver[1] = 5; /* there is no context yet */
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
	all.devices[0].answered = all.asked + 1;
	held_by_driver[0] = 100;
	call(DRV, LAUNCH_ID, 1);
	assert_int_equal(sent_count, 0);
	call(DRV, LAUNCH_ID, 2);
	assert_int_equal(sent_count, 1);
}

static void without_an_answer_nothing_is_sent(void **state)
{
	(void)state;
	held_by_driver[0] = 100;
	error = 801;
	call(DRV, LAUNCH_ID, 1);
	ask_driver = NULL;
	call(DRV, LAUNCH_ID, 2);
	assert_int_equal(sent_count, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(changes_are_sent, begin),
		cmocka_unit_test_setup(pieces_are_bounded, begin),
		cmocka_unit_test_setup(contexts_end_with_their_memory, begin),
		cmocka_unit_test_setup(answers_that_are_overtaken_do_not_count, begin),
		cmocka_unit_test_setup(without_an_answer_nothing_is_sent, begin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
