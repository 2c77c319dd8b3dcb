/* SPDX-License-Identifier: MIT */
/*
 * nccl_calls [MODE=new]: pushes NVTX ranges as NCCL does, with the same bytes, around kernels with
 * the names of NCCL's.
 *
 * Modes: new, schemas of NCCL 2.25 to 2.30 | old, those of 2.16 to 2.24, without communicators |
 * graph, an AllReduce captured into a graph that is launched five times | sizes, 20000 sizes |
 * hostile, wrong sizes and schemas, from several threads
 *
 * Source of schemas: NCCL, src/include/nvtx.h and nvtx_payload_schemas.h.
 */
#include "gpu.h"
#include "../fake_cuda/fake_nvtx.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <thread>
#include <vector>

GPU_KERNEL(ncclDevKernel_AllReduce_Sum_f32_RING_LL)
GPU_KERNEL(ncclDevKernel_AllGather_RING_LL)
GPU_KERNEL(ncclDevKernel_ReduceScatter_Sum_f32_RING_LL)
GPU_KERNEL(ncclDevKernel_Broadcast_RING_LL)
GPU_KERNEL(ncclDevKernel_SendRecv)

enum { INT = 5, UINT64 = 18, SIZE = 22 };
constexpr uint64_t FIRST_ID = 1 << 24, REDOP = FIRST_ID + 24;
constexpr uint64_t COMM = 0x3f2a91c0d00dfeed, SPLIT = 0x77000001d00dfeed;
enum { INIT_RANK_CONFIG = 11, DESTROY = 2, ALL_GATHER = 4, ALL_REDUCE, BROADCAST, REDUCE_SCATTER };
enum { SEND = 9, RECV, COMM_SPLIT = 13, FROM_LATER = 99 };
enum { MICROSECOND = 1000, MILLISECOND = 1000000 };
constexpr size_t KIB = 1024, MIB = 1024 * KIB;

static void *domain;
static bool is_old;

struct entry {
	uint64_t type;
	const char *name;
	uint64_t offset;
};

/* Registers a schema. Before 2.25 NCCL gave 0 as the size. */
static void schema(uint64_t id, size_t size, const std::vector<entry> &list)
{
	std::vector<nvtx_abi_entry> entries;
	nvtx_abi_schema s = {};

	for (const entry &e : list) {
		nvtx_abi_entry one = {};

		one.type = e.type;
		one.name = e.name;
		one.offset = e.offset;
		entries.push_back(one);
	}
	s.fields = 0x174; /* type, entries, their number, static size, id */
	s.type = 1;
	s.entries = entries.data();
	s.entry_count = entries.size();
	s.size = is_old ? 0 : size;
	s.id = FIRST_ID + id;
	nvtxPayloadSchemaRegister(domain, &s);
}

struct init_rank {
	uint64_t comm;
	int ranks, rank, device;
};
struct split {
	uint64_t comm, parent;
	int ranks, rank, device, color, key;
};
struct call {
	uint64_t comm;
	size_t bytes;
};
struct reduction {
	uint64_t comm;
	size_t bytes;
	int operation;
};
struct rooted {
	uint64_t comm;
	size_t bytes;
	int root;
};
struct old_reduction {
	size_t bytes;
	int operation;
};
struct old_rooted {
	size_t bytes;
	int root;
};

static const char *const comm_text = "NCCL communicator ID", *const bytes_text =
								     "Message size [bytes]";

static void register_new()
{
	for (uint64_t id : {INIT_RANK_CONFIG, DESTROY})
		schema(id, sizeof(init_rank),
		       {{UINT64, comm_text, 0},
			{INT, "No. of ranks", offsetof(init_rank, ranks)},
			{INT, "Rank", offsetof(init_rank, rank)},
			{INT, "CUDA device", offsetof(init_rank, device)}});
	schema(COMM_SPLIT, sizeof(split),
	       {{UINT64, comm_text, 0},
		{UINT64, "Parent NCCL communicator ID", offsetof(split, parent)},
		{INT, "No. of ranks", offsetof(split, ranks)},
		{INT, "Rank", offsetof(split, rank)},
		{INT, "CUDA device", offsetof(split, device)},
		{INT, "Color", offsetof(split, color)},
		{INT, "Key", offsetof(split, key)}});
	schema(ALL_GATHER, sizeof(call),
	       {{UINT64, comm_text, 0}, {SIZE, bytes_text, offsetof(call, bytes)}});
	for (uint64_t id : {ALL_REDUCE, REDUCE_SCATTER})
		schema(id, sizeof(reduction),
		       {{UINT64, comm_text, 0},
			{SIZE, bytes_text, offsetof(reduction, bytes)},
			{REDOP, "Reduction operation", offsetof(reduction, operation)}});
	schema(BROADCAST, sizeof(rooted),
	       {{UINT64, comm_text, 0},
		{SIZE, bytes_text, offsetof(rooted, bytes)},
		{INT, "Root", offsetof(rooted, root)}});
	for (uint64_t id : {SEND, RECV})
		schema(id, sizeof(rooted),
		       {{UINT64, comm_text, 0},
			{SIZE, bytes_text, offsetof(rooted, bytes)},
			{INT, "Peer rank", offsetof(rooted, root)}});
}

static void register_old()
{
	schema(ALL_REDUCE, 0,
	       {{SIZE, bytes_text, 0},
		{FIRST_ID + 11, "Reduction operation", offsetof(old_reduction, operation)}});
	schema(BROADCAST, 0, {{SIZE, "Bytes", 0}, {INT, "Root", offsetof(old_rooted, root)}});
	schema(SEND, 0, {{SIZE, "Bytes", 0}, {INT, "Peer rank", offsetof(old_rooted, root)}});
}

static void push_payload(const char *function, const nvtx_abi_payload *payload, int32_t count)
{
	nvtx_abi_attributes a = {};

	a.version = 3;
	a.size = sizeof(a);
	a.message_type = NVTX_ABI_MESSAGE_REGISTERED;
	a.message.registered = nvtxDomainRegisterStringA(domain, function);
	if (payload) {
		a.payload_type = NVTX_ABI_PAYLOAD_EXTENDED;
		a.reserved = count;
		a.payload = (uint64_t)(uintptr_t)payload;
	}
	nvtxDomainRangePushEx(domain, &a);
}

template <typename T> static void push(const char *function, uint64_t id, const T &data)
{
	const nvtx_abi_payload payload = {FIRST_ID + id, sizeof(data), &data};

	push_payload(function, &payload, 1);
}

static void push(const char *function)
{
	push_payload(function, nullptr, 0);
}

static void pop()
{
	nvtxDomainRangePop(domain);
}

/* Opens a range that tells only at its end what it was about. */
template <typename T> static void init(const char *function, uint64_t id, const T &data)
{
	const nvtx_abi_payload payload = {FIRST_ID + id, sizeof(data), &data};

	push(function);
	nvtxRangePopPayload(domain, &payload, 1);
}

template <typename T> static void queue(const char *function, uint64_t id, const T &data)
{
	push(function, id, data);
	pop();
}

#define CALL(function, id, data, ns, kernel)                \
	do {                                                \
		push(function, id, data);                   \
		GPU_CHECK(GPU_LAUNCH(nullptr, ns, kernel)); \
		pop();                                      \
	} while (0)

static void start_group()
{
	push("ncclGroupStart");
	pop();
}

NOINLINE static void collectives()
{
	for (int i = 0; i < 3; i++)
		CALL("ncclAllReduce", ALL_REDUCE, (reduction{COMM, 64 * MIB, 0}), MILLISECOND,
		     ncclDevKernel_AllReduce_Sum_f32_RING_LL);
	CALL("ncclAllGather", ALL_GATHER, (call{COMM, MIB}), 100 * MICROSECOND,
	     ncclDevKernel_AllGather_RING_LL);
	CALL("ncclReduceScatter", REDUCE_SCATTER, (reduction{COMM, MIB, 4}), 200 * MICROSECOND,
	     ncclDevKernel_ReduceScatter_Sum_f32_RING_LL);
	CALL("ncclBroadcast", BROADCAST, (rooted{COMM, 12345, 2}), 10 * MICROSECOND,
	     ncclDevKernel_Broadcast_RING_LL);
	CALL("ncclSend", SEND, (rooted{COMM, 2 * MIB, 1}), 50 * MICROSECOND,
	     ncclDevKernel_SendRecv);
	/* ranks of the new communicator are not known */
	CALL("ncclAllReduce", ALL_REDUCE, (reduction{SPLIT, KIB, 7}), MICROSECOND,
	     ncclDevKernel_AllReduce_Sum_f32_RING_LL);
	/* a payload without a schema */
	CALL("ncclAllGatherV", FROM_LATER, (call{COMM, MIB}), 3 * MICROSECOND,
	     ncclDevKernel_AllGather_RING_LL);
}

#define END_GROUP(ns, kernel)                               \
	do {                                                \
		push("ncclGroupEnd");                       \
		GPU_CHECK(GPU_LAUNCH(nullptr, ns, kernel)); \
		pop();                                      \
	} while (0)

NOINLINE static void groups()
{
	start_group();
	for (int peer = 0; peer < 7; peer++) {
		queue("ncclSend", SEND, rooted{COMM, 4 * MIB, peer});
		start_group(); /* one inside the other */
		queue("ncclRecv", RECV, rooted{COMM, (size_t)peer * 1000, peer});
		push("ncclGroupEnd");
		pop();
	}
	END_GROUP(500 * MICROSECOND, ncclDevKernel_SendRecv);
	start_group();
	queue("ncclAllReduce", ALL_REDUCE, reduction{COMM, MIB, 0});
	queue("ncclAllGather", ALL_GATHER, call{SPLIT, KIB});
	END_GROUP(20 * MICROSECOND, ncclDevKernel_AllReduce_Sum_f32_RING_LL);
	start_group();
	queue("ncclAllReduce", ALL_REDUCE, reduction{COMM, 64 * MIB, 0});
	END_GROUP(MILLISECOND, ncclDevKernel_AllReduce_Sum_f32_RING_LL);
}

static void init_comms()
{
	init("ncclCommInitRankConfig", INIT_RANK_CONFIG, init_rank{COMM, 8, 3, 0});
	init("ncclCommSplit", COMM_SPLIT, split{SPLIT, COMM, 8, 3, 0, 1, 0});
}

static void in_graph()
{
	cudaGraphExec_t run;
	cudaStream_t stream;
	cudaGraph_t graph;

	GPU_CHECK(cudaStreamCreate(&stream));
	GPU_CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
	push("ncclAllReduce", ALL_REDUCE, reduction{COMM, MIB, 0});
	GPU_CHECK(GPU_LAUNCH(stream, 70 * MICROSECOND, ncclDevKernel_AllReduce_Sum_f32_RING_LL));
	pop();
	GPU_CHECK(cudaStreamEndCapture(stream, &graph));
	GPU_CHECK(cudaGraphInstantiate(&run, graph, 0));
	for (int i = 0; i < 5; i++)
		GPU_CHECK(cudaGraphLaunch(run, stream));
}

static void many_sizes()
{
	for (size_t i = 0; i < 20000; i++)
		CALL("ncclAllReduce", ALL_REDUCE, (reduction{COMM, 4 * i + 1, 0}), MICROSECOND,
		     ncclDevKernel_AllReduce_Sum_f32_RING_LL);
	CALL("ncclBroadcast", BROADCAST, (rooted{COMM, 4 * MIB, 0}), MICROSECOND,
	     ncclDevKernel_Broadcast_RING_LL);
}

static void old_calls()
{
	CALL("ncclAllReduce", ALL_REDUCE, (old_reduction{64 * MIB, 0}), MILLISECOND,
	     ncclDevKernel_AllReduce_Sum_f32_RING_LL);
	CALL("ncclBroadcast", BROADCAST, (old_rooted{12345, 0}), MILLISECOND,
	     ncclDevKernel_Broadcast_RING_LL);
	push("ncclSend", SEND, old_rooted{MIB, 1});
	start_group(); /* as its public function did */
	END_GROUP(MILLISECOND, ncclDevKernel_SendRecv);
	pop();
}

/* ---- what a program should not do ---- */

static void push_odd(const char *function, uint64_t id, size_t size, const void *data,
		     int32_t count)
{
	std::vector<nvtx_abi_payload> payloads(16, nvtx_abi_payload{FIRST_ID + id, size, data});

	push_payload(function, payloads.data(), count);
	pop();
}

static void be_odd(uint64_t number)
{
	static const reduction data = {COMM, MIB, 0};

	for (uint64_t i = 0; i < 2000; i++) {
		uint64_t id = i % 200;

		schema(number * 100 + id, i % 64,
		       {{i % 90, bytes_text, i},
			{INT, nullptr, 0},
			{UINT64, comm_text, UINT64_MAX}});
		for (size_t size : {(size_t)0, (size_t)3, (size_t)8, sizeof(data)})
			push_odd("ncclAllReduce", id, size, &data, 1);
		push_odd("ncclAllReduce", ALL_REDUCE, SIZE_MAX, nullptr, 1);
		push_odd("ncclAllReduce", ALL_REDUCE, sizeof(data), &data, 16);
		push_odd("ncclAllReduce", ALL_REDUCE, sizeof(data), &data, -1);
		init("ncclCommInitRank", INIT_RANK_CONFIG,
		     init_rank{i * number * 0x100000001 + 1, -1, -1, -1});
		nvtxRangePopPayload(domain, nullptr, SIZE_MAX);
		start_group();
		queue("ncclAllReduce", ALL_REDUCE, reduction{i, SIZE_MAX - i, -5});
		if (i % 100 == 0)
			for (int ends = 0; ends < 200; ends++) {
				push("ncclGroupEnd");
				pop();
			}
	}
	nvtxPayloadSchemaRegister(domain, nullptr);
}

static void hostile()
{
	std::vector<std::thread> threads;

	for (uint64_t i = 1; i <= 4; i++)
		threads.emplace_back(be_odd, i);
	for (std::thread &t : threads)
		t.join();
	CALL("ncclAllReduce", ALL_REDUCE, (reduction{COMM, 8 * MIB, 0}), MILLISECOND,
	     ncclDevKernel_AllReduce_Sum_f32_RING_LL);
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "new";

	is_old = strcmp(mode, "old") == 0;
	domain = nvtxDomainCreateA("NCCL");
	if (is_old)
		register_old();
	else
		register_new();
	if (!is_old)
		init_comms();
	if (is_old)
		old_calls();
	else if (strcmp(mode, "graph") == 0)
		in_graph();
	else if (strcmp(mode, "sizes") == 0)
		many_sizes();
	else if (strcmp(mode, "hostile") == 0)
		hostile();
	else {
		collectives();
		groups();
	}
	queue("ncclCommDestroy", DESTROY, init_rank{COMM, 8, 3, 0});
	return cudaDeviceSynchronize() != cudaSuccess;
}
