/* SPDX-License-Identifier: MIT */
/*
 * Shows what CUPTI costs by itself: a library for CUDA_INJECTION64_PATH that has the same recorded
 *as profile (kernels, copies, sets, allocations, unified memory), and throws the records away. At
 *the end it flushes, as profile does, and says on stderr how many bytes came and how many records
 *were dropped. Unified memory is watched on the first GPU.
 *
 * CUPTI_ONLY changes that: words with commas between them.
 *	kernels        no other records
 *	launch         an empty callback at each cudaLaunchKernel
 *	driver, all    empty callbacks at the functions that profile follows: of the driver, of both
 *	flush          cuptiActivityFlushAll each 250 ms, as profile
 *	buffer=BYTES   of activity buffers; otherwise 64 KiB, as profile's largest
 *	period=MS      cuptiActivityFlushPeriod
 *	timestamps     clock_gettime by callback
 *	hwtrace        kernels' times by the GPU's hardware events
 *	uvm-bytes, uvm-gpu-faults, uvm-cpu-faults
 *	               of unified memory only its migrations, or faults of one side
 *	device-buffer=BYTES, pool=N, preallocate=N, pinned=1, zeroed=1, per-thread=0
 *	               CUPTI's attributes
 */
#include <cupti.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cupti_trace/core/api_function.h"

/* functions that a CUPTI may lack */
#pragma weak cuptiActivityEnableHWTrace
#pragma weak cuptiActivityRegisterTimestampCallback

#define BUFFER_MOST (64u << 20)
#define CBIDS 1024u

static CUpti_SubscriberHandle subscriber;
static size_t buffer_size = 65536;
static int kernels_only, zeroed, hwtrace;
static unsigned int uvm_first, uvm_end = 5; /* records of the kinds below */
static size_t bytes, buffers, dropped;

/* Buffers to be given again: the first bytes point to the next. */
struct spare {
	struct spare *next;
};
static struct spare *spares;
static pthread_mutex_t spares_lock = PTHREAD_MUTEX_INITIALIZER;

static void report(const char *what, CUptiResult result)
{
	const char *error = "?";

	if (result == CUPTI_SUCCESS)
		return;
	cuptiGetResultString(result, &error);
	fprintf(stderr, "cupti_only: %s: %s\n", what, error);
}

static void watch_unified_memory(void)
{
	static const CUpti_ActivityUnifiedMemoryCounterKind kinds[] = {
		CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_HTOD,
		CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_DTOH,
		CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_DTOD,
		CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_GPU_PAGE_FAULT,
		CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_CPU_PAGE_FAULT_COUNT,
	};

	for (size_t i = uvm_first; i < uvm_end; i++) {
		CUpti_ActivityUnifiedMemoryCounterConfig config = {
			.scope = CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_SCOPE_PROCESS_SINGLE_DEVICE,
			.kind = kinds[i],
			.enable = 1,
		};

		report("unified memory", cuptiActivityConfigureUnifiedMemoryCounter(&config, 1));
	}
	report("unified memory", cuptiActivityEnable(CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER));
}

static void on_call(void *user, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void *data)
{
	(void)user;
	(void)data;
	if (domain != CUPTI_CB_DOMAIN_RESOURCE || id != CUPTI_CBID_RESOURCE_CONTEXT_CREATED)
		return;
	if (hwtrace && cuptiActivityEnableHWTrace)
		report("hwtrace", cuptiActivityEnableHWTrace(1));
	if (!kernels_only)
		watch_unified_memory();
}

static void give_buffer(uint8_t **buffer, size_t *size, size_t *records)
{
	struct spare *s;

	pthread_mutex_lock(&spares_lock);
	s = spares;
	if (s)
		spares = s->next;
	pthread_mutex_unlock(&spares_lock);
	if (s && zeroed)
		s->next = NULL;
	if (!s)
		s = calloc(1, buffer_size);
	*buffer = (uint8_t *)s;
	*size = s ? buffer_size : 0;
	*records = 0;
}

static void take_buffer(CUcontext context, uint32_t stream, uint8_t *buffer, size_t size,
			size_t valid)
{
	struct spare *s = (struct spare *)buffer;
	size_t lost = 0;

	(void)size;
	if (cuptiActivityGetNumDroppedRecords(context, stream, &lost) != CUPTI_SUCCESS)
		lost = 0;
	if (zeroed)
		memset(buffer, 0, valid);
	pthread_mutex_lock(&spares_lock);
	dropped += lost;
	bytes += valid;
	buffers++;
	s->next = spares;
	spares = s;
	pthread_mutex_unlock(&spares_lock);
}

static void on_exit_process(void)
{
	cuptiActivityFlushAll(1);
	fprintf(stderr, "cupti_only: %zu bytes in %zu buffers, %zu dropped\n", bytes, buffers,
		dropped);
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void *flusher_main(void *unused)
{
	for (;;) {
		usleep(250000);
		cuptiActivityFlushAll(0);
	}
	return unused;
}

static void start_flusher(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, flusher_main, NULL) == 0)
		pthread_detach(thread);
}

static void follow(CUpti_CallbackDomain domain)
{
	for (uint32_t id = 1; id < CBIDS; id++) {
		const char *name = NULL;

		if (cuptiGetCallbackName(domain, id, &name) == CUPTI_SUCCESS && name &&
		    api_function_of(name).meaning != API_NOTHING)
			cuptiEnableCallback(1, subscriber, domain, id);
	}
}

static void set_attribute(const char *word, size_t value)
{
	/* CUPTI takes larger ones, too */
	static const struct {
		const char *word;
		CUpti_ActivityAttribute attribute;
	} attributes[] = {
		{"device-buffer", CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_SIZE},
		{"pool", CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_POOL_LIMIT},
		{"preallocate", CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_PRE_ALLOCATE_VALUE},
		{"pinned", CUPTI_ACTIVITY_ATTR_MEM_ALLOCATION_TYPE_HOST_PINNED},
		{"zeroed", CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER},
		{"per-thread", CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER},
	};
	size_t size = sizeof(value);

	for (size_t i = 0; i < sizeof(attributes) / sizeof(attributes[0]); i++) {
		if (strcmp(word, attributes[i].word) != 0)
			continue;
		report(word, cuptiActivitySetAttribute(attributes[i].attribute, &size, &value));
		zeroed |= strcmp(word, "zeroed") == 0;
		return;
	}
	fprintf(stderr, "cupti_only: what is '%s'?\n", word);
	exit(2);
}

static void apply(char *word)
{
	char *value = strchr(word, '=');
	size_t number = 0;

	if (value) {
		*value = '\0';
		number = strtoul(value + 1, NULL, 10);
	}
	if (strcmp(word, "kernels") == 0)
		kernels_only = 1;
	else if (strcmp(word, "launch") == 0)
		cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_RUNTIME_API,
				    CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000);
	else if (strcmp(word, "driver") == 0)
		follow(CUPTI_CB_DOMAIN_DRIVER_API);
	else if (strcmp(word, "all") == 0)
		follow(CUPTI_CB_DOMAIN_RUNTIME_API), follow(CUPTI_CB_DOMAIN_DRIVER_API);
	else if (strcmp(word, "flush") == 0)
		start_flusher();
	else if (strcmp(word, "buffer") == 0 && number >= 1024 && number <= BUFFER_MOST)
		buffer_size = number;
	else if (strcmp(word, "period") == 0)
		report(word, cuptiActivityFlushPeriod((uint32_t)number));
	else if (strcmp(word, "timestamps") == 0 && cuptiActivityRegisterTimestampCallback)
		report(word, cuptiActivityRegisterTimestampCallback(now_ns));
	else if (strcmp(word, "hwtrace") == 0)
		hwtrace = 1;
	else if (strcmp(word, "uvm-bytes") == 0)
		uvm_end = 3;
	else if (strcmp(word, "uvm-gpu-faults") == 0)
		uvm_first = 3, uvm_end = 4;
	else if (strcmp(word, "uvm-cpu-faults") == 0)
		uvm_first = 4;
	else
		set_attribute(word, number);
}

static void apply_all(const char *words)
{
	char *copy = strdup(words), *rest = copy, *word;

	while ((word = strsep(&rest, ",")))
		if (*word)
			apply(word);
	free(copy);
}

int InitializeInjection(void)
{
	static const CUpti_ActivityKind others[] = {
		CUPTI_ACTIVITY_KIND_MEMCPY,         CUPTI_ACTIVITY_KIND_MEMCPY2,
		CUPTI_ACTIVITY_KIND_MEMSET,         CUPTI_ACTIVITY_KIND_MEMORY2,
		CUPTI_ACTIVITY_KIND_DEVICE,         CUPTI_ACTIVITY_KIND_CONTEXT,
		CUPTI_ACTIVITY_KIND_MEM_DECOMPRESS,
	};
	const char *words = getenv("CUPTI_ONLY");

	if (cuptiSubscribe(&subscriber, on_call, NULL) != CUPTI_SUCCESS)
		abort();
	apply_all(words ? words : "");
	if (cuptiActivityRegisterCallbacks(give_buffer, take_buffer) != CUPTI_SUCCESS ||
	    cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) != CUPTI_SUCCESS)
		abort();
	for (size_t i = 0; !kernels_only && i < sizeof(others) / sizeof(others[0]); i++)
		report("records", cuptiActivityEnable(others[i]));
	cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_RESOURCE,
			    CUPTI_CBID_RESOURCE_CONTEXT_CREATED);
	atexit(on_exit_process);
	return 1;
}
