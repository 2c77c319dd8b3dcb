/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "memory.h"
#include "fake_driver.h"
#include "../../cupti_trace/core/cupti_abi.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct allocation {
	uintptr_t address;
	size_t size;
	uint8_t kind; /* CUPTI_ABI_MEMORY_DEVICE or _PINNED */
	bool is_from_pool;
	struct fake_cuda_context *context;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct allocation *allocations; /* by address */
static size_t count, capacity;

#define POOL_PAGE (UINT64_C(32) << 20)
static struct {
	uint64_t held, used;
} pools[GPU_MAX_DEVICES];

/* With the lock held: the index of the first allocation that begins after the address. */
static size_t position(uintptr_t address)
{
	size_t low = 0, high = count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (allocations[middle].address <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* The allocation that contains an address; kind 0: none. */
static struct allocation find(const void *address)
{
	struct allocation found = {0};
	size_t at;

	pthread_mutex_lock(&lock);
	at = position((uintptr_t)address);
	if (at && (uintptr_t)address - allocations[at - 1].address < allocations[at - 1].size)
		found = allocations[at - 1];
	pthread_mutex_unlock(&lock);
	return found;
}

static bool add(const struct allocation *a)
{
	bool added = false;
	size_t at;

	pthread_mutex_lock(&lock);
	if (count == capacity) {
		size_t n = capacity ? 2 * capacity : 64;
		struct allocation *grown = realloc(allocations, n * sizeof(*grown));

		if (!grown)
			goto out;
		allocations = grown;
		capacity = n;
	}
	at = position(a->address);
	memmove(&allocations[at + 1], &allocations[at], (count - at) * sizeof(*a));
	allocations[at] = *a;
	count++;
	added = true;
out:
	pthread_mutex_unlock(&lock);
	return added;
}

/* Remove the allocation of this kind that begins at an address. */
static bool remove_allocation(void *address, uint8_t kind, struct allocation *taken)
{
	bool found = false;
	size_t at;

	pthread_mutex_lock(&lock);
	at = position((uintptr_t)address);
	if (at && allocations[at - 1].address == (uintptr_t)address &&
	    allocations[at - 1].kind == kind) {
		*taken = allocations[at - 1];
		memmove(&allocations[at - 1], &allocations[at],
			(count - at) * sizeof(allocations[0]));
		count--;
		found = true;
	}
	pthread_mutex_unlock(&lock);
	return found;
}

void memory_forget(const struct fake_cuda_context *context)
{
	size_t kept = 0;

	pthread_mutex_lock(&lock);
	for (size_t i = 0; i < count; i++) {
		if (allocations[i].context == context)
			free((void *)allocations[i].address);
		else
			allocations[kept++] = allocations[i];
	}
	count = kept;
	pthread_mutex_unlock(&lock);
}

/* ---- pools: they hold whole pages, and hand out multiples of 512 bytes ---- */

static uint64_t pages(uint64_t bytes)
{
	return (bytes + POOL_PAGE - 1) / POOL_PAGE * POOL_PAGE;
}

static void use_pool(struct fake_cuda_activity *activity, const struct allocation *a)
{
	uint32_t device = activity->device_id;
	uint64_t bytes = (a->size + 511) / 512 * 512;

	pthread_mutex_lock(&lock);
	if (activity->operation == CUPTI_ABI_MEMORY_ALLOCATION)
		pools[device].used += bytes;
	else
		pools[device].used -= bytes;
	if (pools[device].held < pools[device].used)
		pools[device].held = pages(pools[device].used);
	activity->pool = memory_pool_address(device);
	activity->held = pools[device].held;
	activity->used = pools[device].used;
	pthread_mutex_unlock(&lock);
}

uint64_t memory_pool_address(uint32_t device)
{
	return (uintptr_t)&pools[device];
}

void memory_pool_state(uint32_t device, uint64_t *held, uint64_t *used)
{
	pthread_mutex_lock(&lock);
	*held = pools[device].held;
	*used = pools[device].used;
	pthread_mutex_unlock(&lock);
}

void memory_pool_trim(uint32_t device, uint64_t keep)
{
	struct fake_cuda_activity activity = {.type = FAKE_CUDA_POOL,
					      .device_id = device,
					      .stream_id = (uint32_t)FAKE_CUDA_NO_STREAM,
					      .correlation_id = driver_correlation_id(),
					      .start = gpu_now(),
					      .operation = CUPTI_ABI_POOL_TRIMMED,
					      .pool = memory_pool_address(device)};

	pthread_mutex_lock(&lock);
	keep = pages(keep > pools[device].used ? keep : pools[device].used);
	if (pools[device].held > keep)
		pools[device].held = keep;
	activity.held = pools[device].held;
	activity.used = pools[device].used;
	pthread_mutex_unlock(&lock);
	activity.end = activity.start;
	driver_notify_activity(&activity);
}

/* Report and count an allocation or release. */
static void announce(const struct allocation *a, uint32_t operation,
		     struct fake_cuda_stream *stream)
{
	struct fake_cuda_place place = gpu_place(a->context);
	struct fake_cuda_activity activity = {
		.type = FAKE_CUDA_MEMORY,
		.device_id = place.device_id,
		.context_id = place.context_id,
		.stream_id = stream ? gpu_stream_id(stream) : (uint32_t)FAKE_CUDA_NO_STREAM,
		.correlation_id = driver_correlation_id(),
		.start = gpu_now(),
		.bytes = a->size,
		.async = stream != NULL,
		.destination_kind = a->kind,
		.operation = operation,
		.address = a->address,
	};

	if (a->is_from_pool)
		use_pool(&activity, a);
	activity.end = activity.start;
	gpu_count_memory(operation, a->size);
	driver_notify_activity(&activity);
}

void memory_record(uint64_t address, uint64_t size, uint32_t operation)
{
	struct fake_cuda_place place;
	struct fake_cuda_activity activity = {
		.type = FAKE_CUDA_MEMORY,
		.stream_id = (uint32_t)FAKE_CUDA_NO_STREAM,
		.correlation_id = driver_correlation_id(),
		.start = gpu_now(),
		.bytes = size,
		.destination_kind = CUPTI_ABI_MEMORY_DEVICE,
		.operation = operation,
		.address = address,
	};

	if (!gpu_config()->memory_records || !gpu_current())
		return;
	place = gpu_place(gpu_current());
	activity.device_id = place.device_id;
	activity.context_id = place.context_id;
	activity.end = activity.start;
	driver_notify_activity(&activity);
}

static int allocate(struct allocation *a, void **address, size_t size, uint8_t kind,
		    bool is_from_pool)
{
	void *memory;

	if (!address || !size)
		return FAKE_CUDA_ERROR_INVALID_VALUE;
	if (!gpu_current())
		return FAKE_CUDA_ERROR_INVALID_CONTEXT;
	memory = aligned_alloc(256, (size + 255) / 256 * 256); /* as guaranteed by cudaMalloc */
	if (!memory)
		return FAKE_CUDA_ERROR_OUT_OF_MEMORY;
	*a = (struct allocation){(uintptr_t)memory, size, kind, is_from_pool, gpu_current()};
	if (!add(a)) {
		free(memory);
		return FAKE_CUDA_ERROR_OUT_OF_MEMORY;
	}
	*address = memory;
	return 0;
}

int memory_allocate(void **address, size_t size, uint8_t kind, struct fake_cuda_stream *stream)
{
	struct allocation a;
	int err = allocate(&a, address, size, kind, stream != NULL);

	if (!err)
		announce(&a, CUPTI_ABI_MEMORY_ALLOCATION, stream);
	return err;
}

int memory_reserve(void **address, size_t size, uint8_t kind)
{
	struct allocation a;

	return allocate(&a, address, size, kind, false);
}

bool memory_known(const void *address, uint8_t kind)
{
	return find(address).kind == kind;
}

int memory_release(void *address, uint8_t kind, struct fake_cuda_stream *stream)
{
	struct allocation a;

	if (!remove_allocation(address, kind, &a))
		return FAKE_CUDA_ERROR_INVALID_VALUE;
	announce(&a, CUPTI_ABI_MEMORY_RELEASE, stream);
	free(address);
	return 0;
}

/* Bytes from the first to the last in a rectangle. */
static size_t span(size_t pitch, size_t width, size_t height)
{
	return (height - 1) * pitch + width;
}

static bool reaches(const struct allocation *a, const void *address, size_t bytes)
{
	return bytes <= a->size - ((uintptr_t)address - a->address);
}

/* Look an address up and check the call's claims about it. */
static int locate(struct allocation *a, const void *address, size_t bytes, enum memory_side side)
{
	bool on_device;

	if (!address)
		return FAKE_CUDA_ERROR_INVALID_VALUE;
	*a = find(address);
	on_device = a->kind == CUPTI_ABI_MEMORY_DEVICE;
	if (side != MEMORY_ANYWHERE && on_device != (side == MEMORY_ON_DEVICE))
		return FAKE_CUDA_ERROR_INVALID_VALUE;
	if (a->kind && !reaches(a, address, bytes))
		return FAKE_CUDA_ERROR_INVALID_VALUE;
	return 0;
}

static uint64_t duration(uint64_t bytes)
{
	const struct gpu_config *c = gpu_config();

	return c->copy_duration + bytes * 1000 / c->copy_bytes_per_us;
}

static uint8_t copy_kind(const struct allocation *to, const struct allocation *from)
{
	bool to_device = to->kind == CUPTI_ABI_MEMORY_DEVICE;
	bool from_device = from->kind == CUPTI_ABI_MEMORY_DEVICE;

	if (to_device && from_device)
		return gpu_place(to->context).device_id == gpu_place(from->context).device_id
			       ? CUPTI_ABI_MEMCPY_DTOD
			       : CUPTI_ABI_MEMCPY_PTOP;
	if (to_device)
		return CUPTI_ABI_MEMCPY_HTOD;
	return from_device ? CUPTI_ABI_MEMCPY_DTOH : CUPTI_ABI_MEMCPY_HTOH;
}

static uint8_t record_kind(const struct allocation *a)
{
	return a->kind ? a->kind : CUPTI_ABI_MEMORY_PAGEABLE;
}

int memory_copy_work(struct gpu_work *work, const struct memory_copy *copy)
{
	const struct gpu_bytes *b = &copy->bytes;
	struct allocation to, from;
	int err;

	err = locate(&to, b->to, span(b->to_pitch, b->width, b->height), copy->to);
	if (!err)
		err = locate(&from, b->from, span(b->from_pitch, b->width, b->height), copy->from);
	if (err)
		return err;
	*work = (struct gpu_work){
		.activity = {.type = FAKE_CUDA_COPY,
			     .bytes = b->width * b->height,
			     .async = copy->async,
			     .copy_kind = copy_kind(&to, &from),
			     .source_kind = record_kind(&from),
			     .destination_kind = record_kind(&to)},
		.bytes = *b,
	};
	if (work->activity.copy_kind == CUPTI_ABI_MEMCPY_PTOP) {
		work->activity.source = gpu_place(from.context);
		work->activity.destination = gpu_place(to.context);
	}
	work->duration = duration(work->activity.bytes);
	return 0;
}

int memory_set_work(struct gpu_work *work, const struct gpu_bytes *bytes, uint32_t value,
		    bool async)
{
	size_t width = bytes->width * bytes->value_size;
	struct allocation to;
	int err;

	if ((uintptr_t)bytes->to % bytes->value_size)
		return FAKE_CUDA_ERROR_INVALID_VALUE;
	err = locate(&to, bytes->to, span(bytes->to_pitch, width, bytes->height), MEMORY_ANYWHERE);
	if (!err && !to.kind)
		err = FAKE_CUDA_ERROR_INVALID_VALUE; /* the device cannot reach pageable memory */
	if (err)
		return err;
	*work = (struct gpu_work){
		.activity = {.type = FAKE_CUDA_SET,
			     .bytes = width * bytes->height,
			     .async = async,
			     .destination_kind = to.kind,
			     .value = value},
		.bytes = *bytes,
	};
	work->duration = duration(work->activity.bytes);
	return 0;
}

/* A graph may outlive the memory of its nodes: released memory must not be written. */
static bool plausible(const void *address, uint8_t kind, size_t bytes)
{
	struct allocation a = find(address);

	if (kind == CUPTI_ABI_MEMORY_PAGEABLE)
		return !a.kind;
	return a.kind == kind && reaches(&a, address, bytes);
}

static void set_row(void *to, size_t n, unsigned int size, uint32_t value)
{
	for (size_t i = 0; i < n; i++)
		memcpy((char *)to + i * size, &value, size); /* little endian */
}

static void set_rows(const struct gpu_work *work)
{
	const struct gpu_bytes *b = &work->bytes;
	size_t bytes = span(b->to_pitch, b->width * b->value_size, b->height);

	if (!plausible(b->to, work->activity.destination_kind, bytes))
		return;
	for (size_t row = 0; row < b->height; row++)
		set_row((char *)b->to + row * b->to_pitch, b->width, b->value_size,
			work->activity.value);
}

static void copy_rows(const struct gpu_work *work)
{
	const struct fake_cuda_activity *a = &work->activity;
	const struct gpu_bytes *b = &work->bytes;

	if (!plausible(b->to, a->destination_kind, span(b->to_pitch, b->width, b->height)) ||
	    !plausible(b->from, a->source_kind, span(b->from_pitch, b->width, b->height)))
		return;
	for (size_t row = 0; row < b->height; row++)
		memmove((char *)b->to + row * b->to_pitch,
			(const char *)b->from + row * b->from_pitch, b->width);
}

void memory_move(const struct gpu_work *work)
{
	if (work->activity.type == FAKE_CUDA_COPY)
		copy_rows(work);
	else if (work->activity.type == FAKE_CUDA_SET)
		set_rows(work);
}
