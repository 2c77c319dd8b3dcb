/* SPDX-License-Identifier: MIT */
/* Sums of calls: by function and kind, over threads, errors, nesting, and only what is new sent. */
#include "fifo_sink.h"
#include <pthread.h>
#include "cupti_trace/launch/call_stats.h"
#include "profiler/model/api_calls.h"

enum {
	RT = CUPTI_ABI_DOMAIN_RUNTIME_API,
	DRV = CUPTI_ABI_DOMAIN_DRIVER_API,
	MEMCPY = 31,
	MALLOC = 20,
	QUERY = 138,
	DRV_MALLOC = 243,
};

struct bench {
	struct fifo fifo;
	struct sink sink;
	struct api_calls calls;
	uint32_t lines;
};

static const char *keep(void *context, const char *name)
{
	(void)context;
	return strdup(name);
}

static void hear(void *context, const struct gpu_event *event, const char *kernel)
{
	struct bench *b = context;
	struct api_call *call;

	(void)kernel;
	if (event->type != GPU_EVENT_CALLS)
		return;
	b->lines++;
	call = api_calls_get(&b->calls, &event->calls, NULL, keep, NULL);
	assert_non_null(call);
	api_call_add(call, &event->calls);
}

static int begin(void **state)
{
	struct bench *b = calloc(1, sizeof(*b));

	if (!b)
		return -1;
	*state = b;
	fifo_open_sink(&b->fifo, &b->sink, hear, b);
	call_stats_add_function(RT, MEMCPY, "cudaMemcpy_v3020");
	call_stats_add_function(RT, MALLOC, "cudaMalloc_v3020");
	call_stats_add_function(RT, QUERY, "cudaStreamQuery_ptsz_v7000");
	call_stats_add_function(DRV, DRV_MALLOC, "cuMemAlloc_v2");
	call_stats_add_function(DRV, 2000, "beyond all ids");
	return 0;
}

static int end(void **state)
{
	struct bench *b = *state;

	for (uint32_t i = 0; i < b->calls.count; i++)
		free((char *)b->calls.list[i]->name);
	api_calls_release(&b->calls);
	fifo_remove(&b->fifo);
	free(b);
	return 0;
}

static void finish(struct bench *b)
{
	call_stats_send(&b->sink);
	fifo_close_sink(&b->fifo, &b->sink);
}

static const struct api_call *find(const struct bench *b, const char *name, uint32_t kind)
{
	for (uint32_t i = 0; i < b->calls.count; i++)
		if (strcmp(b->calls.list[i]->name, name) == 0 && b->calls.list[i]->kind == kind)
			return b->calls.list[i];
	return NULL;
}

struct one {
	uint64_t correlation_data;
	uint64_t params[8];
	int result;
	struct cupti_abi_callback_data data;
};

static void enter(struct one *one, uint32_t domain, uint32_t cbid, uint32_t correlation)
{
	one->data = (struct cupti_abi_callback_data){.function_params = one->params,
						     .function_return_value = &one->result,
						     .correlation_data = &one->correlation_data,
						     .correlation_id = correlation};
	call_stats_enter(domain, cbid, &one->data);
}

static void sums_are_of_functions_and_kinds(void **state)
{
	struct bench *b = *state;
	struct one copy = {.params = {0, 0, 1000, 1}}, bad = {.params = {0, 0, 1 << 20, 2}};
	struct one odd = {.params = {0, 0, 7, 0x7fffffff}};
	const struct api_call *call;

	for (int i = 0; i < 3; i++) {
		enter(&copy, RT, MEMCPY, 1);
		call_stats_exit(RT, MEMCPY, &copy.data);
	}
	for (int i = 0; i < 20; i++) {
		bad.result = 1 + i; /* more codes than there are places for */
		enter(&bad, RT, MEMCPY, 2);
		call_stats_exit(RT, MEMCPY, &bad.data);
	}
	enter(&odd, RT, MEMCPY, 3);
	finish(b);
	call = find(b, "cudaMemcpy", 2);
	assert_non_null(call);
	assert_int_equal(call->calls, 3);
	assert_int_equal(call->returned, 3);
	assert_int_equal(call->bytes, 3000);
	assert_int_equal(call->failed, 0);
	assert_true(call->shortest_ns <= call->longest_ns && call->longest_ns <= call->ns);
	assert_true(api_call_quantile(call, 990) <= call->longest_ns);
	call = find(b, "cudaMemcpy", 3);
	assert_int_equal(call->calls, 20);
	assert_int_equal(call->failed, 20);
	assert_int_equal(call->bytes, 0);
	assert_int_equal(call->errors[0].code, 1);
	assert_int_equal(call->errors[7].code, 8);
	assert_int_equal(call->errors[API_CALL_ERRORS - 1].count, 12);
	/* an unknown kind, and a call that did not return */
	call = find(b, "cudaMemcpy", 0);
	assert_int_equal(call->calls, 1);
	assert_int_equal(call->returned, 0);
	assert_int_equal(call->ns, 0);
	assert_null(find(b, "cudaMalloc", 0));
}

/* The driver's call inside the runtime's call has an equal correlation id. */
static void calls_of_the_runtime_are_known_apart(void **state)
{
	struct bench *b = *state;
	struct one outer = {.params = {0, 4096}}, inner = outer, alone = outer;
	const struct api_call *call;

	enter(&outer, RT, MALLOC, 10);
	enter(&inner, DRV, DRV_MALLOC, 10);
	call_stats_exit(DRV, DRV_MALLOC, &inner.data);
	call_stats_exit(RT, MALLOC, &outer.data);
	enter(&alone, DRV, DRV_MALLOC, 11);
	call_stats_exit(DRV, DRV_MALLOC, &alone.data);
	/* entered before it was watched, or never */
	call_stats_exit(DRV, DRV_MALLOC, &alone.data);
	alone.correlation_data = UINT64_MAX;
	call_stats_exit(DRV, DRV_MALLOC, &alone.data);
	alone.data.correlation_data = NULL;
	alone.data.function_params = NULL;
	call_stats_enter(DRV, DRV_MALLOC, &alone.data);
	call_stats_exit(DRV, DRV_MALLOC, &alone.data);
	call_stats_enter(DRV, 2000, &alone.data);
	call_stats_exit(DRV, 999, &alone.data);
	/* an error within counts for the runtime's call alone */
	outer.result = inner.result = 2;
	enter(&outer, RT, MALLOC, 12);
	enter(&inner, DRV, DRV_MALLOC, 12);
	call_stats_exit(DRV, DRV_MALLOC, &inner.data);
	call_stats_exit(RT, MALLOC, &outer.data);
	finish(b);
	call = find(b, "cuMemAlloc_v2", 0);
	assert_int_equal(call->calls, 4);
	assert_int_equal(call->returned, 3);
	assert_int_equal(call->failed, 0);
	assert_int_equal(call->nested, 2);
	assert_true(call->nested_ns > 0 && call->nested_ns < call->ns);
	assert_int_equal(call->bytes, 2 * 4096);
	call = find(b, "cudaMalloc", 0);
	assert_int_equal(call->nested, 0);
	assert_int_equal(call->failed, 1);
}

static void *query_often(void *arg)
{
	struct one one = {.result = 600};

	for (int i = 0; i < 1000; i++) {
		enter(&one, RT, QUERY, 1);
		call_stats_exit(RT, QUERY, &one.data);
	}
	return arg;
}

/* Threads start, call and end. The sender sends each call once. */
static void nothing_is_sent_twice(void **state)
{
	struct bench *b = *state;
	pthread_t threads[32];
	const struct api_call *call;
	uint32_t lines;

	for (int round = 0; round < 4; round++) {
		for (int i = 0; i < 32; i++)
			assert_int_equal(pthread_create(&threads[i], NULL, query_often, NULL), 0);
		call_stats_send(&b->sink);
		for (int i = 0; i < 32; i++)
			pthread_join(threads[i], NULL);
		call_stats_send(&b->sink);
	}
	sink_flush(&b->sink);
	finish(b);
	lines = b->lines;
	assert_true(lines > 0);
	call = find(b, "cudaStreamQuery_ptsz", 0);
	assert_int_equal(call->calls, 4 * 32 * 1000);
	assert_int_equal(call->returned, 4 * 32 * 1000);
	assert_int_equal(call->failed, 4 * 32 * 1000);
	assert_int_equal(call->errors[0].code, 600);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(sums_are_of_functions_and_kinds, begin, end),
		cmocka_unit_test_setup_teardown(calls_of_the_runtime_are_known_apart, begin, end),
		cmocka_unit_test_setup_teardown(nothing_is_sent_twice, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
