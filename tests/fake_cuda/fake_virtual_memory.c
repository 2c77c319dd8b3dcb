/* SPDX-License-Identifier: MIT */
/*
 * Virtual memory management of the fake libcuda.so.1: addresses are reserved, physical memory is
 * created and mapped there. As strict as the documentation of the driver's interface: sizes are
 * multiples of 2 MiB, a range is unmapped as it was mapped, and memory is given back when its
 * handle was released as often as it was created or retained and nothing maps it. A handle is the
 * address of its description, so those of memory that was given back come again.
 *
 * CUPTI has no records of it, but with FAKE_CUDA_MEMORY_RECORDS: "create" has those of physical
 * memory, by its handle, "map" those of mappings. Nothing is ever read or written there.
 */
#define _GNU_SOURCE
#include "fake_driver.h"
#include "cbid.h"
#include "memory.h"
#include "cuda_driver_subset.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define GRANULARITY (UINT64_C(2) << 20)
#define FIRST_ADDRESS UINT64_C(0x7e0000000000)
#define RANGES 4096

struct physical {
	size_t size;
	unsigned int references, mappings;
	struct physical *next;
};

struct range {
	uint64_t address, size;
	struct physical *memory; /* NULL: a reservation */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct physical *all;
static struct range reserved[RANGES], mapped[RANGES];
static size_t reserved_count, mapped_count;

/* ---- all with the lock held ---- */

static struct note {
	uint64_t address, size;
	uint32_t operation; /* 0: none */
} note;

/* The effect of a call, to be recorded when it has succeeded; with the lock held. */
static void note_record(const char *kind, uint64_t address, uint64_t size, uint32_t operation)
{
	const char *kinds = gpu_config()->memory_records;

	if (kinds && strcmp(kinds, kind) == 0)
		note = (struct note){address, size, operation};
}

static bool is_whole(uint64_t size)
{
	return size && size % GRANULARITY == 0;
}

static struct physical *find(unsigned long long handle)
{
	struct physical *p = all;

	while (p && (uintptr_t)p != handle)
		p = p->next;
	return p && p->references ? p : NULL;
}

static void give_back(struct physical *memory)
{
	struct physical **at = &all;

	if (memory->references || memory->mappings)
		return;
	while (*at != memory)
		at = &(*at)->next;
	*at = memory->next;
	note_record("create", (uintptr_t)memory, memory->size, CUPTI_ABI_MEMORY_RELEASE);
	free(memory);
}

static bool overlaps(const struct range *r, uint64_t address, uint64_t size)
{
	return address < r->address + r->size && r->address < address + size;
}

static int create(unsigned long long *handle, size_t size, const CUmemAllocationProp *prop,
		  unsigned long long flags)
{
	struct physical *made;

	if (!handle || !prop || flags || prop->type != CU_MEM_ALLOCATION_TYPE_PINNED ||
	    !is_whole(size))
		return FAKE_CUDA_ERROR_INVALID_VALUE;
	if (prop->location.type == CU_MEM_LOCATION_TYPE_DEVICE &&
	    (prop->location.id < 0 || prop->location.id >= gpu_config()->devices))
		return FAKE_CUDA_ERROR_INVALID_DEVICE;
	made = calloc(1, sizeof(*made));
	if (!made)
		return FAKE_CUDA_ERROR_OUT_OF_MEMORY;
	made->size = size;
	made->references = 1;
	made->next = all;
	all = made;
	*handle = (uintptr_t)made;
	note_record("create", *handle, size, CUPTI_ABI_MEMORY_ALLOCATION);
	return 0;
}

static int release(unsigned long long handle)
{
	struct physical *memory = find(handle);

	if (!memory)
		return FAKE_CUDA_ERROR_INVALID_VALUE;
	memory->references--;
	give_back(memory);
	return 0;
}

static int reserve(CUdeviceptr *address, size_t size, size_t alignment, CUdeviceptr wanted,
		   unsigned long long flags)
{
	uint64_t at = FIRST_ADDRESS;

	if (!address || flags || wanted || !is_whole(size) || (alignment & (alignment - 1)))
		return FAKE_CUDA_ERROR_INVALID_VALUE;
	if (reserved_count == RANGES)
		return FAKE_CUDA_ERROR_OUT_OF_MEMORY;
	/* the lowest place: addresses come again, too */
	for (size_t i = 0; i < reserved_count; i++) {
		if (!overlaps(&reserved[i], at, size))
			continue;
		at = reserved[i].address + reserved[i].size;
		i = (size_t)-1;
	}
	reserved[reserved_count++] = (struct range){at, size, NULL};
	*address = at;
	return 0;
}

static int give_address_back(CUdeviceptr address, size_t size)
{
	for (size_t i = 0; i < mapped_count; i++)
		if (overlaps(&mapped[i], address, size))
			return FAKE_CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < reserved_count; i++)
		if (reserved[i].address == address && reserved[i].size == size) {
			reserved[i] = reserved[--reserved_count];
			return 0;
		}
	return FAKE_CUDA_ERROR_INVALID_VALUE;
}

static int map(CUdeviceptr address, size_t size, size_t offset, unsigned long long handle,
	       unsigned long long flags)
{
	struct physical *memory = find(handle);
	bool is_reserved = false;

	if (!memory || flags || offset || !is_whole(size) || size > memory->size)
		return FAKE_CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < reserved_count; i++)
		is_reserved |= address >= reserved[i].address &&
			       address + size <= reserved[i].address + reserved[i].size;
	for (size_t i = 0; i < mapped_count; i++)
		is_reserved &= !overlaps(&mapped[i], address, size);
	if (!is_reserved)
		return FAKE_CUDA_ERROR_INVALID_VALUE;
	if (mapped_count == RANGES)
		return FAKE_CUDA_ERROR_OUT_OF_MEMORY;
	mapped[mapped_count++] = (struct range){address, size, memory};
	memory->mappings++;
	note_record("map", address, size, CUPTI_ABI_MEMORY_ALLOCATION);
	return 0;
}

/* Whole mappings, and nothing else. */
static int unmap(CUdeviceptr address, size_t size)
{
	uint64_t covered = 0;

	for (size_t i = 0; i < mapped_count; i++) {
		if (!overlaps(&mapped[i], address, size))
			continue;
		if (mapped[i].address < address ||
		    mapped[i].address + mapped[i].size > address + size)
			return FAKE_CUDA_ERROR_INVALID_VALUE;
		covered += mapped[i].size;
	}
	if (!size || covered != size)
		return FAKE_CUDA_ERROR_INVALID_VALUE;
	note_record("map", address, size, CUPTI_ABI_MEMORY_RELEASE);
	for (size_t i = 0; i < mapped_count;) {
		struct physical *memory = mapped[i].memory;

		if (!overlaps(&mapped[i], address, size)) {
			i++;
			continue;
		}
		mapped[i] = mapped[--mapped_count];
		memory->mappings--;
		give_back(memory);
	}
	return 0;
}

static int retain(unsigned long long *handle, void *address)
{
	for (size_t i = 0; i < mapped_count; i++) {
		if (!handle || !overlaps(&mapped[i], (uintptr_t)address, 1))
			continue;
		mapped[i].memory->references++;
		*handle = (uintptr_t)mapped[i].memory;
		return 0;
	}
	return FAKE_CUDA_ERROR_INVALID_VALUE;
}

/* ---- entry points ---- */

/* No callback runs with the lock held. */
static int finish(int result)
{
	struct note made = note;

	note.operation = 0;
	pthread_mutex_unlock(&lock);
	if (result == 0 && made.operation)
		memory_record(made.address, made.size, made.operation);
	return result;
}

#define UNPACK(...) __VA_ARGS__
#define LOCKED(expression) (pthread_mutex_lock(&lock), finish(expression))
#define ENTRY(api, parameters, arguments, fields, expression) \
	FAKE_CUDA_EXPORT int api parameters                   \
	{                                                     \
		struct {                                      \
			fields                                \
		} params = {UNPACK arguments};                \
		DRIVER_CALL(api, LOCKED(expression));         \
	}

typedef const CUmemAllocationProp *properties;

ENTRY(cuMemGetAllocationGranularity, (size_t * size, properties prop, int option),
      (size, prop, option), size_t *size;
      properties prop; int option;
      , size &&prop ? (*size = GRANULARITY, 0) : FAKE_CUDA_ERROR_INVALID_VALUE)
ENTRY(cuMemCreate,
      (unsigned long long *handle, size_t size, properties prop, unsigned long long flags),
      (handle, size, prop, flags), unsigned long long *handle;
      size_t size; properties prop; unsigned long long flags;, create(handle, size, prop, flags))
ENTRY(cuMemRelease, (unsigned long long handle), (handle), unsigned long long handle;
      , release(handle))
ENTRY(cuMemRetainAllocationHandle, (unsigned long long *handle, void *address), (handle, address),
      unsigned long long *handle;
      void *address;, retain(handle, address))
ENTRY(cuMemAddressReserve,
      (CUdeviceptr * address, size_t size, size_t alignment, CUdeviceptr wanted,
       unsigned long long flags),
      (address, size, alignment, wanted, flags), CUdeviceptr *address;
      size_t size; size_t alignment; CUdeviceptr wanted; unsigned long long flags;
      , reserve(address, size, alignment, wanted, flags))
ENTRY(cuMemAddressFree, (CUdeviceptr address, size_t size), (address, size), CUdeviceptr address;
      size_t size;, give_address_back(address, size))
ENTRY(cuMemMap,
      (CUdeviceptr address, size_t size, size_t offset, unsigned long long handle,
       unsigned long long flags),
      (address, size, offset, handle, flags), CUdeviceptr address;
      size_t size; size_t offset; unsigned long long handle; unsigned long long flags;
      , map(address, size, offset, handle, flags))
ENTRY(cuMemUnmap, (CUdeviceptr address, size_t size), (address, size), CUdeviceptr address;
      size_t size;, unmap(address, size))
