/* SPDX-License-Identifier: MIT */
/*
 * memory_use [STEPS=2000] [SEED=1] [THREADS=1] [left]: allocates and frees at random, each way
 * there is, one call at a time, and counts as it goes. Calls that fail, because of what they are
 * given, are among them. With `left` some memory is never freed. Graphs allocate, too: what counts
 * is what the driver holds for them.
 *
 * Prints, for each function that allocates: "FUNCTION bytes at the peak of the device's memory,
 * bytes left", then "peak BYTES left BYTES", the same of pinned memory, and of the default pool
 * what it held and used at most, when most device memory was allocated, and at the end.
 */
#include "gpu.h"
#define DRIVER_FUNCTIONS(X)              \
	X(cuDeviceGetGraphMemAttribute)  \
	X(cuDeviceGraphMemTrim)          \
	X(cuDeviceGetDefaultMemPool)     \
	X(cuMemPoolTrimTo)               \
	X(cuMemPoolGetAttribute)         \
	X(cuMemGetAllocationGranularity) \
	X(cuMemAddressReserve)           \
	X(cuMemAddressFree)              \
	X(cuMemCreate)                   \
	X(cuMemRelease)                  \
	X(cuMemRetainAllocationHandle)   \
	X(cuMemMap)                      \
	X(cuMemUnmap)
#include "driver.h"

#include <map>
#include <pthread.h>
#include <string>
#include <vector>

enum { RESERVED_NOW = 2 };           /* CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT */
enum { HELD_NOW = 5, USED_NOW = 7 }; /* CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, _USED_MEM_CURRENT */

static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;

struct piece {
	const char *function;
	unsigned long long address, bytes, handle, range;
	bool released, unmapped;
	int references;
};

static std::vector<piece> pieces;
static std::map<std::string, unsigned long long> now, at_peak;
static unsigned long long device_now, device_peak, pinned_now, pinned_peak;
static struct {
	unsigned long long held, used;
} pool_now, pool_most, pool_at_peak;
static cudaStream_t stream;

/* After each call that uses it. */
static void look_at_pool()
{
	CUmemoryPool pool;

	DRIVER_CHECK(cu.cuDeviceGetDefaultMemPool(&pool, 0));
	DRIVER_CHECK(cu.cuMemPoolGetAttribute(pool, HELD_NOW, &pool_now.held));
	DRIVER_CHECK(cu.cuMemPoolGetAttribute(pool, USED_NOW, &pool_now.used));
	if (pool_now.held > pool_most.held)
		pool_most.held = pool_now.held;
	if (pool_now.used > pool_most.used)
		pool_most.used = pool_now.used;
}

static void trim_pool()
{
	CUmemoryPool pool;

	DRIVER_CHECK(cu.cuDeviceGetDefaultMemPool(&pool, 0));
	DRIVER_CHECK(cu.cuMemPoolTrimTo(pool, (size_t)rand() % 100000000));
	look_at_pool();
}

static void count(const piece &p, bool is_new)
{
	bool is_pinned = std::string(p.function) == "allocate_pinned";
	unsigned long long &sum = is_pinned ? pinned_now : device_now;

	sum += is_new ? p.bytes : 0 - p.bytes;
	if (is_pinned) {
		pinned_peak = sum > pinned_peak ? sum : pinned_peak;
		return;
	}
	now[p.function] += is_new ? p.bytes : 0 - p.bytes;
	if (sum > device_peak) {
		device_peak = sum;
		at_peak = now;
		pool_at_peak = pool_now;
	}
}

static unsigned long long held_for_graphs()
{
	unsigned long long bytes;

	DRIVER_CHECK(cu.cuDeviceGetGraphMemAttribute(0, RESERVED_NOW, &bytes));
	return bytes;
}

/* What the driver holds for graphs now is `function`'s; it was `before`. */
static void count_graphs(const char *function, unsigned long long before)
{
	unsigned long long after = held_for_graphs();

	count({function, 0, after > before ? after - before : before - after, 0, 0, false, false,
	       0},
	      after > before);
}

static void keep(piece p)
{
	pieces.push_back(p);
	count(p, true);
}

NOINLINE static void allocate_plain(size_t bytes)
{
	void *memory;

	GPU_CHECK(cudaMalloc(&memory, bytes));
	keep({__func__, (unsigned long long)memory, bytes, 0, 0, false, false, 0});
}

NOINLINE static void allocate_async(size_t bytes)
{
	void *memory;

	GPU_CHECK(cudaMallocAsync(&memory, bytes, stream));
	look_at_pool();
	keep({__func__, (unsigned long long)memory, bytes, 0, 0, false, false, 0});
}

NOINLINE static void allocate_pinned(size_t bytes)
{
	void *memory;

	GPU_CHECK(cudaMallocHost(&memory, bytes));
	keep({__func__, (unsigned long long)memory, bytes, 0, 0, false, false, 0});
}

/* Physical memory, sometimes retained a second time, at addresses of its own. */
NOINLINE static void allocate_virtual(size_t units, bool retains)
{
	CUmemAllocationProp prop = {};
	unsigned long long handle, again, address;
	size_t unit;

	prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
	prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
	DRIVER_CHECK(cu.cuMemGetAllocationGranularity(&unit, &prop, 0));
	DRIVER_CHECK(cu.cuMemAddressReserve(&address, units * unit, 0, 0, 0));
	DRIVER_CHECK(cu.cuMemCreate(&handle, units * unit, &prop, 0));
	DRIVER_CHECK(cu.cuMemMap(address, units * unit, 0, handle, 0));
	if (retains)
		DRIVER_CHECK(cu.cuMemRetainAllocationHandle(&again, (void *)address));
	keep({__func__, 0, units * unit, handle, address, false, false, 1 + retains});
}

/* A graph that allocates and frees; its memory stays until it is trimmed. */
NOINLINE static void launch_graph(size_t bytes)
{
	unsigned long long before = held_for_graphs();
	cudaGraph_t graph;
	cudaGraphExec_t exec;
	void *memory;

	GPU_CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
	GPU_CHECK(cudaMallocAsync(&memory, bytes, stream));
	GPU_CHECK(cudaMemsetAsync(memory, 0, bytes, stream));
	GPU_CHECK(cudaFreeAsync(memory, stream));
	GPU_CHECK(cudaStreamEndCapture(stream, &graph));
	GPU_CHECK(cudaGraphInstantiate(&exec, graph, 0));
	for (int i = 0; i < 2; i++)
		GPU_CHECK(cudaGraphLaunch(exec, stream));
	count_graphs(__func__, before);
	GPU_CHECK(cudaStreamSynchronize(stream));
	GPU_CHECK(cudaGraphExecDestroy(exec));
	GPU_CHECK(cudaGraphDestroy(graph));
}

NOINLINE static void trim_graphs()
{
	unsigned long long before = held_for_graphs();

	DRIVER_CHECK(cu.cuDeviceGraphMemTrim(0));
	count_graphs("launch_graph", before);
}

/* A step on the way out: the memory is there until all of them are done. */
static bool leave(piece &p)
{
	if (p.references > 0 && (p.unmapped || rand() % 2)) {
		DRIVER_CHECK(cu.cuMemRelease(p.handle));
		p.references--;
	} else {
		DRIVER_CHECK(cu.cuMemUnmap(p.range, p.bytes));
		DRIVER_CHECK(cu.cuMemAddressFree(p.range, p.bytes));
		p.unmapped = true;
	}
	return p.references == 0 && p.unmapped;
}

NOINLINE static void release(size_t at)
{
	piece &p = pieces[at];
	std::string function = p.function;

	if (function == "allocate_virtual") {
		if (!leave(p))
			return;
	} else if (function == "allocate_async") {
		GPU_CHECK(cudaFreeAsync((void *)p.address, stream));
		look_at_pool();
	} else if (function == "allocate_pinned") {
		GPU_CHECK(cudaFreeHost((void *)p.address));
	} else {
		GPU_CHECK(cudaFree((void *)p.address));
	}
	count(p, false);
	pieces.erase(pieces.begin() + (long)at);
}

/* What CUDA refuses, and so nobody may count. */
NOINLINE static void fail()
{
	unsigned long long handle = 0;
	CUmemAllocationProp prop = {};
	void *memory;

	prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
	prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
	if (cudaFree(&handle) == cudaSuccess ||
	    cudaMalloc(&memory, (size_t)1 << 62) == cudaSuccess ||
	    cu.cuMemCreate(&handle, 12345, &prop, 0) == 0 || cu.cuMemRelease(0x1234) == 0 ||
	    cu.cuMemUnmap(0x1000, 4096) == 0)
		exit(3);
	for (const piece &p : pieces)
		if (p.range && !p.unmapped && cu.cuMemUnmap(p.range, p.bytes / 2) == 0)
			exit(3); /* of a part */
	cudaGetLastError();
}

static void step()
{
	unsigned int what = (unsigned int)rand() % 100;

	if (what < 4)
		fail();
	else if (!pieces.empty() && (what < 50 || pieces.size() > 60))
		release((size_t)rand() % pieces.size());
	else if (what < 70)
		allocate_plain(1 + (size_t)rand() % 100000);
	else if (what < 82)
		allocate_async(1 + (size_t)rand() % 10000000);
	else if (what < 83)
		launch_graph(1 + (size_t)rand() % 20000000);
	else if (what < 84)
		trim_graphs();
	else if (what < 85)
		trim_pool();
	else if (what < 90)
		allocate_pinned(1 + (size_t)rand() % 100000);
	else
		allocate_virtual(1 + (size_t)rand() % 3, rand() % 2);
}

static void *run(void *steps)
{
	for (int i = 0; i < *(int *)steps; i++) {
		pthread_mutex_lock(&one_at_a_time);
		step();
		pthread_mutex_unlock(&one_at_a_time);
	}
	return nullptr;
}

int main(int argc, char **argv)
{
	int steps = argc > 1 ? atoi(argv[1]) : 2000, threads = argc > 3 ? atoi(argv[3]) : 1;
	std::vector<pthread_t> list((size_t)threads);

	srand(argc > 2 ? (unsigned int)atoi(argv[2]) : 1);
	load_driver();
	GPU_CHECK(cudaStreamCreate(&stream));
	for (pthread_t &t : list)
		pthread_create(&t, nullptr, run, &steps);
	for (pthread_t &t : list)
		pthread_join(t, nullptr);
	while (argc <= 4 && !pieces.empty())
		release(0);
	if (argc <= 4)
		trim_graphs();
	for (const auto &f : now)
		printf("%s %llu %llu\n", f.first.c_str(), at_peak[f.first], f.second);
	printf("peak %llu left %llu\n", device_peak, device_now);
	printf("pinned peak %llu left %llu\n", pinned_peak, pinned_now);
	printf("pool %llu %llu %llu %llu %llu %llu\n", pool_most.held, pool_most.used,
	       pool_at_peak.held, pool_at_peak.used, pool_now.held, pool_now.used);
	return 0;
}
