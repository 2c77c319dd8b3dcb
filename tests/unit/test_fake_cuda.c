/* SPDX-License-Identifier: MIT */
/*
 * The CUDA stand-ins are as strict as the real libraries: what they promise in their headers.
 *
 * FAKE_CUDA_DIR names the folder with the built libraries. Each test runs in a forked child with
 * fresh copies of them, because their state (one cuInit, one subscriber) is per process.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "../fake_cuda/test_client.h"

#include <signal.h>
#include <sys/wait.h>

static void callbacks_come_only_when_enabled_and_nest(void)
{
	subscribe();
	assert_int_equal(launch(NULL, 1000), 0);
	assert_int_equal(seen.calls, 0);

	enable(CUPTI_ABI_DOMAIN_RUNTIME_API, CUPTI_ABI_RT_cudaLaunchKernel);
	enable(CUPTI_ABI_DOMAIN_DRIVER_API, CUPTI_ABI_DRV_cuLaunchKernel);
	assert_int_equal(launch(NULL, 1000), 0);
	assert_int_equal(rt.cudaDeviceSynchronize(), 0);
	assert_int_equal(seen.calls, 4);
	assert_int_equal(seen.call[0].domain, CUPTI_ABI_DOMAIN_RUNTIME_API);
	assert_int_equal(seen.call[0].site, CUPTI_ABI_API_ENTER);
	assert_string_equal(seen.call[0].name, "_Z6kernelv");
	assert_int_equal(seen.call[1].domain, CUPTI_ABI_DOMAIN_DRIVER_API);
	assert_int_equal(seen.call[1].cbid, CUPTI_ABI_DRV_cuLaunchKernel);
	assert_int_equal(seen.call[2].site, CUPTI_ABI_API_EXIT);
	assert_int_equal(seen.call[3].domain, CUPTI_ABI_DOMAIN_RUNTIME_API);
	assert_int_equal(seen.call[3].site, CUPTI_ABI_API_EXIT);
	for (int i = 1; i < 4; i++)
		assert_int_equal(seen.call[i].correlation_id, seen.call[0].correlation_id);

	assert_int_equal(launch(NULL, 1000), 0);
	assert_int_not_equal(seen.call[4].correlation_id, seen.call[0].correlation_id);
	assert_int_equal(cupti.cuptiEnableCallback(0, subscriber, CUPTI_ABI_DOMAIN_RUNTIME_API,
						   CUPTI_ABI_RT_cudaLaunchKernel),
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
	enable(CUPTI_ABI_DOMAIN_RUNTIME_API, CUPTI_ABI_RT_cudaLaunchKernel);
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

static void records_tell_what_ran(void)
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

static void a_flush_keeps_back_what_is_not_complete(void)
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

static void full_buffers_come_back_by_themselves(void)
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
	enable(CUPTI_ABI_DOMAIN_RUNTIME_API, CUPTI_ABI_RT_cudaGraphLaunch);
	stream = new_stream();
	assert_int_equal(rt.cudaStreamBeginCapture(NULL, cudaStreamCaptureModeGlobal), 900);
	assert_int_equal(rt.cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), 0);
	for (int i = 0; i < 3; i++)
		assert_int_equal(launch(stream, 1000), 0);
	assert_int_equal(rt.cudaStreamSynchronize(stream), 900);
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
	assert_true(took < 2 * LONG_NS);

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
	static const char *const runtime[] = {"cudaLaunchKernel", "cudaLaunchKernel_ptsz",
					      "cudaLaunchKernelExC", "cudaLaunchCooperativeKernel",
					      "cudaGraphLaunch"};

	for (size_t i = 0; i < sizeof(runtime) / sizeof(runtime[0]); i++)
		assert_int_equal(*(const uint8_t *)dlsym(libcudart, runtime[i]), 0x55);
	assert_int_equal(*(const uint8_t *)dlsym(libcuda, "cuLaunchKernel"), 0x55);
	assert_int_equal(*(const uint8_t *)dlsym(libcuda, "cuLaunchKernelEx"), 0x55);
}

static void the_injected_library_sees_the_first_launch(void)
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

/* Runs the test named by the state in a child: cmocka's assertions end it with a non-zero status.
 */
static void isolate(void **state)
{
	void (*test)(void) = NULL;
	int status;
	pid_t pid;

	memcpy(&test, state, sizeof(test));
	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		setenv("CMOCKA_TEST_ABORT", "1", 1); /* a failed assertion aborts the child */
		load_all();
		test();
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

#define TEST(name)                                                    \
	{                                                             \
#name, isolate, NULL, NULL, (void *)(uintptr_t)(name) \
	}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(callbacks_come_only_when_enabled_and_nest),
		TEST(a_failed_launch_has_callbacks_and_no_record),
		TEST(one_subscriber),
		TEST(subscribe_fails_on_demand),
		TEST(bad_arguments_are_errors),
		TEST(records_tell_what_ran),
		TEST(a_flush_keeps_back_what_is_not_complete),
		TEST(full_buffers_come_back_by_themselves),
		TEST(refused_buffers_are_counted_drops),
		TEST(losses_on_demand),
		TEST(a_graph_launch_shares_one_correlation_id),
		TEST(contexts_and_modules_are_announced),
		TEST(streams_run_beside_each_other_and_waits_are_real),
		TEST(a_forked_child_cannot_use_cuda),
		TEST(the_driver_refuses_all_before_init),
		TEST(entry_points_begin_with_push_rbp),
		TEST(the_injected_library_sees_the_first_launch),
	};

	if (!getenv("FAKE_CUDA_DIR")) {
		printf("1..0 # SKIP FAKE_CUDA_DIR is not set: the stand-ins have not been built\n");
		return 0;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
