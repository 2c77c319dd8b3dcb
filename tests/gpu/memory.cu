/* SPDX-License-Identifier: MIT */
/*
 * memory MODE...: allocates in each way there is, and says what it had: for tests/gpu/memory.
 *
 *	everything  all ways, nothing freed before all of it is allocated; then all is freed
 *	leak        the same, and a piece of each way is never freed
 *	virtual, graph, pools  only these
 *	churn       a thousand allocations and releases at random
 *	reset       memory of a context that is destroyed
 *
 * Prints "FUNCTION KIND bytes PEAK LEFT" for each function that allocates: its bytes when most of
 * this kind were allocated, and never freed; "KIND peak BYTES left BYTES"; and of pools
 * "pool HELD USED", before they are destroyed.
 */
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda.h>
#include <cuda_runtime.h>
#include <map>
#include <string>
#include <vector>

#define FUNCTION extern "C" __attribute__((noinline)) void
#define CHECK(call)                                                                     \
	do {                                                                            \
		cudaError_t error_ = (call);                                            \
		if (error_ != cudaSuccess) {                                            \
			fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(error_)); \
			exit(1);                                                        \
		}                                                                       \
	} while (0)
#define DRIVER(call)                                                \
	do {                                                        \
		CUresult error_ = (call);                           \
		if (error_ != CUDA_SUCCESS) {                       \
			fprintf(stderr, "%s: %d\n", #call, error_); \
			exit(1);                                    \
		}                                                   \
	} while (0)

typedef unsigned long long number;
static const number MiB = 1 << 20;

struct piece {
	const char *function, *kind;
	void *address;
	number bytes, handle;
};

static std::vector<piece> pieces;
static std::map<std::string, std::map<std::string, number>> now, at_peak; /* by kind, function */
static std::map<std::string, number> sum, peak;
static cudaStream_t stream;
static cudaMemPool_t pool;

/* The driver's functions are found by name: the program needs no libcuda to be linked. */
#define DRIVER_FUNCTIONS(X)              \
	X(cuMemGetAllocationGranularity) \
	X(cuMemCreate)                   \
	X(cuMemRelease)                  \
	X(cuMemAddressReserve)           \
	X(cuMemAddressFree)              \
	X(cuMemMap)                      \
	X(cuMemUnmap)                    \
	X(cuMemSetAccess)
static struct {
#define X(name) decltype(&::name) name;
	DRIVER_FUNCTIONS(X)
#undef X
} cu;

static void find_driver()
{
	cudaDriverEntryPointQueryResult found;

#define X(name) CHECK(cudaGetDriverEntryPointByVersion(#name, (void **)&cu.name, 12000, 0, &found));
	DRIVER_FUNCTIONS(X)
#undef X
}

/* ---- what is allocated ---- */

static void add(const char *function, const char *kind, number bytes)
{
	now[kind][function] += bytes;
	sum[kind] += bytes;
	if (sum[kind] <= peak[kind])
		return;
	peak[kind] = sum[kind];
	at_peak[kind] = now[kind];
}

static void take(const char *function, const char *kind, number bytes)
{
	now[kind][function] -= bytes;
	sum[kind] -= bytes;
}

static void keep(const piece &p)
{
	pieces.push_back(p);
	add(p.function, p.kind, p.bytes);
}

/* ---- ways to allocate ---- */

FUNCTION allocate_plain(number bytes)
{
	void *p;

	CHECK(cudaMalloc(&p, bytes));
	keep({__func__, "device", p, bytes, 0});
}

FUNCTION allocate_rows(number bytes)
{
	size_t pitch;
	void *p;

	CHECK(cudaMallocPitch(&p, &pitch, 1000, bytes / 1000));
	keep({__func__, "device", p, pitch * (bytes / 1000), 0});
}

FUNCTION allocate_async(number bytes)
{
	void *p;

	CHECK(cudaMallocAsync(&p, bytes, stream));
	keep({__func__, "device", p, bytes, 0});
}

FUNCTION allocate_from_pool(number bytes)
{
	void *p;

	CHECK(cudaMallocFromPoolAsync(&p, bytes, pool, stream));
	keep({__func__, "device", p, bytes, 0});
}

FUNCTION allocate_virtual(number bytes)
{
	CUmemAllocationProp prop = {};
	CUmemAccessDesc access = {};
	CUmemGenericAllocationHandle handle;
	CUdeviceptr address;
	size_t unit;

	prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
	prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
	access.location = prop.location;
	access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
	DRIVER(cu.cuMemGetAllocationGranularity(&unit, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
	bytes = (bytes + unit - 1) / unit * unit;
	/* more addresses than memory: they take none */
	DRIVER(cu.cuMemAddressReserve(&address, 4 * bytes, 0, 0, 0));
	DRIVER(cu.cuMemCreate(&handle, bytes, &prop, 0));
	DRIVER(cu.cuMemMap(address, bytes, 0, handle, 0));
	DRIVER(cu.cuMemSetAccess(address, bytes, &access, 1));
	keep({__func__, "device", (void *)address, bytes, handle});
}

FUNCTION allocate_managed(number bytes)
{
	void *p;

	CHECK(cudaMallocManaged(&p, bytes));
	keep({__func__, "managed", p, bytes, 0});
}

FUNCTION allocate_pinned(number bytes)
{
	void *p;

	CHECK(cudaMallocHost(&p, bytes));
	keep({__func__, "pinned", p, bytes, 0});
}

static number held_for_graphs()
{
	number bytes;

	CHECK(cudaDeviceGetGraphMemAttribute(0, cudaGraphMemAttrReservedMemCurrent, &bytes));
	return bytes;
}

static void launch_and_destroy(cudaGraph_t graph)
{
	cudaGraphExec_t exec;

	CHECK(cudaGraphInstantiate(&exec, graph, 0));
	for (int i = 0; i < 3; i++)
		CHECK(cudaGraphLaunch(exec, stream));
	CHECK(cudaStreamSynchronize(stream));
	CHECK(cudaGraphExecDestroy(exec));
	CHECK(cudaGraphDestroy(graph));
}

/* Nodes that allocate and free, added and captured. */
FUNCTION launch_graphs(number bytes)
{
	number before = held_for_graphs();
	cudaMemAllocNodeParams alloc = {};
	cudaMemsetParams set = {};
	cudaGraphNode_t made, filled, freed;
	cudaGraph_t graph;
	void *p;

	alloc.poolProps.allocType = cudaMemAllocationTypePinned;
	alloc.poolProps.location.type = cudaMemLocationTypeDevice;
	alloc.bytesize = bytes;
	CHECK(cudaGraphCreate(&graph, 0));
	CHECK(cudaGraphAddMemAllocNode(&made, graph, nullptr, 0, &alloc));
	set.dst = alloc.dptr;
	set.elementSize = 1;
	set.width = bytes;
	set.height = 1;
	CHECK(cudaGraphAddMemsetNode(&filled, graph, &made, 1, &set));
	CHECK(cudaGraphAddMemFreeNode(&freed, graph, &filled, 1, alloc.dptr));
	launch_and_destroy(graph);
	CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
	CHECK(cudaMallocAsync(&p, 2 * bytes, stream));
	CHECK(cudaMemsetAsync(p, 0, 2 * bytes, stream));
	CHECK(cudaFreeAsync(p, stream));
	CHECK(cudaStreamEndCapture(stream, &graph));
	launch_and_destroy(graph);
	add("launch_and_destroy", "device", held_for_graphs() - before);
}

static void trim_graphs()
{
	number before = held_for_graphs();

	CHECK(cudaStreamSynchronize(stream));
	CHECK(cudaDeviceGraphMemTrim(0));
	take("launch_and_destroy", "device", before - held_for_graphs());
}

static void release(size_t at)
{
	piece p = pieces[at];
	std::string f = p.function;

	if (f == "allocate_virtual") {
		/* the handle first: the memory stays while it is mapped */
		DRIVER(cu.cuMemRelease(p.handle));
		DRIVER(cu.cuMemUnmap((CUdeviceptr)p.address, p.bytes));
		DRIVER(cu.cuMemAddressFree((CUdeviceptr)p.address, 4 * p.bytes));
	} else if (f == "allocate_async" || f == "allocate_from_pool") {
		CHECK(cudaFreeAsync(p.address, stream));
	} else if (f == "allocate_pinned") {
		CHECK(cudaFreeHost(p.address));
	} else {
		CHECK(cudaFree(p.address));
	}
	take(p.function, p.kind, p.bytes);
	pieces.erase(pieces.begin() + (long)at);
}

/* ---- modes ---- */

static void make_pool()
{
	cudaMemPoolProps props = {};
	number all = ~0ull;

	props.allocType = cudaMemAllocationTypePinned;
	props.location.type = cudaMemLocationTypeDevice;
	CHECK(cudaMemPoolCreate(&pool, &props));
	CHECK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &all));
}

static void say_pool(cudaMemPool_t which)
{
	number held, used;

	CHECK(cudaMemPoolGetAttribute(which, cudaMemPoolAttrReservedMemHigh, &held));
	CHECK(cudaMemPoolGetAttribute(which, cudaMemPoolAttrUsedMemHigh, &used));
	printf("pool %llu %llu\n", held, used);
}

/* Sizes that are no whole pages. */
static void allocate_all()
{
	allocate_plain(64 * MiB + 3);
	allocate_plain(1000003);
	allocate_rows(3000000);
	allocate_async(32 * MiB + 12345);
	allocate_from_pool(16 * MiB + 1);
	allocate_virtual(5 * MiB);
	allocate_virtual(2 * MiB);
	allocate_managed(24 * MiB + 7);
	allocate_pinned(12 * MiB + 5);
	launch_graphs(8 * MiB + 9);
}

/* Of each function but one piece, or all pieces. */
static void release_all(bool leaks)
{
	std::map<std::string, int> seen;

	for (size_t i = 0; i < pieces.size();)
		if (leaks && seen[pieces[i].function]++ == 0)
			i++;
		else
			release(i);
	if (!leaks)
		trim_graphs();
}

static void churn()
{
	for (int i = 0; i < 1000; i++) {
		unsigned int what = (unsigned int)rand() % 100;
		number bytes = 1 + (number)rand() % 3000000;

		if (!pieces.empty() && (what < 46 || pieces.size() > 60))
			release((size_t)rand() % pieces.size());
		else if (what < 60)
			allocate_plain(bytes);
		else if (what < 75)
			allocate_async(bytes);
		else if (what < 85)
			allocate_from_pool(bytes);
		else if (what < 90)
			allocate_virtual(bytes);
		else if (what < 94)
			allocate_managed(bytes);
		else if (what < 97)
			allocate_pinned(bytes);
		else if (what < 99)
			launch_graphs(8 * bytes);
		else
			trim_graphs();
	}
	release_all(false);
}

/* Only what is a context's: pools and physical memory are the process's. */
static void reset()
{
	allocate_plain(64 * MiB + 3);
	allocate_rows(3000000);
	allocate_managed(24 * MiB + 7);
	allocate_pinned(12 * MiB + 5);
	CHECK(cudaDeviceReset());
	for (auto &kind : now)
		for (auto &function : kind.second)
			function.second = 0;
	sum.clear();
}

static void run(const std::string &mode)
{
	if (mode == "virtual") {
		allocate_virtual(5 * MiB);
		release(0);
	} else if (mode == "graph") {
		launch_graphs(8 * MiB + 9);
		trim_graphs();
	} else if (mode == "pools") {
		allocate_from_pool(16 * MiB + 1);
		allocate_from_pool(100);
		release(0);
		release(0);
	} else if (mode == "churn") {
		churn();
	} else if (mode == "reset") {
		reset();
	} else {
		allocate_all();
		release_all(mode == "leak");
	}
}

int main(int argc, char **argv)
{
	std::string last = argc > 1 ? argv[argc - 1] : "";

	srand(7);
	CHECK(cudaSetDevice(0));
	CHECK(cudaStreamCreate(&stream));
	find_driver();
	make_pool();
	for (int i = 1; i < argc; i++)
		run(argv[i]);
	for (auto &kind : now)
		for (auto &function : kind.second)
			printf("%s %s bytes %llu %llu\n", function.first.c_str(),
			       kind.first.c_str(), at_peak[kind.first][function.first],
			       function.second);
	for (auto &kind : peak)
		printf("%s peak %llu left %llu\n", kind.first.c_str(), kind.second,
		       sum[kind.first]);
	if (last != "reset") {
		CHECK(cudaStreamSynchronize(stream));
		say_pool(pool);
	}
	return 0;
}
