/* SPDX-License-Identifier: MIT */
/*
 * The smallest tracer: a library for CUDA_INJECTION64_PATH that appends what CUPTI reports to the
 * file named by PRINTER_OUT. It checks the stand-ins against themselves, and shows, when the
 * profiler's own library fails a test, which of the two is wrong.
 *
 *	PID kernel NAME START END CORRELATION DEVICE CONTEXT STREAM GRAPH NODE	(CUPTI's clock)
 *	PID memcpy KIND START END CORRELATION DEVICE CONTEXT STREAM GRAPH NODE BYTES	(HtoD,
 *PtoP...) PID memset - START END CORRELATION DEVICE CONTEXT STREAM GRAPH NODE BYTES PID memory
 *alloc|free TIME CORRELATION DEVICE CONTEXT STREAM BYTES PID graph - START END CORRELATION DEVICE
 *CONTEXT STREAM GRAPH PID launches N	launch calls that began, counted once each PID dropped N
 *
 * Of kernels alone, unless PRINTER_KINDS lists the numbers of other kinds, as in "1 2 22 49".
 */
#define _GNU_SOURCE
#include "cbid.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { BUFFER_SIZE = 1 << 20 };

static struct {
#define X(name, required, parameters) int(*name) parameters;
	CUPTI_ABI_FUNCTIONS(X)
#undef X
} cupti;

static FILE *out;
static pid_t owner;
static uint64_t launches;
static __thread int depth; /* depth of launch calls: a runtime launch nests a driver launch */

static void on_callback(void *userdata, uint32_t domain, uint32_t cbid, const void *data)
{
	const struct cupti_abi_callback_data *call = data;

	(void)userdata, (void)cbid;
	if (domain == CUPTI_ABI_DOMAIN_RESOURCE) {
		cupti.cuptiActivityFlushAll(CUPTI_ABI_FLUSH_FORCED);
		return;
	}
	if (call->callback_site == CUPTI_ABI_API_EXIT)
		depth--;
	else if (depth++ == 0)
		__atomic_add_fetch(&launches, 1, __ATOMIC_RELAXED);
}

static void requested(uint8_t **buffer, size_t *size, size_t *max_num_records)
{
	*buffer = aligned_alloc(8, BUFFER_SIZE);
	*size = *buffer ? BUFFER_SIZE : 0;
	*max_num_records = 0;
}

static void print_kernel(const struct cupti_abi_kernel *k)
{
	fprintf(out, "%d kernel %s %llu %llu %u %u %u %u %u %llu\n", (int)owner, k->name,
		(unsigned long long)k->start, (unsigned long long)k->end, k->correlation_id,
		k->device_id, k->context_id, k->stream_id, k->graph_id,
		(unsigned long long)k->graph_node_id);
}

/* The common fields of copies and sets have other places in each of their records. */
#define PRINT_WORK(r, what, name)                                                                  \
	fprintf(out, "%d %s %s %llu %llu %u %u %u %u %u %llu %llu\n", (int)owner, what, name,      \
		(unsigned long long)(r)->start, (unsigned long long)(r)->end, (r)->correlation_id, \
		(r)->device_id, (r)->context_id, (r)->stream_id, (r)->graph_id,                    \
		(unsigned long long)(r)->graph_node_id, (unsigned long long)(r)->bytes)

static void print_memory(const struct cupti_abi_memory *m)
{
	fprintf(out, "%d memory %s %llu %u %u %u %u %llu\n", (int)owner,
		m->operation == CUPTI_ABI_MEMORY_ALLOCATION ? "alloc" : "free",
		(unsigned long long)m->timestamp, m->correlation_id, m->device_id, m->context_id,
		m->stream_id, (unsigned long long)m->bytes);
}

static void print_graph(const struct cupti_abi_graph_trace *g)
{
	fprintf(out, "%d graph - %llu %llu %u %u %u %u %u\n", (int)owner,
		(unsigned long long)g->start, (unsigned long long)g->end, g->correlation_id,
		g->device_id, g->context_id, g->stream_id, g->graph_id);
}

static void print_other(const struct cupti_abi_activity *record)
{
	static const char *const kinds[] = {"-",    "HtoD", "DtoH", "HtoA", "AtoH", "AtoA",
					    "AtoD", "DtoA", "DtoD", "HtoH", "PtoP"};
	const struct cupti_abi_memcpy *copy = (const void *)record;
	const struct cupti_abi_memcpy_peer *peer = (const void *)record;
	const struct cupti_abi_memset *set = (const void *)record;

	if (record->kind == CUPTI_ABI_ACTIVITY_KIND_MEMCPY)
		PRINT_WORK(copy, "memcpy", kinds[copy->copy_kind]);
	else if (record->kind == CUPTI_ABI_ACTIVITY_KIND_MEMCPY2)
		PRINT_WORK(peer, "memcpy", kinds[peer->copy_kind]);
	else if (record->kind == CUPTI_ABI_ACTIVITY_KIND_MEMSET)
		PRINT_WORK(set, "memset", "-");
	else if (record->kind == CUPTI_ABI_ACTIVITY_KIND_MEMORY2)
		print_memory((const void *)record);
	else if (record->kind == CUPTI_ABI_ACTIVITY_KIND_GRAPH_TRACE)
		print_graph((const void *)record);
}

static void completed(void *context, uint32_t stream_id, uint8_t *buffer, size_t size,
		      size_t valid_size)
{
	struct cupti_abi_activity *record = NULL;

	(void)context, (void)stream_id, (void)size;
	while (cupti.cuptiActivityGetNextRecord(buffer, valid_size, &record) == 0) {
		if (record->kind == CUPTI_ABI_ACTIVITY_KIND_CONCURRENT_KERNEL)
			print_kernel((const void *)record);
		else
			print_other(record);
	}
	free(buffer);
}

static void at_exit(void)
{
	size_t dropped = 0;

	if (getpid() != owner)
		return;
	cupti.cuptiActivityFlushAll(CUPTI_ABI_FLUSH_FORCED);
	cupti.cuptiActivityGetNumDroppedRecords(NULL, 0, &dropped);
	fprintf(out, "%d launches %llu\n%d dropped %zu\n", (int)owner, (unsigned long long)launches,
		(int)owner, dropped);
	fclose(out);
}

static void enable_kinds(const char *list)
{
	char *end;

	for (; list && *list; list = end) {
		uint32_t kind = (uint32_t)strtoul(list, &end, 10);

		if (end == list)
			break;
		cupti.cuptiActivityEnable(kind);
	}
}

int InitializeInjection(void);

__attribute__((visibility("default"))) int InitializeInjection(void)
{
	static const uint32_t runtime[] = {FAKE_RT_cudaLaunchKernel, FAKE_RT_cudaLaunchKernel_ptsz,
					   FAKE_RT_cudaLaunchCooperativeKernel,
					   FAKE_RT_cudaGraphLaunch, FAKE_RT_cudaLaunchKernelExC};
	static const uint32_t driver[] = {FAKE_DRV_cuLaunchKernel, FAKE_DRV_cuLaunchKernel_ptsz,
					  FAKE_DRV_cuLaunchCooperativeKernel,
					  FAKE_DRV_cuGraphLaunch, FAKE_DRV_cuLaunchKernelEx};
	void *library = dlopen("libcupti.so.13", RTLD_NOW);
	const char *path = getenv("PRINTER_OUT");
	cupti_abi_subscriber subscriber;

	if (!library || !path)
		return 0;
#define X(name, required, parameters)                  \
	*(void **)&cupti.name = dlsym(library, #name); \
	if (!cupti.name)                               \
		return 0;
	CUPTI_ABI_FUNCTIONS(X)
#undef X
	out = fopen(path, "ae");
	owner = getpid();
	if (!out || cupti.cuptiSubscribe(&subscriber, on_callback, NULL))
		return 0;
	for (size_t i = 0; i < sizeof(runtime) / sizeof(runtime[0]); i++) {
		cupti.cuptiEnableCallback(1, subscriber, CUPTI_ABI_DOMAIN_RUNTIME_API, runtime[i]);
		cupti.cuptiEnableCallback(1, subscriber, CUPTI_ABI_DOMAIN_DRIVER_API, driver[i]);
	}
	cupti.cuptiEnableCallback(1, subscriber, CUPTI_ABI_DOMAIN_RESOURCE,
				  CUPTI_ABI_RESOURCE_CONTEXT_DESTROY_STARTING);
	cupti.cuptiActivityRegisterCallbacks(requested, completed);
	cupti.cuptiActivityEnable(CUPTI_ABI_ACTIVITY_KIND_CONCURRENT_KERNEL);
	enable_kinds(getenv("PRINTER_KINDS"));
	atexit(at_exit);
	return 1;
}
