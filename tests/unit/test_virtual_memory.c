/* SPDX-License-Identifier: MIT */
/* Physical memory by its handles and mappings: when it is given back, and what fails. */
#include "unit.h"
#include <pthread.h>
#include "cupti_trace/memory/virtual_memory.h"

enum { CREATE_ID = 549, RELEASE_ID, MAP_ID, UNMAP_ID, RETAIN_ID = 565 };

/* CUmemAllocationProp, the beginning. */
struct properties {
	uint32_t type, handle_types, location_type, location_id;
};
enum { LOCATION_DEVICE = 1, LOCATION_HOST = 2 };

static struct gpu_event_work sent[256];
static uint32_t sent_count;
static uint64_t dropped, clock_ns;
static struct tracer tracer;

/* Stands for the library's function, and only takes notes. */
void tracer_send_memory(struct tracer *t, const struct gpu_event_work *event, uint64_t timestamp)
{
	(void)t;
	assert_true(timestamp > 0 && sent_count < 256);
	sent[sent_count++] = *event;
}

void sink_count_drops(struct sink *sink, const struct gpu_event_drops *drops)
{
	(void)sink;
	dropped += drops->kernels;
}

static int tell_time(uint64_t *timestamp)
{
	*timestamp = ++clock_ns;
	return 0;
}

static int begin(void **state)
{
	(void)state;
	sent_count = 0;
	dropped = 0;
	tracer.api.cuptiGetTimestamp = tell_time;
	virtual_memory_add_function(CREATE_ID, "cuMemCreate");
	virtual_memory_add_function(RELEASE_ID, "cuMemRelease");
	virtual_memory_add_function(MAP_ID, "cuMemMap");
	virtual_memory_add_function(UNMAP_ID, "cuMemUnmap");
	virtual_memory_add_function(RETAIN_ID, "cuMemRetainAllocationHandle");
	virtual_memory_add_function(7, "cuMemAlloc_v2");
	virtual_memory_add_function(5000, "cuMemCreate");
	assert_true(virtual_memory_has("cuMemUnmap") && !virtual_memory_has("cuMemMapArrayAsync"));
	return 0;
}

static struct cupti_abi_callback_data data_of(uint64_t *params, int *result)
{
	return (struct cupti_abi_callback_data){
		.function_params = params, .function_return_value = result, .correlation_id = 77};
}

static void call(uint32_t cbid, uint64_t a, uint64_t b, uint64_t c, uint64_t d, int result)
{
	uint64_t params[] = {a, b, c, d, 0};
	struct cupti_abi_callback_data data = data_of(params, &result);

	virtual_memory_enter(&tracer, cbid, &data);
	virtual_memory_exit(&tracer, cbid, &data);
}

static void create(uint64_t handle, uint64_t bytes, int result)
{
	const struct properties p = {1, 0, LOCATION_DEVICE, 3};

	call(CREATE_ID, (uintptr_t)&handle, bytes, (uintptr_t)&p, 0, result);
}

static void given_back_when_neither_held_nor_mapped(void **state)
{
	uint64_t handle = 0x500;

	(void)state;
	create(handle, 1000, 0);
	assert_int_equal(sent_count, 1);
	assert_int_equal(sent[0].work, GPU_WORK_ALLOC);
	assert_int_equal(sent[0].bytes, 1000);
	assert_int_equal(sent[0].device_id, 3);
	assert_int_equal(sent[0].destination_memory, GPU_MEMORY_DEVICE);
	assert_int_equal(sent[0].correlation_id, 77);
	call(MAP_ID, 0x10000, 400, 0, handle, 0);
	call(MAP_ID, 0x10190, 600, 0, handle, 0);
	call(RETAIN_ID, (uintptr_t)&handle, 0x10000, 0, 0, 0);
	call(RELEASE_ID, handle, 0, 0, 0, 0);
	call(RELEASE_ID, handle, 0, 0, 0, 0);
	call(RELEASE_ID, handle, 0, 0, 0, 0); /* once more than it was held */
	assert_int_equal(sent_count, 1);
	call(UNMAP_ID, 0x10000, 1000, 0, 0, 0); /* both at once */
	assert_int_equal(sent_count, 2);
	assert_int_equal(sent[1].work, GPU_WORK_FREE);
	assert_int_equal(sent[1].address, sent[0].address);
	call(UNMAP_ID, 0x10000, 1000, 0, 0, 0);
	call(RELEASE_ID, handle, 0, 0, 0, 0);
	assert_int_equal(sent_count, 2);
}

static void calls_that_fail_change_nothing(void **state)
{
	(void)state;
	create(0x600, 1000, 2);
	assert_int_equal(sent_count, 0);
	create(0x600, 1000, 0);
	call(MAP_ID, 0x20000, 1000, 0, 0x600, 1);
	call(MAP_ID, 0x20000, 1000, 0, 0x600, 0);
	call(RELEASE_ID, 0x600, 0, 0, 0, 1);
	call(RELEASE_ID, 0x600, 0, 0, 0, 0);
	call(UNMAP_ID, 0x20000, 1000, 0, 0, 1);
	call(UNMAP_ID, 0x20000, 500, 0, 0, 1); /* a part */
	assert_int_equal(sent_count, 1);
	call(UNMAP_ID, 0x20000, 1000, 0, 0, 0);
	assert_int_equal(sent_count, 2);
	/* another process, no memory, sizes that overflow */
	call(MAP_ID, 0x30000, 1000, 0, 0x999, 0);
	call(UNMAP_ID, 0x30000, UINT64_MAX, 0, 0, 0);
	call(UNMAP_ID, 0, UINT64_MAX, 0, 0, 0);
	call(CREATE_ID, 0, 1000, 0, 0, 0);
	call(RETAIN_ID, 0, 0, 0, 0, 0);
	virtual_memory_exit(&tracer, RELEASE_ID, &(struct cupti_abi_callback_data){0});
	assert_int_equal(sent_count, 2);
}

/* Creates memory inside another thread's call, with the handle that this one gives back. */
static void *create_on_the_host(void *unused)
{
	struct properties p = {1, 0, LOCATION_HOST, 0};
	uint64_t handle = 0x700, params[] = {(uintptr_t)&handle, 20, (uintptr_t)&p, 0};
	int result = 0;
	struct cupti_abi_callback_data data = data_of(params, &result);

	virtual_memory_enter(&tracer, CREATE_ID, &data);
	virtual_memory_exit(&tracer, CREATE_ID, &data);
	return unused;
}

/* A handle may be used again before the call that released it returns: memory is freed inside
 * the call. */
static void handles_come_again_before_a_call_returns(void **state)
{
	uint64_t params[] = {0x700};
	pthread_t thread;
	int result = 0;
	struct cupti_abi_callback_data data = data_of(params, &result);

	(void)state;
	create(0x700, 10, 0);
	virtual_memory_enter(&tracer, RELEASE_ID, &data);
	assert_int_equal(pthread_create(&thread, NULL, create_on_the_host, NULL), 0);
	pthread_join(thread, NULL);
	virtual_memory_exit(&tracer, RELEASE_ID, &data);
	assert_int_equal(sent_count, 3);
	assert_int_equal(sent[1].bytes, 20);
	assert_int_equal(sent[1].destination_memory, CUPTI_ABI_MEMORY_PINNED); /* the host's */
	assert_int_equal(sent[2].work, GPU_WORK_FREE);
	assert_int_equal(sent[2].address, sent[0].address);
	call(RELEASE_ID, 0x700, 0, 0, 0, 0);
	assert_int_equal(sent_count, 4);
	assert_int_equal(sent[3].address, sent[1].address);
}

static void what_has_no_room_is_dropped(void **state)
{
	enum { MAX = 64 };

	(void)state;
	virtual_memory_set_max(MAX);
	for (uint32_t i = 0; i < MAX + 5; i++)
		create(0x1000 + i, 1, 0);
	assert_int_equal(sent_count, MAX);
	assert_int_equal(dropped, 5);
	for (uint32_t i = 0; i < MAX + 5; i++)
		call(MAP_ID, 0x100000 + i, 1, 0, 0x1000, 0);
	assert_int_equal(dropped, 10);
	for (uint32_t i = 1; i < MAX + 5; i++)
		call(RELEASE_ID, 0x1000 + i, 0, 0, 0, 0);
	assert_int_equal(sent_count, 2 * MAX - 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(given_back_when_neither_held_nor_mapped, begin),
		cmocka_unit_test_setup(calls_that_fail_change_nothing, begin),
		cmocka_unit_test_setup(handles_come_again_before_a_call_returns, begin),
		cmocka_unit_test_setup(what_has_no_room_is_dropped, begin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
