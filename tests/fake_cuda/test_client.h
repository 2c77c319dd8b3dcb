/* SPDX-License-Identifier: MIT */
/*
 * For tests of the stand-ins, once per test program: loads them from FAKE_CUDA_DIR into the tables
 * `rt` and `cupti`, launches its own kernel, and is a CUPTI client that records its callbacks and
 * records in `seen`. Include cmocka's headers first.
 */
#ifndef TESTS_FAKE_CUDA_TEST_CLIENT_H
#define TESTS_FAKE_CUDA_TEST_CLIENT_H

#include "cuda_driver_subset.h"
#include "cuda_runtime_subset.h"
#include "cbid.h"
#include "fake_cuda.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { RECORD_SIZE = 216, MAX_RECORDS = 10000, MAX_CALLS = 100, LONG_NS = 2000000000 };
enum { MAX_WORK = 1000, WORK_SIZE = 184, MAX_NODES = 200 };

#define RUNTIME(X)                    \
	X(cudaSetDevice)              \
	X(cudaDeviceSynchronize)      \
	X(cudaDeviceReset)            \
	X(cudaStreamCreateWithFlags)  \
	X(cudaStreamDestroy)          \
	X(cudaStreamSynchronize)      \
	X(cudaStreamWaitEvent)        \
	X(cudaEventCreate)            \
	X(cudaEventRecord)            \
	X(cudaEventDestroy)           \
	X(cudaStreamBeginCapture)     \
	X(cudaStreamEndCapture)       \
	X(cudaGraphInstantiate)       \
	X(cudaGraphLaunch)            \
	X(cudaGraphCreate)            \
	X(cudaGraphAddKernelNode)     \
	X(cudaGraphAddMemcpyNode1D)   \
	X(cudaGraphAddMemsetNode)     \
	X(cudaGraphAddChildGraphNode) \
	X(cudaGraphClone)             \
	X(cudaGraphExecUpdate)        \
	X(cudaGraphDestroy)           \
	X(cudaGraphExecDestroy)       \
	X(cudaLaunchKernel)           \
	X(cudaLaunchKernelExC)        \
	X(cudaMalloc)                 \
	X(cudaFree)                   \
	X(cudaMallocHost)             \
	X(cudaFreeHost)               \
	X(cudaMallocAsync)            \
	X(cudaFreeAsync)              \
	X(cudaMemcpy)                 \
	X(cudaMemcpy_ptds)            \
	X(cudaMemcpyAsync)            \
	X(cudaMemcpyAsync_ptsz)       \
	X(cudaMemcpy2D)               \
	X(cudaMemcpy2DAsync)          \
	X(cudaDeviceCanAccessPeer)    \
	X(cudaDeviceEnablePeerAccess) \
	X(cudaMemcpyPeer)             \
	X(cudaMemcpyPeerAsync)        \
	X(cudaMemset)                 \
	X(cudaMemset_ptds)            \
	X(cudaMemsetAsync)            \
	X(cudaMemsetAsync_ptsz)       \
	X(cudaGetLastError)           \
	X(__cudaRegisterFatBinary)    \
	X(__cudaRegisterFunction)

static struct {
#define X(name) __typeof__(&name) name;
	RUNTIME(X)
#undef X
} rt;

static struct {
#define X(name, required, parameters) int(*name) parameters;
	CUPTI_ABI_FUNCTIONS(X)
#undef X
} cupti;

static void *libcuda, *libcudart, *libcupti;

/* The client's callbacks and records, filled in below. */
static struct {
	unsigned int calls;
	struct {
		uint32_t domain, cbid, site, correlation_id;
		char name[64], function[64];
	} call[MAX_CALLS];
	unsigned int resources[32];
	unsigned int nodes; /* graphs' events */
	struct node_event {
		uint32_t cbid, type;
		uint64_t id, original; /* 0: none */
	} node[MAX_NODES];
	unsigned int buffers_requested, buffers_completed;
	pthread_t requested_on, completed_on;
	unsigned int records;
	struct cupti_abi_kernel record[MAX_RECORDS];
	unsigned int works; /* records of other kinds */
	union work {
		uint32_t kind;
		struct cupti_abi_memcpy copy;
		struct cupti_abi_memcpy_peer peer;
		struct cupti_abi_memset set;
		struct cupti_abi_memory memory;
		struct cupti_abi_graph_trace graph;
		struct cupti_abi_device device;
		struct cupti_abi_context context;
		uint8_t bytes[WORK_SIZE];
	} work[MAX_WORK];
	size_t buffer_size, misalign;
} seen;

static cupti_abi_subscriber subscriber;

static void load(const char *name, void **library)
{
	char path[4096];
	const char *dir = getenv("FAKE_CUDA_DIR");

	assert_non_null(dir);
	snprintf(path, sizeof(path), "%s/%s", dir, name);
	*library = dlopen(path, RTLD_NOW);
	if (!*library)
		fail_msg("%s", dlerror());
}

static void load_all(void)
{
	load("libcuda.so.1", &libcuda);
	load("libcudart.so.13", &libcudart);
	load("libcupti.so.13", &libcupti);
#define X(name)                                       \
	*(void **)&rt.name = dlsym(libcudart, #name); \
	assert_non_null(rt.name);
	RUNTIME(X)
#undef X
#define X(name, required, parameters)                   \
	*(void **)&cupti.name = dlsym(libcupti, #name); \
	assert_non_null(cupti.name);
	CUPTI_ABI_FUNCTIONS(X)
#undef X
	seen.buffer_size = 1 << 20;
}

static void kernel_stub(void)
{
}

static int launch(cudaStream_t stream, uint64_t ns)
{
	static const unsigned int fatbin[2] = {FAKE_CUDA_FATBIN_MAGIC, 0};
	static void **handle;
	void *args[] = {&ns};
	dim3 one = {1, 1, 1};

	if (!handle) {
		handle = rt.__cudaRegisterFatBinary((void *)(uintptr_t)fatbin);
		rt.__cudaRegisterFunction(handle, (const char *)(uintptr_t)kernel_stub, NULL,
					  "_Z6kernelv", -1, NULL, NULL, NULL, NULL, NULL);
	}
	return rt.cudaLaunchKernel((const void *)(uintptr_t)kernel_stub, one, one, args, 0, stream);
}

static uint64_t node_id(void *node)
{
	uint64_t id = 0;

	if (node)
		assert_int_equal(cupti.cuptiGetGraphNodeId(node, &id), 0);
	return id;
}

static void on_node(uint32_t cbid, const struct cupti_abi_resource_data *data)
{
	const struct cupti_abi_graph_data *graph = data->descriptor;

	assert_true(seen.nodes < MAX_NODES);
	assert_non_null(graph->node);
	seen.node[seen.nodes++] = (struct node_event){cbid, graph->node_type, node_id(graph->node),
						      node_id(graph->original_node)};
}

static void on_callback(void *userdata, uint32_t domain, uint32_t cbid, const void *data)
{
	const struct cupti_abi_callback_data *d = data;

	assert_ptr_equal(userdata, &seen);
	if (domain == CUPTI_ABI_DOMAIN_RESOURCE) {
		assert_in_range(cbid, 1, 31);
		seen.resources[cbid]++;
		if (cbid == CUPTI_ABI_RESOURCE_GRAPHNODE_CREATED ||
		    cbid == CUPTI_ABI_RESOURCE_GRAPHNODE_CLONED ||
		    cbid == CUPTI_ABI_RESOURCE_GRAPHNODE_DESTROY_STARTING)
			on_node(cbid, data);
		return;
	}
	if (d->callback_site == CUPTI_ABI_API_ENTER)
		*d->correlation_data = 0x1234567800000000u | d->correlation_id;
	else
		assert_int_equal(*d->correlation_data, 0x1234567800000000u | d->correlation_id);
	if (seen.calls == MAX_CALLS)
		return;
	seen.call[seen.calls].domain = domain;
	seen.call[seen.calls].cbid = cbid;
	seen.call[seen.calls].site = d->callback_site;
	seen.call[seen.calls].correlation_id = d->correlation_id;
	snprintf(seen.call[seen.calls].name, sizeof(seen.call[0].name), "%s",
		 d->symbol_name ? d->symbol_name : "");
	snprintf(seen.call[seen.calls].function, sizeof(seen.call[0].function), "%s",
		 d->function_name);
	seen.calls++;
}

static void on_requested(uint8_t **buffer, size_t *size, size_t *max_num_records)
{
	seen.buffers_requested++;
	seen.requested_on = pthread_self();
	*buffer = seen.buffer_size ? (uint8_t *)aligned_alloc(8, 2u << 20) + seen.misalign : NULL;
	*size = seen.buffer_size;
	*max_num_records = 0;
}

static size_t work_size(uint32_t kind)
{
	switch (kind) {
	case CUPTI_ABI_ACTIVITY_KIND_MEMCPY:
	case CUPTI_ABI_ACTIVITY_KIND_MEMCPY2:
		return 96;
	case CUPTI_ABI_ACTIVITY_KIND_MEMSET:
		return 88;
	case CUPTI_ABI_ACTIVITY_KIND_MEMORY2:
		return 128;
	case CUPTI_ABI_ACTIVITY_KIND_GRAPH_TRACE:
		return 56;
	case CUPTI_ABI_ACTIVITY_KIND_DEVICE:
		return 184;
	case CUPTI_ABI_ACTIVITY_KIND_CONTEXT:
		return 32;
	}
	fail_msg("a record of kind %u", kind);
	return 0;
}

static void keep_record(const struct cupti_abi_activity *record)
{
	if (record->kind != CUPTI_ABI_ACTIVITY_KIND_CONCURRENT_KERNEL) {
		if (seen.works < MAX_WORK)
			memcpy(&seen.work[seen.works], record, work_size(record->kind));
		seen.works++;
		return;
	}
	if (seen.records < MAX_RECORDS)
		memcpy(&seen.record[seen.records], record, sizeof(seen.record[0]));
	seen.records++;
}

static void on_completed(void *context, uint32_t stream_id, uint8_t *buffer, size_t size,
			 size_t valid_size)
{
	struct cupti_abi_activity *record = NULL;
	int err;

	assert_null(context);
	(void)stream_id; /* meaningless */
	assert_int_equal(size, seen.buffer_size);
	assert_true(valid_size <= size);
	seen.buffers_completed++;
	seen.completed_on = pthread_self();
	while ((err = cupti.cuptiActivityGetNextRecord(buffer, valid_size, &record)) == 0)
		keep_record(record);
	assert_int_equal(err, CUPTI_ABI_ERROR_MAX_LIMIT_REACHED);
	free(buffer);
}

static void subscribe(void)
{
	assert_int_equal(cupti.cuptiSubscribe(&subscriber, on_callback, &seen), 0);
}

static void enable_kernels(void)
{
	assert_int_equal(cupti.cuptiActivityRegisterCallbacks(on_requested, on_completed), 0);
	assert_int_equal(cupti.cuptiActivityEnable(CUPTI_ABI_ACTIVITY_KIND_CONCURRENT_KERNEL), 0);
}

/* Records of kinds other than kernels. */
static void enable_work(uint32_t kind)
{
	assert_int_equal(cupti.cuptiActivityRegisterCallbacks(on_requested, on_completed), 0);
	assert_int_equal(cupti.cuptiActivityEnable(kind), 0);
}

static void flush(void)
{
	assert_int_equal(rt.cudaDeviceSynchronize(), 0);
	assert_int_equal(cupti.cuptiActivityFlushAll(0), 0);
}

static void *device_memory(size_t size)
{
	void *memory = NULL;

	assert_int_equal(rt.cudaMalloc(&memory, size), 0);
	assert_non_null(memory);
	return memory;
}

static void enable(uint32_t domain, uint32_t cbid)
{
	assert_int_equal(cupti.cuptiEnableCallback(1, subscriber, domain, cbid), 0);
}

static inline size_t dropped(void)
{
	size_t n = 99;

	assert_int_equal(cupti.cuptiActivityGetNumDroppedRecords(NULL, 0, &n), 0);
	return n;
}

static cudaStream_t new_stream(void)
{
	cudaStream_t stream;

	assert_int_equal(rt.cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), 0);
	return stream;
}

static inline uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
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

#endif
