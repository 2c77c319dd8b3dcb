/* SPDX-License-Identifier: MIT */
/*
 * The CUDA stand-ins are as strict as the real libraries, as their headers promise.
 *
 * FAKE_CUDA_DIR names the folder with the built libraries. Each test runs in a forked child with
 * fresh copies of the libraries. Their state is per process: one cuInit, one subscriber.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "../fake_cuda/test_client.h"

#include <signal.h>
#include <stdbool.h>

static void callbacks_come_only_when_enabled_and_nest(void)
{
	subscribe();
	assert_int_equal(launch(NULL, 1000), 0);
	assert_int_equal(seen.calls, 0);

	enable(CUPTI_ABI_DOMAIN_RUNTIME_API, FAKE_RT_cudaLaunchKernel);
	enable(CUPTI_ABI_DOMAIN_DRIVER_API, FAKE_DRV_cuLaunchKernel);
	assert_int_equal(launch(NULL, 1000), 0);
	assert_int_equal(rt.cudaDeviceSynchronize(), 0);
	assert_int_equal(seen.calls, 4);
	assert_int_equal(seen.call[0].domain, CUPTI_ABI_DOMAIN_RUNTIME_API);
	assert_int_equal(seen.call[0].site, CUPTI_ABI_API_ENTER);
	assert_string_equal(seen.call[0].name, "_Z6kernelv");
	assert_int_equal(seen.call[1].domain, CUPTI_ABI_DOMAIN_DRIVER_API);
	assert_int_equal(seen.call[1].cbid, FAKE_DRV_cuLaunchKernel);
	assert_int_equal(seen.call[2].site, CUPTI_ABI_API_EXIT);
	assert_int_equal(seen.call[3].domain, CUPTI_ABI_DOMAIN_RUNTIME_API);
	assert_int_equal(seen.call[3].site, CUPTI_ABI_API_EXIT);
	for (int i = 1; i < 4; i++)
		assert_int_equal(seen.call[i].correlation_id, seen.call[0].correlation_id);

	assert_int_equal(launch(NULL, 1000), 0);
	assert_int_not_equal(seen.call[4].correlation_id, seen.call[0].correlation_id);
	assert_int_equal(cupti.cuptiEnableCallback(0, subscriber, CUPTI_ABI_DOMAIN_RUNTIME_API,
						   FAKE_RT_cudaLaunchKernel),
			 0);
	assert_int_equal(launch(NULL, 1000), 0);
	assert_int_equal(seen.calls, 10);
	assert_int_equal(cupti.cuptiUnsubscribe(subscriber), 0);
	assert_int_equal(launch(NULL, 1000), 0);
	assert_int_equal(seen.calls, 10);
}

static void a_failed_launch_has_callbacks_and_no_record(void)
{
	dim3 one = {1, 1, 1}, none = {0, 1, 1};

	subscribe();
	enable_kernels();
	enable(CUPTI_ABI_DOMAIN_RUNTIME_API, FAKE_RT_cudaLaunchKernel);
	assert_int_equal(launch(NULL, 1), 0);
	assert_int_equal(
		rt.cudaLaunchKernel((const void *)(uintptr_t)kernel_stub, none, one, NULL, 0, NULL),
		cudaErrorInvalidValue);
	assert_int_equal(
		rt.cudaLaunchKernel((const void *)(uintptr_t)load_all, one, one, NULL, 0, NULL),
		cudaErrorInvalidResourceHandle);
	assert_int_equal(rt.cudaGetLastError(), cudaErrorInvalidResourceHandle);
	assert_int_equal(rt.cudaGetLastError(), cudaSuccess);
	assert_int_equal(seen.calls, 6);
	assert_int_equal(cupti.cuptiActivityFlushAll(CUPTI_ABI_FLUSH_FORCED), 0);
	assert_int_equal(seen.records, 1);
}

static void one_subscriber(void)
{
	cupti_abi_subscriber second;

	subscribe();
	assert_int_equal(cupti.cuptiSubscribe(&second, on_callback, NULL),
			 CUPTI_ABI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
	assert_int_equal(cupti.cuptiUnsubscribe(subscriber), 0);
	assert_int_equal(cupti.cuptiUnsubscribe(subscriber), CUPTI_ABI_ERROR_INVALID_PARAMETER);
	subscribe();
}

static void a_subscriber_may_have_a_name(void)
{
	char before[64] = "nobody";
	struct cupti_abi_subscriber_params params = {.struct_size = sizeof(params),
						     .subscriber_name = "first",
						     .old_subscriber_name = before,
						     .old_subscriber_size = sizeof(before)};
	cupti_abi_subscriber first, second;

	assert_int_equal(cupti.cuptiSubscribe_v2(&first, on_callback, NULL, &params), 0);
	assert_string_equal(before, "nobody");
	params.subscriber_name = "second";
	assert_int_equal(cupti.cuptiSubscribe_v2(&second, on_callback, NULL, &params),
			 CUPTI_ABI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
	assert_string_equal(before, "CUPTI for first");
	assert_int_equal(cupti.cuptiUnsubscribe(first), 0);
	params.struct_size--;
	assert_int_equal(cupti.cuptiSubscribe_v2(&second, on_callback, NULL, &params),
			 CUPTI_ABI_ERROR_INVALID_PARAMETER);
	assert_int_equal(cupti.cuptiSubscribe_v2(&second, on_callback, NULL, NULL), 0);
	assert_int_equal(cupti.cuptiUnsubscribe(second), 0);
}

static void subscribe_fails_on_demand(void)
{
	setenv("FAKE_CUDA_SUBSCRIBE_ERROR", "39", 1);
	assert_int_equal(cupti.cuptiSubscribe(&subscriber, on_callback, NULL), 39);
	setenv("FAKE_CUDA_SUBSCRIBE_ERROR", "999", 1);
	assert_int_equal(cupti.cuptiSubscribe(&subscriber, on_callback, NULL), 999);
}

static void bad_arguments_are_errors(void)
{
	const uint32_t kernel = CUPTI_ABI_ACTIVITY_KIND_CONCURRENT_KERNEL;
	struct cupti_abi_activity *record = NULL;
	size_t size = 4, value = 1;
	uint8_t junk[RECORD_SIZE] __attribute__((aligned(8))) = {77};

	assert_int_equal(cupti.cuptiSubscribe(NULL, on_callback, NULL), 1);
	assert_int_equal(cupti.cuptiGetVersion(NULL), 1);
	assert_int_equal(cupti.cuptiGetTimestamp(NULL), 1);
	assert_int_equal(cupti.cuptiActivityFlushAll(0), 0); /* no buffer callbacks yet */
	assert_int_equal(cupti.cuptiActivityRegisterCallbacks(NULL, on_completed), 1);
	assert_int_equal(cupti.cuptiActivityEnable(0), CUPTI_ABI_ERROR_INVALID_KIND);
	assert_int_equal(cupti.cuptiActivityEnable(12345), CUPTI_ABI_ERROR_INVALID_KIND);
	assert_int_equal(cupti.cuptiActivityEnable(kernel), 0);
	assert_int_equal(cupti.cuptiActivityEnable(CUPTI_ABI_ACTIVITY_KIND_KERNEL), 14);
	assert_int_equal(cupti.cuptiActivityGetNumDroppedRecords(NULL, 0, NULL), 1);
	assert_int_equal(cupti.cuptiActivitySetAttribute(0, &size, &value), 10);
	assert_int_equal(cupti.cuptiActivitySetAttribute(9999, &size, &value), 1);
	assert_int_equal(cupti.cuptiActivitySetAttribute(0, NULL, &value), 1);
	size = sizeof(value);
	assert_int_equal(cupti.cuptiActivitySetAttribute(0, &size, &value), 0);
	assert_int_equal(cupti.cuptiActivityGetNextRecord(NULL, 10, &record), 1);
	assert_int_equal(cupti.cuptiActivityGetNextRecord(junk, 0, &record), 12);
	assert_int_equal(cupti.cuptiActivityGetNextRecord(junk, sizeof(junk), &record), 21);
	subscribe();
	assert_int_equal(cupti.cuptiEnableCallback(1, NULL, 2, 211), 1);
	assert_int_equal(cupti.cuptiEnableCallback(1, subscriber, 99, 211), 1);
	assert_int_equal(cupti.cuptiEnableCallback(1, subscriber, 2, 99999), 1);
}

static void records_describe_the_work(void)
{
	cudaStream_t stream;
	uint64_t before, after;

	subscribe();
	enable_kernels();
	stream = new_stream();
	assert_int_equal(cupti.cuptiGetTimestamp(&before), 0);
	assert_int_equal(launch(stream, 1000000), 0);
	assert_int_equal(launch(stream, 2000000), 0);
	assert_int_equal(rt.cudaStreamSynchronize(stream), 0);
	assert_int_equal(cupti.cuptiGetTimestamp(&after), 0);
	assert_int_equal(seen.records, 0);
	assert_int_equal(cupti.cuptiActivityFlushAll(0), 0);
	assert_int_equal(seen.records, 2);
	assert_true(pthread_equal(seen.requested_on, pthread_self()));
	assert_false(pthread_equal(seen.completed_on, pthread_self()));
	assert_string_equal(seen.record[0].name, "_Z6kernelv");
	assert_int_equal(seen.record[0].end - seen.record[0].start, 1000000);
	assert_int_equal(seen.record[1].end - seen.record[1].start, 2000000);
	assert_true(seen.record[0].start >= before);
	assert_true(seen.record[1].start >= seen.record[0].end);
	assert_true(seen.record[1].end <= after);
	/* CUPTI's clock is not ours. */
	assert_true(before > now_ns() + 1000000000000u);

	assert_int_equal(cupti.cuptiActivityDisable(CUPTI_ABI_ACTIVITY_KIND_CONCURRENT_KERNEL), 0);
	assert_int_equal(launch(stream, 1), 0);
	assert_int_equal(cupti.cuptiActivityFlushAll(CUPTI_ABI_FLUSH_FORCED), 0);
	assert_int_equal(seen.records, 2);
}

static void a_flush_holds_back_incomplete_work(void)
{
	cudaStream_t stream;

	enable_kernels();
	stream = new_stream();
	assert_int_equal(launch(stream, LONG_NS), 0);
	assert_int_equal(cupti.cuptiActivityFlushAll(0), 0);
	assert_int_equal(seen.buffers_completed, 0);
	assert_int_equal(cupti.cuptiActivityFlushAll(CUPTI_ABI_FLUSH_FORCED), 0);
	assert_int_equal(seen.records, 1);
	assert_int_equal(seen.record[0].start, 0);
	assert_int_equal(seen.record[0].end, 0);

	assert_int_equal(launch(stream, LONG_NS), 0);
	assert_int_equal(rt.cudaStreamSynchronize(stream), 0);
	assert_int_equal(cupti.cuptiActivityFlushAll(0), 0);
	assert_int_equal(seen.records, 2);
	assert_int_equal(seen.record[1].end - seen.record[1].start, LONG_NS);
}

static void full_buffers_are_returned_automatically(void)
{
	seen.buffer_size = 10 * RECORD_SIZE + 8;
	enable_kernels();
	for (int i = 0; i < 1000; i++)
		assert_int_equal(launch(NULL, 100), 0);
	assert_int_equal(rt.cudaDeviceSynchronize(), 0);
	assert_int_equal(seen.buffers_requested, 100);
	assert_int_equal(cupti.cuptiActivityFlushAll(0), 0);
	assert_int_equal(seen.records, 1000);
	assert_int_equal(dropped(), 0);
}

static void refused_buffers_are_counted_drops(void)
{
	seen.buffer_size = 0;
	enable_kernels();
	for (int i = 0; i < 5; i++)
		assert_int_equal(launch(NULL, 100), 0);
	assert_int_equal(dropped(), 5);
	assert_int_equal(dropped(), 0);
	seen.buffer_size = RECORD_SIZE - 1;
	assert_int_equal(launch(NULL, 100), 0);
	assert_int_equal(dropped(), 1);
	seen.buffer_size = 1 << 20;
	seen.misalign = 4;
	assert_int_equal(launch(NULL, 100), 0);
	assert_int_equal(dropped(), 1);
	seen.misalign = 0;
	assert_int_equal(launch(NULL, 100), 0);
	assert_int_equal(dropped(), 0);
}

/* A device's record, then its context's, before all work there; none is lost on demand. */
static void devices_and_contexts_have_records(void)
{
	setenv("FAKE_CUDA_DEVICES", "2", 1);
	setenv("FAKE_CUDA_MIG", "3/1", 1);
	setenv("FAKE_CUDA_DROP_EVERY", "1", 1);
	enable_work(CUPTI_ABI_ACTIVITY_KIND_DEVICE);
	enable_work(CUPTI_ABI_ACTIVITY_KIND_CONTEXT);
	for (int device = 0; device < 2; device++) {
		assert_int_equal(rt.cudaSetDevice(device), 0);
		assert_int_equal(launch(NULL, 100), 0);
	}
	flush();
	assert_int_equal(seen.works, 4);
	for (unsigned int i = 0; i < 2; i++) {
		const struct cupti_abi_device *d = &seen.work[2 * i].device;
		const struct cupti_abi_context *c = &seen.work[2 * i + 1].context;

		assert_int_equal(d->kind, CUPTI_ABI_ACTIVITY_KIND_DEVICE);
		assert_int_equal(d->id, i);
		assert_string_equal(d->name, "Fake GPU");
		assert_int_equal(d->threads_per_warp, 32);
		assert_int_equal(d->is_cuda_visible, 1);
		assert_int_equal(d->is_mig_enabled, i == 0);
		assert_int_equal(d->gpu_instance_id, i == 0 ? 3 : UINT32_MAX);
		assert_int_equal(d->compute_instance_id, i == 0 ? 1 : UINT32_MAX);
		assert_int_equal(c->kind, CUPTI_ABI_ACTIVITY_KIND_CONTEXT);
		assert_int_equal(c->device_id, i);
		assert_int_equal(c->context_id, i + 1);
		assert_int_equal(c->compute_api, CUPTI_ABI_COMPUTE_API_CUDA);
	}
	assert_int_equal(dropped(), 0);
}

static void records_of_devices_can_be_late_or_refused(void)
{
	setenv("FAKE_CUDA_DEVICE_RECORDS", "refused", 1);
	assert_int_equal(cupti.cuptiActivityEnable(CUPTI_ABI_ACTIVITY_KIND_DEVICE), 14);
	setenv("FAKE_CUDA_DEVICE_RECORDS", "late", 1);
	setenv("FAKE_CUDA_MPS", "1", 1);
	enable_kernels();
	enable_work(CUPTI_ABI_ACTIVITY_KIND_CONTEXT);
	assert_int_equal(launch(NULL, 100), 0);
	flush();
	assert_int_equal(seen.records, 1);
	assert_int_equal(seen.works, 0);
	assert_int_equal(cupti.cuptiActivityFlushAll(CUPTI_ABI_FLUSH_FORCED), 0);
	assert_int_equal(seen.works, 1);
	assert_int_equal(seen.work[0].context.compute_api, CUPTI_ABI_COMPUTE_API_CUDA_MPS);
}

static void records_out_of_time_on_demand(void)
{
	const uint64_t far = 90000000000; /* 90 s */
	uint64_t now;

	setenv("FAKE_CUDA_EARLY_EVERY", "3", 1);
	setenv("FAKE_CUDA_LATE_EVERY", "4", 1);
	setenv("FAKE_CUDA_LOSE_EVERY", "5", 1);
	enable_kernels();
	for (int i = 0; i < 5; i++)
		assert_int_equal(launch(NULL, 100), 0);
	flush();
	assert_int_equal(cupti.cuptiGetTimestamp(&now), 0);
	assert_int_equal(seen.records, 4);
	assert_int_equal(dropped(), 0);
	for (int i = 0; i < 4; i++) {
		assert_int_equal(seen.record[i].end - seen.record[i].start, 100);
		assert_int_equal(seen.record[i].start + far < now, i == 2);
		assert_int_equal(seen.record[i].start > now + far, i == 3);
	}
}

static void losses_on_demand(void)
{
	unsigned int zeros = 0;

	setenv("FAKE_CUDA_DROP_EVERY", "10", 1);
	setenv("FAKE_CUDA_ZERO_TIMESTAMP_EVERY", "7", 1);
	enable_kernels();
	for (int i = 0; i < 100; i++)
		assert_int_equal(launch(NULL, 100), 0);
	assert_int_equal(rt.cudaDeviceSynchronize(), 0);
	assert_int_equal(cupti.cuptiActivityFlushAll(0), 0);
	assert_int_equal(seen.records, 90);
	assert_int_equal(dropped(), 10);
	for (unsigned int i = 0; i < seen.records; i++)
		zeros += seen.record[i].start == 0;
	assert_int_equal(zeros, 13); /* 14 multiples of 7, of which 70 was dropped */
}

static void a_graph_launch_shares_one_correlation_id(void)
{
	cudaStream_t stream;
	cudaGraphExec_t exec;
	cudaGraph_t graph;

	subscribe();
	enable_kernels();
	enable(CUPTI_ABI_DOMAIN_RUNTIME_API, FAKE_RT_cudaGraphLaunch);
	stream = new_stream();
	assert_int_equal(rt.cudaStreamBeginCapture(NULL, cudaStreamCaptureModeGlobal), 900);
	assert_int_equal(rt.cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), 0);
	for (int i = 0; i < 3; i++)
		assert_int_equal(launch(stream, 1000), 0);
	assert_int_equal(rt.cudaStreamSynchronize(stream), 900);
	assert_int_equal(rt.cudaDeviceSynchronize(), 900);
	assert_int_equal(rt.cudaStreamEndCapture(stream, &graph), 0);
	assert_int_equal(rt.cudaGraphInstantiate(&exec, graph, 0), 0);
	assert_int_equal(rt.cudaGraphLaunch(exec, stream), 0);
	assert_int_equal(rt.cudaStreamSynchronize(stream), 0);
	assert_int_equal(cupti.cuptiActivityFlushAll(0), 0);
	assert_int_equal(seen.records, 3); /* the captured launches ran nothing */
	for (unsigned int i = 0; i < 3; i++) {
		assert_int_equal(seen.record[i].correlation_id, seen.call[0].correlation_id);
		assert_int_equal(seen.record[i].graph_id, seen.record[0].graph_id);
		assert_int_not_equal(seen.record[i].graph_id, 0);
		assert_int_not_equal(seen.record[i].graph_node_id, 0);
	}
	assert_int_not_equal(seen.record[0].graph_node_id, seen.record[1].graph_node_id);
}

static void contexts_and_modules_are_announced(void)
{
	subscribe();
	enable(CUPTI_ABI_DOMAIN_RESOURCE, CUPTI_ABI_RESOURCE_CONTEXT_CREATED);
	enable(CUPTI_ABI_DOMAIN_RESOURCE, CUPTI_ABI_RESOURCE_CONTEXT_DESTROY_STARTING);
	enable(CUPTI_ABI_DOMAIN_RESOURCE, CUPTI_ABI_RESOURCE_MODULE_LOADED);
	assert_int_equal(launch(NULL, 1000), 0);
	assert_int_equal(seen.resources[CUPTI_ABI_RESOURCE_CONTEXT_CREATED], 1);
	assert_int_equal(seen.resources[CUPTI_ABI_RESOURCE_MODULE_LOADED], 1);
	assert_int_equal(rt.cudaDeviceReset(), 0);
	assert_int_equal(seen.resources[CUPTI_ABI_RESOURCE_CONTEXT_DESTROY_STARTING], 1);
	assert_int_equal(launch(NULL, 1000), 0);
	assert_int_equal(seen.resources[CUPTI_ABI_RESOURCE_CONTEXT_CREATED], 2);
	assert_int_equal(seen.resources[CUPTI_ABI_RESOURCE_MODULE_LOADED], 2);
}

static void streams_run_beside_each_other_and_waits_are_real(void)
{
	cudaStream_t a, b;
	uint64_t start, took;

	a = new_stream();
	b = new_stream();
	start = now_ns();
	assert_int_equal(launch(a, LONG_NS), 0);
	assert_int_equal(launch(b, LONG_NS), 0);
	took = now_ns() - start;
	assert_true(took < LONG_NS);
	assert_int_equal(rt.cudaDeviceSynchronize(), 0);
	took = now_ns() - start;
	assert_true(took >= LONG_NS);
	assert_true(took < UINT64_C(2) * LONG_NS);

	/* 1024 kernels wait on a stream at most: the next launch blocks until one has ended. */
	start = now_ns();
	for (int i = 0; i < 1024; i++)
		assert_int_equal(launch(a, LONG_NS), 0);
	assert_true(now_ns() - start < LONG_NS);
	assert_int_equal(launch(a, LONG_NS), 0);
	assert_true(now_ns() - start >= LONG_NS);
	assert_int_equal(rt.cudaStreamDestroy(b), 0);
	assert_int_equal(launch(b, 1), cudaErrorInvalidResourceHandle);
}

static struct {
	unsigned int count;
	enum fake_cuda_activity_type type[4];
	uint64_t start[4], end[4];
	char name[4][32];
} told;

static void keep_work(const struct fake_cuda_activity *work)
{
	assert_true(told.count < 4);
	told.type[told.count] = work->type;
	told.start[told.count] = work->start;
	told.end[told.count] = work->end;
	if (work->type == FAKE_CUDA_KERNEL)
		snprintf(told.name[told.count], sizeof(told.name[0]), "%s", work->name);
	told.count++;
}

static void a_program_can_follow_its_work(void)
{
	void (*follow)(void (*)(const struct fake_cuda_activity *));
	void *memory = device_memory(100);
	uint64_t before = now_ns();

	*(void **)&follow = dlsym(libcuda, "fake_cuda_follow_work");
	assert_non_null(follow);
	follow(keep_work);
	assert_int_equal(launch(NULL, 5000), 0);
	assert_int_equal(rt.cudaMemset(memory, 1, 100), 0);
	follow(NULL);
	assert_int_equal(launch(NULL, 5000), 0);
	assert_int_equal(told.count, 2);
	assert_int_equal(told.type[0], FAKE_CUDA_KERNEL);
	assert_string_equal(told.name[0], "_Z6kernelv");
	assert_true(told.start[0] >= before);
	assert_int_equal(told.end[0] - told.start[0], 5000);
	assert_int_equal(told.type[1], FAKE_CUDA_SET);
	assert_true(told.start[1] >= told.end[0]);
}

static void a_stream_waits_for_an_event_of_another(void)
{
	void (*follow)(void (*)(const struct fake_cuda_activity *));
	cudaStream_t a = new_stream(), b = new_stream();
	cudaEvent_t event, never;

	*(void **)&follow = dlsym(libcuda, "fake_cuda_follow_work");
	assert_non_null(follow);
	follow(keep_work);
	assert_int_equal(rt.cudaEventCreate(&event), 0);
	assert_int_equal(rt.cudaEventCreate(&never), 0);
	assert_int_equal(launch(a, 50000000), 0);
	assert_int_equal(rt.cudaEventRecord(event, a), 0);
	assert_int_equal(rt.cudaStreamWaitEvent(b, never, 0), 0);
	assert_int_equal(launch(b, 1000), 0);
	assert_int_equal(rt.cudaStreamWaitEvent(b, event, 0), 0);
	assert_int_equal(launch(b, 1000), 0);
	assert_int_equal(told.count, 3);
	assert_true(told.start[2] >= told.end[0]);
	assert_int_equal(rt.cudaStreamWaitEvent(b, event, 1), cudaErrorInvalidValue);
	assert_int_equal(rt.cudaStreamWaitEvent(b, NULL, 0), cudaErrorInvalidResourceHandle);
	assert_int_equal(rt.cudaEventDestroy(event), 0);
	assert_int_equal(rt.cudaEventDestroy(never), 0);
}

static void a_forked_child_cannot_use_cuda(void)
{
	uint64_t time;
	void *memory;
	int status;
	pid_t pid;

	enable_kernels();
	assert_int_equal(launch(NULL, 1000), 0);
	pid = fork();
	if (pid == 0) {
		if (launch(NULL, 1000) != 3 || rt.cudaMalloc(&memory, 8) != 3 ||
		    rt.cudaDeviceSynchronize() != 3)
			_exit(1);
		if (cupti.cuptiGetTimestamp(&time))
			_exit(2);
		alarm(1);
		cupti.cuptiActivityFlushAll(1); /* never returns */
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM);
	assert_int_equal(rt.cudaDeviceSynchronize(), 0);
	assert_int_equal(cupti.cuptiActivityFlushAll(0), 0);
	assert_int_equal(seen.records, 1);
}

static void the_driver_refuses_all_before_init(void)
{
	__typeof__(&cuCtxSynchronize) synchronize;
	__typeof__(&cuInit) init;

	*(void **)&synchronize = dlsym(libcuda, "cuCtxSynchronize");
	*(void **)&init = dlsym(libcuda, "cuInit");
	assert_int_equal(synchronize(), 3);
	assert_int_equal(init(1), 1);
	setenv("CUDA_INJECTION64_PATH", "/nonexistent/library.so", 1);
	assert_int_equal(init(0), 0);
	assert_int_equal(init(0), 0);
	assert_int_equal(synchronize(), 201); /* no current context */
}

static void entry_points_begin_with_push_rbp(void)
{
	static const char *const runtime[] = {"cudaLaunchKernel",    "cudaLaunchKernel_ptsz",
					      "cudaLaunchKernelExC", "cudaLaunchCooperativeKernel",
					      "cudaGraphLaunch",     "cudaMemcpyAsync",
					      "cudaMemset",          "cudaMalloc"};
	static const char *const driver[] = {"cuLaunchKernel", "cuLaunchKernelEx",
					     "cuMemcpyHtoD_v2", "cuMemsetD8Async"};

	for (size_t i = 0; i < sizeof(runtime) / sizeof(runtime[0]); i++)
		assert_int_equal(*(const uint8_t *)dlsym(libcudart, runtime[i]), 0x55);
	for (size_t i = 0; i < sizeof(driver) / sizeof(driver[0]); i++)
		assert_int_equal(*(const uint8_t *)dlsym(libcuda, driver[i]), 0x55);
}

static void the_injection_library_sees_the_first_launch(void)
{
	char path[4096], out[] = "/tmp/test_fake_cuda.XXXXXX", line[256];
	int fd = mkstemp(out);
	unsigned int n = 0;
	pid_t pid;
	FILE *f;

	assert_true(fd >= 0);
	close(fd);
	snprintf(path, sizeof(path), "%s/libprinter.so", getenv("FAKE_CUDA_DIR"));
	setenv("CUDA_INJECTION64_PATH", path, 1);
	setenv("PRINTER_OUT", out, 1);
	pid = fork();
	if (pid == 0) {
		for (int i = 0; i < 3; i++)
			launch(NULL, 1000);
		exit(rt.cudaDeviceSynchronize());
	}
	waitpid(pid, NULL, 0);
	f = fopen(out, "r");
	assert_non_null(f);
	while (fgets(line, sizeof(line), f))
		n += strstr(line, " kernel _Z6kernelv ") || strstr(line, " launches 3\n");
	fclose(f);
	unlink(out);
	assert_int_equal(n, 4);
}

static void copies_nest_and_have_records(void)
{
	const uint32_t runtime_cbid = 41, driver_cbid = 277; /* cudaMemcpyAsync, HtoDAsync_v2 */
	static char host[30000];
	const struct cupti_abi_memcpy *c = &seen.work[0].copy;
	cudaStream_t stream;
	void *device;

	subscribe();
	enable_work(CUPTI_ABI_ACTIVITY_KIND_MEMCPY);
	enable(CUPTI_ABI_DOMAIN_RUNTIME_API, runtime_cbid);
	enable(CUPTI_ABI_DOMAIN_DRIVER_API, driver_cbid);
	device = device_memory(sizeof(host));
	stream = new_stream();
	assert_int_equal(
		rt.cudaMemcpyAsync(device, host, sizeof(host), cudaMemcpyHostToDevice, stream), 0);
	assert_int_equal(seen.calls, 4);
	assert_int_equal(seen.call[0].cbid, runtime_cbid);
	assert_string_equal(seen.call[0].function, "cudaMemcpyAsync");
	assert_int_equal(seen.call[1].cbid, driver_cbid);
	assert_int_equal(seen.call[1].domain, CUPTI_ABI_DOMAIN_DRIVER_API);
	assert_string_equal(seen.call[1].function, "cuMemcpyHtoDAsync_v2");
	assert_int_equal(seen.call[1].correlation_id, seen.call[0].correlation_id);
	assert_int_equal(seen.call[2].site, CUPTI_ABI_API_EXIT);
	assert_int_equal(seen.call[3].cbid, runtime_cbid);
	flush();
	assert_int_equal(seen.works, 1);
	assert_int_equal(c->kind, CUPTI_ABI_ACTIVITY_KIND_MEMCPY);
	assert_int_equal(c->copy_kind, CUPTI_ABI_MEMCPY_HTOD);
	assert_int_equal(c->source_kind, CUPTI_ABI_MEMORY_PAGEABLE);
	assert_int_equal(c->destination_kind, CUPTI_ABI_MEMORY_DEVICE);
	assert_int_equal(c->flags, 1);
	assert_int_equal(c->bytes, sizeof(host));
	assert_int_equal(c->end - c->start, 2000 + 3000);
	assert_int_equal(c->correlation_id, seen.call[0].correlation_id);
	assert_int_equal(c->context_id, 1);
	assert_true(c->stream_id >= 13);
	assert_int_equal(c->graph_node_id, 0);
}

static void copies_of_each_kind(void)
{
	static const uint8_t kinds[] = {CUPTI_ABI_MEMCPY_HTOD, CUPTI_ABI_MEMCPY_DTOD,
					CUPTI_ABI_MEMCPY_DTOH, CUPTI_ABI_MEMCPY_HTOH,
					CUPTI_ABI_MEMCPY_DTOH};
	char host[100] = "these bytes", back[100] = "", *pinned;
	char *a, *b;

	enable_work(CUPTI_ABI_ACTIVITY_KIND_MEMCPY);
	a = device_memory(100);
	b = device_memory(100);
	assert_int_equal(rt.cudaMallocHost((void **)&pinned, 100), 0);
	assert_int_equal(rt.cudaMemcpy(a, host, 100, cudaMemcpyHostToDevice), 0);
	assert_int_equal(rt.cudaMemcpy(b, a, 100, cudaMemcpyDeviceToDevice), 0);
	assert_int_equal(rt.cudaMemcpy(pinned, b, 100, cudaMemcpyDeviceToHost), 0);
	assert_int_equal(rt.cudaMemcpy(back, pinned, 100, cudaMemcpyHostToHost), 0);
	assert_int_equal(rt.cudaMemcpy_ptds(back, b, 100, cudaMemcpyDefault), 0);
	assert_int_equal(rt.cudaMemcpy(back, b, 0, cudaMemcpyDefault), 0); /* no work */
	assert_string_equal(back, "these bytes");
	flush();
	assert_int_equal(seen.works, 5);
	for (unsigned int i = 0; i < 5; i++) {
		assert_int_equal(seen.work[i].copy.copy_kind, kinds[i]);
		assert_int_equal(seen.work[i].copy.flags, 0);
	}
	assert_int_equal(seen.work[2].copy.destination_kind, CUPTI_ABI_MEMORY_PINNED);
	assert_int_equal(seen.work[3].copy.source_kind, CUPTI_ABI_MEMORY_PINNED);
	assert_int_equal(seen.work[3].copy.stream_id, 7);
	assert_int_not_equal(seen.work[4].copy.stream_id, 7);
}

static void rectangles_and_sets_move_their_bytes(void)
{
	char from[4][8] = {"abcdefg", "hijklmn", "opqrstu", "vwxyz"}, to[4][4], *device;

	enable_work(CUPTI_ABI_ACTIVITY_KIND_MEMCPY);
	enable_work(CUPTI_ABI_ACTIVITY_KIND_MEMSET);
	device = device_memory(64);
	assert_int_equal(rt.cudaMemset(device, 'x', 64), 0);
	assert_int_equal(rt.cudaMemcpy2D(device, 16, from, 8, 3, 4, cudaMemcpyHostToDevice), 0);
	assert_int_equal(
		rt.cudaMemcpy2DAsync(to, 4, device, 16, 4, 4, cudaMemcpyDeviceToHost, NULL), 0);
	assert_memory_equal(to, "abcxhijxopqxvwxx", 16);
	assert_int_equal(rt.cudaMemcpy2D(device, 2, from, 8, 3, 4, cudaMemcpyHostToDevice),
			 cudaErrorInvalidPitchValue);
	flush();
	assert_int_equal(seen.works, 3);
	assert_int_equal(seen.work[0].set.kind, CUPTI_ABI_ACTIVITY_KIND_MEMSET);
	assert_int_equal(seen.work[0].set.value, 'x');
	assert_int_equal(seen.work[0].set.bytes, 64);
	assert_int_equal(seen.work[0].set.memory_kind, CUPTI_ABI_MEMORY_DEVICE);
	assert_int_equal(seen.work[0].set.flags, 0);
	assert_int_equal(seen.work[1].copy.bytes, 12);
	assert_int_equal(seen.work[2].copy.bytes, 16);
}

static void only_some_copies_wait(void)
{
	char host[8], *device, *pinned;
	cudaStream_t stream;
	uint64_t start;

	setenv("FAKE_CUDA_COPY_NS", "2000000000", 1); /* LONG_NS */
	device = device_memory(16);
	assert_int_equal(rt.cudaMallocHost((void **)&pinned, 8), 0);
	stream = new_stream();
	start = now_ns();
	assert_int_equal(rt.cudaMemset(device, 0, 8), 0);
	assert_int_equal(rt.cudaMemcpy(device, device + 8, 8, cudaMemcpyDeviceToDevice), 0);
	assert_int_equal(rt.cudaMemcpyAsync(device, host, 8, cudaMemcpyHostToDevice, stream), 0);
	assert_int_equal(rt.cudaMemcpyAsync(pinned, device, 8, cudaMemcpyDeviceToHost, stream), 0);
	assert_true(now_ns() - start < LONG_NS);
	/* Copies after the two operations on the stream. */
	assert_int_equal(rt.cudaMemcpyAsync(host, device, 8, cudaMemcpyDeviceToHost, stream), 0);
	assert_true(now_ns() - start >= UINT64_C(3) * LONG_NS);
	start = now_ns();
	assert_int_equal(rt.cudaMemcpy(device, pinned, 8, cudaMemcpyHostToDevice), 0);
	assert_true(now_ns() - start >= LONG_NS);
}

static void wrong_addresses_are_refused(void)
{
	char host[100], *device, *other;

	enable_work(CUPTI_ABI_ACTIVITY_KIND_MEMCPY);
	device = device_memory(100);
	assert_int_equal(rt.cudaMemcpy(host, host, 1, cudaMemcpyHostToDevice), 1);
	assert_int_equal(rt.cudaMemcpy(device, device, 1, cudaMemcpyDeviceToHost), 1);
	assert_int_equal(rt.cudaMemcpy(device, NULL, 1, cudaMemcpyHostToDevice), 1);
	assert_int_equal(rt.cudaMemcpy(device + 1, host, 100, cudaMemcpyHostToDevice), 1);
	assert_int_equal(rt.cudaMemcpy(device, host, 1, (enum cudaMemcpyKind)9), 21);
	assert_int_equal(rt.cudaMemset(host, 0, 1), 1);
	assert_int_equal(rt.cudaFree(host), 1);
	assert_int_equal(rt.cudaFree(NULL), 0);
	assert_int_equal(rt.cudaFreeHost(device), 1);
	assert_int_equal(rt.cudaFree(device), 0);
	assert_int_equal(rt.cudaFree(device), 1);
	other = device_memory(10);
	assert_int_equal(rt.cudaDeviceReset(), 0);
	assert_int_equal(rt.cudaMemset(other, 0, 1), 1);
	flush();
	assert_int_equal(seen.works, 0);
}

static void allocations_are_instants(void)
{
	const struct cupti_abi_memory *m = &seen.work[0].memory;
	uint64_t before, after;
	cudaStream_t stream;
	void *a, *b, *c;

	subscribe();
	enable_work(CUPTI_ABI_ACTIVITY_KIND_MEMORY2);
	enable(CUPTI_ABI_DOMAIN_RUNTIME_API, 20); /* cudaMalloc */
	stream = new_stream();
	assert_int_equal(cupti.cuptiGetTimestamp(&before), 0);
	a = device_memory(100);
	assert_int_equal(rt.cudaMallocAsync(&b, 200, stream), 0);
	assert_int_equal(rt.cudaMallocHost(&c, 300), 0);
	assert_int_equal(rt.cudaFreeAsync(b, stream), 0);
	assert_int_equal(rt.cudaFree(a), 0);
	assert_int_equal(cupti.cuptiGetTimestamp(&after), 0);
	flush();
	assert_int_equal(seen.works, 5);
	assert_int_equal(m->operation, CUPTI_ABI_MEMORY_ALLOCATION);
	assert_int_equal(m->memory_kind, CUPTI_ABI_MEMORY_DEVICE);
	assert_int_equal(m->correlation_id, seen.call[0].correlation_id);
	assert_int_equal(m->address, (uintptr_t)a);
	assert_int_equal(m->bytes, 100);
	assert_in_range(m->timestamp, before, after);
	assert_int_equal(m->process_id, getpid());
	assert_int_equal(m->context_id, 1);
	assert_int_equal(m->stream_id, UINT32_MAX);
	m = &seen.work[1].memory;
	assert_int_equal(m->bytes, 200);
	assert_true(m->stream_id >= 13 && m->stream_id < 100);
	assert_int_equal(seen.work[2].memory.memory_kind, CUPTI_ABI_MEMORY_PINNED);
	m = &seen.work[4].memory;
	assert_int_equal(m->operation, CUPTI_ABI_MEMORY_RELEASE);
	assert_int_equal(m->address, (uintptr_t)a);
	assert_int_equal(m->bytes, 100);
}

static void each_kind_is_enabled_by_itself(void)
{
	char host[8] = "", *device;

	enable_kernels();
	device = device_memory(8);
	assert_int_equal(rt.cudaMemcpy(device, host, 8, cudaMemcpyHostToDevice), 0);
	assert_int_equal(rt.cudaMemset(device, 1, 8), 0);
	assert_int_equal(launch(NULL, 1000), 0);
	flush();
	assert_int_equal(seen.records, 1);
	assert_int_equal(seen.works, 0);
	assert_int_equal(cupti.cuptiActivityEnable(CUPTI_ABI_ACTIVITY_KIND_MEMSET), 0);
	assert_int_equal(cupti.cuptiActivityDisable(CUPTI_ABI_ACTIVITY_KIND_CONCURRENT_KERNEL), 0);
	assert_int_equal(rt.cudaMemcpy(device, host, 8, cudaMemcpyHostToDevice), 0);
	assert_int_equal(rt.cudaMemset(device, 1, 8), 0);
	assert_int_equal(launch(NULL, 1000), 0);
	flush();
	assert_int_equal(seen.records, 1);
	assert_int_equal(seen.works, 1);
	assert_int_equal(cupti.cuptiActivityDisable(CUPTI_ABI_ACTIVITY_KIND_MEMSET), 0);
	assert_int_equal(rt.cudaMemset(device, 1, 8), 0);
	flush();
	assert_int_equal(seen.works, 1);
	assert_int_equal(cupti.cuptiActivityEnable(CUPTI_ABI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER),
			 CUPTI_ABI_ERROR_INVALID_KIND);
}

static void devices_have_separate_ids(void)
{
	const struct cupti_abi_memcpy_peer *p = &seen.work[1].peer;
	cudaStream_t stream;
	char *a, *b;
	int can = 0;

	setenv("FAKE_CUDA_DEVICES", "2", 1);
	enable_work(CUPTI_ABI_ACTIVITY_KIND_MEMCPY);
	enable_work(CUPTI_ABI_ACTIVITY_KIND_MEMCPY2);
	enable_work(CUPTI_ABI_ACTIVITY_KIND_MEMSET);
	a = device_memory(100);
	stream = new_stream();
	assert_int_equal(rt.cudaSetDevice(1), 0);
	b = device_memory(100);
	assert_int_equal(rt.cudaMemset(b, 'b', 100), 0);
	assert_int_equal(rt.cudaDeviceCanAccessPeer(&can, 1, 0), 0);
	assert_int_equal(can, 1);
	assert_int_equal(rt.cudaDeviceCanAccessPeer(&can, 1, 2), 101);
	assert_int_equal(rt.cudaDeviceEnablePeerAccess(1, 0), 101);
	assert_int_equal(rt.cudaDeviceEnablePeerAccess(0, 0), 0);
	assert_int_equal(rt.cudaDeviceEnablePeerAccess(0, 0), 704);
	assert_int_equal(rt.cudaMemcpyPeer(a, 0, b, 1, 100), 0);
	assert_int_equal(launch(stream, 1000), cudaErrorInvalidResourceHandle);
	assert_int_equal(rt.cudaSetDevice(0), 0);
	assert_int_equal(rt.cudaMemcpyPeerAsync(a, 0, a + 50, 0, 50, stream), 0);
	assert_int_equal(rt.cudaMemcpyAsync(b, a, 100, cudaMemcpyDefault, stream), 0);
	assert_int_equal(rt.cudaMemcpyPeer(a, 0, b, 2, 100), 101);
	flush();
	assert_int_equal(rt.cudaSetDevice(1), 0);
	flush();
	assert_int_equal(seen.works, 4);
	assert_int_equal(seen.work[0].set.device_id, 1);
	assert_int_equal(seen.work[0].set.context_id, 2);
	assert_int_equal(p->kind, CUPTI_ABI_ACTIVITY_KIND_MEMCPY2);
	assert_int_equal(p->copy_kind, CUPTI_ABI_MEMCPY_PTOP);
	assert_int_equal(p->device_id, 1);
	assert_int_equal(p->context_id, 2);
	assert_int_equal(p->source_device_id, 1);
	assert_int_equal(p->source_context_id, 2);
	assert_int_equal(p->destination_device_id, 0);
	assert_int_equal(p->destination_context_id, 1);
	assert_int_equal(seen.work[2].copy.copy_kind, CUPTI_ABI_MEMCPY_DTOD);
	assert_int_equal(seen.work[2].copy.device_id, 0);
	/* only the destination has access to the other device, and copies, on a driver's stream */
	assert_int_equal(seen.work[3].peer.destination_device_id, 1);
	assert_int_equal(seen.work[3].peer.device_id, 1);
	assert_int_not_equal(seen.work[3].peer.stream_id, seen.work[2].copy.stream_id);
	assert_true(seen.work[3].peer.start >= seen.work[2].copy.end);
}

static void devices_without_access_copy_through_the_host(void)
{
	const struct cupti_abi_memcpy *out = &seen.work[0].copy, *in = &seen.work[1].copy;
	cudaStream_t stream;
	char *a, *b;

	setenv("FAKE_CUDA_DEVICES", "2", 1);
	enable_work(CUPTI_ABI_ACTIVITY_KIND_MEMCPY);
	enable_work(CUPTI_ABI_ACTIVITY_KIND_MEMCPY2);
	enable_work(CUPTI_ABI_ACTIVITY_KIND_MEMSET);
	a = device_memory(100);
	stream = new_stream();
	assert_int_equal(rt.cudaMemset(a, 'a', 100), 0);
	assert_int_equal(rt.cudaSetDevice(1), 0);
	b = device_memory(100);
	flush();
	seen.works = 0;
	assert_int_equal(rt.cudaMemcpyPeerAsync(b, 1, a, 0, 100, stream), 0);
	assert_int_equal(rt.cudaMemsetAsync(a, 'c', 100, stream), 0);
	flush();
	assert_int_equal(rt.cudaSetDevice(0), 0);
	flush();
	assert_int_equal(seen.works, 3);
	assert_int_equal(b[99], 'a');
	assert_int_equal(out->copy_kind, CUPTI_ABI_MEMCPY_DTOH);
	assert_int_equal(out->device_id, 0);
	assert_int_equal(in->copy_kind, CUPTI_ABI_MEMCPY_HTOD);
	assert_int_equal(in->device_id, 1);
	assert_int_equal(in->context_id, 2);
	assert_int_equal(in->correlation_id, out->correlation_id);
	assert_int_equal(in->source_kind, CUPTI_ABI_MEMORY_DEVICE);
	assert_int_equal(out->destination_kind, CUPTI_ABI_MEMORY_DEVICE);
	assert_true(in->start >= out->end);
	/* the stream continues when both are done */
	assert_int_equal(seen.work[2].set.stream_id, out->stream_id);
	assert_true(seen.work[2].set.start >= in->end);
}

static void driver_calls_stand_alone(void)
{
	__typeof__(&cuMemAlloc_v2) allocate;
	__typeof__(&cuMemcpyHtoD_v2) htod;
	__typeof__(&cuMemcpyDtoHAsync_v2) dtoh_async;
	__typeof__(&cuMemsetD32_v2) set32;
	uint32_t back[2] = {0, 0}, from = 7;
	CUdeviceptr device;

	*(void **)&allocate = dlsym(libcuda, "cuMemAlloc_v2");
	*(void **)&htod = dlsym(libcuda, "cuMemcpyHtoD_v2");
	*(void **)&dtoh_async = dlsym(libcuda, "cuMemcpyDtoHAsync_v2");
	*(void **)&set32 = dlsym(libcuda, "cuMemsetD32_v2");
	assert_int_equal(allocate(&device, 8), 3);
	subscribe();
	enable_work(CUPTI_ABI_ACTIVITY_KIND_MEMCPY);
	enable_work(CUPTI_ABI_ACTIVITY_KIND_MEMSET);
	assert_int_equal(rt.cudaSetDevice(0), 0);
	enable(CUPTI_ABI_DOMAIN_DRIVER_API, 251); /* cuMemsetD32_v2 */
	assert_int_equal(allocate(&device, 0), 1);
	assert_int_equal(allocate(&device, 8), 0);
	assert_int_equal(set32(device, 0x12345678, 2), 0);
	assert_int_equal(htod(device, &from, 4), 0);
	assert_int_equal(dtoh_async(back, device, 8, NULL), 0);
	assert_int_equal(back[0], 7);
	assert_int_equal(back[1], 0x12345678);
	flush();
	assert_int_equal(seen.works, 3);
	assert_int_equal(seen.calls, 2);
	assert_string_equal(seen.call[0].function, "cuMemsetD32_v2");
	assert_int_equal(seen.work[0].set.bytes, 8);
	assert_int_equal(seen.work[0].set.correlation_id, seen.call[0].correlation_id);
}

static void losses_cover_all_kinds(void)
{
	unsigned int zeros = 0, reversed = 0;
	char *device;

	setenv("FAKE_CUDA_DROP_EVERY", "10", 1);
	setenv("FAKE_CUDA_ZERO_TIMESTAMP_EVERY", "7", 1);
	setenv("FAKE_CUDA_REVERSE_TIMESTAMP_EVERY", "5", 1);
	enable_kernels();
	enable_work(CUPTI_ABI_ACTIVITY_KIND_MEMSET);
	device = device_memory(8);
	for (int i = 0; i < 50; i++) {
		assert_int_equal(launch(NULL, 100), 0);
		assert_int_equal(rt.cudaMemset(device, 0, 8), 0);
	}
	flush();
	assert_int_equal(seen.records + seen.works, 90);
	assert_int_equal(seen.works, 40); /* every tenth is the second of two */
	assert_int_equal(dropped(), 10);
	for (unsigned int i = 0; i < seen.records; i++) {
		zeros += seen.record[i].start == 0;
		reversed += seen.record[i].end < seen.record[i].start;
	}
	assert_int_equal(reversed, 9); /* 5, 15 .. 95, of which 35 has no times */
	for (unsigned int i = 0; i < seen.works; i++)
		zeros += seen.work[i].set.start == 0;
	assert_int_equal(zeros, 13);
}

/* ---- callbacks that are turned on or off in the middle of a call ---- */

/*
 * The callbacks of the calling thread's launch: E and X the runtime's entry and exit, D and d the
 * driver's.
 */
static __thread struct {
	char sites[8];
	uint32_t id; /* correlation id of all sites */
} launched;

/* Done once, in the callback of this site. */
static struct {
	char site;
	void (*action)(void);
} midway;

static void on_launch_callback(void *userdata, uint32_t domain, uint32_t cbid, const void *data)
{
	const struct cupti_abi_callback_data *d = data;
	bool exits = d->callback_site == CUPTI_ABI_API_EXIT;
	char site = domain == CUPTI_ABI_DOMAIN_RUNTIME_API ? "EX"[exits] : "Dd"[exits];
	size_t n = strlen(launched.sites);

	(void)userdata, (void)cbid;
	assert_true(n + 1 < sizeof(launched.sites));
	launched.sites[n] = site;
	if (n > 0)
		assert_int_equal(d->correlation_id, launched.id);
	launched.id = d->correlation_id;
	if (site == midway.site) {
		midway.site = 0;
		midway.action();
	}
}

static void turn(uint32_t on)
{
	assert_int_equal(cupti.cuptiEnableCallback(on, subscriber, CUPTI_ABI_DOMAIN_RUNTIME_API,
						   FAKE_RT_cudaLaunchKernel),
			 0);
}

static void turn_off(void)
{
	turn(0);
}

static void turn_on(void)
{
	turn(1);
}

static void unsubscribe(void)
{
	assert_int_equal(cupti.cuptiUnsubscribe(subscriber), 0);
}

static void subscribe_to_launches(void)
{
	assert_int_equal(cupti.cuptiSubscribe(&subscriber, on_launch_callback, NULL), 0);
	enable(CUPTI_ABI_DOMAIN_DRIVER_API, FAKE_DRV_cuLaunchKernel);
}

/* Returns the correlation id of a launch with these callbacks. */
static uint32_t expect_launch(const char *sites)
{
	memset(&launched, 0, sizeof(launched));
	assert_int_equal(launch(NULL, 1000), 0);
	assert_string_equal(launched.sites, sites);
	return launched.id;
}

static uint32_t expect_launch_when(char site, void (*action)(void), const char *sites)
{
	midway.action = action;
	midway.site = site;
	return expect_launch(sites);
}

static void *launch_elsewhere(void *stuck)
{
	uint32_t id = expect_launch("Dd");

	assert_int_not_equal(id, *(uint32_t *)stuck);
	assert_int_not_equal(expect_launch("Dd"), id);
	return NULL;
}

/* A call turned off midway never ends, as measured with CUPTI 13.0. */
static void a_call_turned_off_midway_never_ends(void)
{
	uint32_t before, stuck, after, records = 0;
	pthread_t other;

	subscribe_to_launches();
	enable_kernels();
	enable_work(CUPTI_ABI_ACTIVITY_KIND_MEMSET);
	turn_on();
	before = expect_launch("EDdX");
	stuck = expect_launch_when('D', turn_off, "EDd");
	assert_int_not_equal(stuck, before);
	for (int i = 0; i < 3; i++)
		assert_int_equal(expect_launch("Dd"), stuck);
	assert_int_equal(rt.cudaMemset(device_memory(8), 0, 8), 0);
	assert_int_equal(pthread_create(&other, NULL, launch_elsewhere, &stuck), 0);
	assert_int_equal(pthread_join(other, NULL), 0);

	flush();
	assert_int_equal(seen.records, 7);
	assert_int_equal(seen.works, 1);
	assert_int_equal(seen.work[0].set.correlation_id, stuck);
	for (unsigned int i = 0; i < seen.records; i++)
		records += seen.record[i].correlation_id == stuck;
	assert_int_equal(records, 4);

	turn_on();
	for (int i = 0; i < 2; i++)
		assert_int_equal(expect_launch("EDdX"), stuck);
	turn_off();
	assert_int_equal(expect_launch_when('D', turn_on, "DdX"), stuck);
	after = expect_launch("EDdX");
	assert_int_not_equal(after, stuck);
	assert_int_not_equal(expect_launch("EDdX"), after);
}

static void turning_on_midway_is_harmless(void)
{
	uint32_t first, second;

	subscribe_to_launches();
	first = expect_launch_when('D', turn_on, "Dd");
	second = expect_launch("EDdX");
	assert_int_not_equal(second, first);
	assert_int_not_equal(expect_launch("EDdX"), second);
}

static void turning_off_at_the_end_is_harmless(void)
{
	uint32_t first, second;

	subscribe_to_launches();
	turn_on();
	first = expect_launch_when('X', turn_off, "EDdX");
	second = expect_launch("Dd");
	assert_int_not_equal(second, first);
	turn_on();
	turn_off();
	assert_int_not_equal(expect_launch("Dd"), second);
}

static void unsubscribing_midway_is_turning_off(void)
{
	uint32_t stuck;

	subscribe_to_launches();
	turn_on();
	stuck = expect_launch_when('D', unsubscribe, "ED");
	subscribe_to_launches();
	assert_int_equal(expect_launch("Dd"), stuck);
}

/* Runs a process that writes its ground truth to a file; returns its text. */
static void ground_truth(void (*body)(void), char *text, size_t size)
{
	char path[] = "/tmp/test_fake_cuda.XXXXXX";
	int fd = mkstemp(path), status;
	ssize_t n;
	pid_t pid;

	assert_true(fd >= 0);
	setenv("FAKE_CUDA_TOTALS", path, 1);
	pid = fork();
	if (pid == 0) {
		body();
		exit(rt.cudaDeviceSynchronize());
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	n = read(fd, text, size - 1);
	assert_true(n > 0);
	text[n] = '\0';
	close(fd);
	unlink(path);
}

static void expect_line(const char *text, const char *line)
{
	char found[200];

	/* the part after the process's number */
	snprintf(found, sizeof(found), " %s\n", line);
	if (!strstr(text, found))
		fail_msg("no line '%s' in:\n%s", line, text);
}

static void some_work(void)
{
	char host[100] = "", *a = device_memory(10000), *b = device_memory(10000);

	launch(NULL, 1000);
	rt.cudaMemcpy(a, host, 100, cudaMemcpyHostToDevice);
	rt.cudaMemcpy(b, a, 10000, cudaMemcpyDeviceToDevice);
	rt.cudaMemset(a, 0, 10000);
	rt.cudaFree(b);
}

static void totals_cover_all_work(void)
{
	char text[4096];

	ground_truth(some_work, text, sizeof(text));
	expect_line(text, "1 1 1000 0");
	expect_line(text, "kernel _Z6kernelv 1 1000");
	expect_line(text, "memcpy HtoD 1 2010 100");
	expect_line(text, "memcpy DtoD 1 3000 10000");
	expect_line(text, "memset - 1 3000 10000");
	expect_line(text, "memory alloc 2 0 20000");
	expect_line(text, "memory free 1 0 10000");
	expect_line(text, "sum 0 1 7 kernel 1 1000 0");
	expect_line(text, "sum 0 1 7 memcpy 2 5010 10100");
	expect_line(text, "sum 0 1 7 memset 1 3000 10000");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(callbacks_come_only_when_enabled_and_nest),
		TEST(a_failed_launch_has_callbacks_and_no_record),
		TEST(one_subscriber),
		TEST(a_subscriber_may_have_a_name),
		TEST(subscribe_fails_on_demand),
		TEST(bad_arguments_are_errors),
		TEST(records_describe_the_work),
		TEST(a_flush_holds_back_incomplete_work),
		TEST(full_buffers_are_returned_automatically),
		TEST(refused_buffers_are_counted_drops),
		TEST(devices_and_contexts_have_records),
		TEST(records_of_devices_can_be_late_or_refused),
		TEST(records_out_of_time_on_demand),
		TEST(losses_on_demand),
		TEST(a_graph_launch_shares_one_correlation_id),
		TEST(contexts_and_modules_are_announced),
		TEST(streams_run_beside_each_other_and_waits_are_real),
		TEST(a_program_can_follow_its_work),
		TEST(a_stream_waits_for_an_event_of_another),
		TEST(a_forked_child_cannot_use_cuda),
		TEST(the_driver_refuses_all_before_init),
		TEST(entry_points_begin_with_push_rbp),
		TEST(the_injection_library_sees_the_first_launch),
		TEST(copies_nest_and_have_records),
		TEST(copies_of_each_kind),
		TEST(rectangles_and_sets_move_their_bytes),
		TEST(only_some_copies_wait),
		TEST(wrong_addresses_are_refused),
		TEST(allocations_are_instants),
		TEST(each_kind_is_enabled_by_itself),
		TEST(devices_have_separate_ids),
		TEST(devices_without_access_copy_through_the_host),
		TEST(driver_calls_stand_alone),
		TEST(losses_cover_all_kinds),
		TEST(a_call_turned_off_midway_never_ends),
		TEST(turning_on_midway_is_harmless),
		TEST(turning_off_at_the_end_is_harmless),
		TEST(unsubscribing_midway_is_turning_off),
		TEST(totals_cover_all_work),
	};

	if (!getenv("FAKE_CUDA_DIR")) {
		printf("1..0 # SKIP FAKE_CUDA_DIR is not set: the stand-ins have not been built\n");
		return 0;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
