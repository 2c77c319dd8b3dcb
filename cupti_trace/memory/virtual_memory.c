// SPDX-License-Identifier: MIT
#include "cupti_trace/memory/virtual_memory.h"

#include <pthread.h>
#include <string.h>
#include "cupti_trace/core/api_function.h"
#include "cupti_trace/core/guest.h"
#include "cupti_trace/memory/followed_memory.h"
#include "symbolize/util/array.h"
#include "symbolize/util/hash_index.h"

#define NONE UINT32_MAX

enum call {
	OTHER,
	CREATE,
	RELEASE,
	MAP,
	UNMAP,
	RETAIN,
	/* takes no memory, whatever CUPTI records */
	RESERVE,
	FREE,
	ACCESS,
	IMPORT,
	CALLS
};
static const char *const names[CALLS] = {[CREATE] = "cuMemCreate",
					 [RELEASE] = "cuMemRelease",
					 [MAP] = "cuMemMap",
					 [UNMAP] = "cuMemUnmap",
					 [RETAIN] = "cuMemRetainAllocationHandle",
					 [RESERVE] = "cuMemAddressReserve",
					 [FREE] = "cuMemAddressFree",
					 [ACCESS] = "cuMemSetAccess",
					 [IMPORT] = "cuMemImportFromShareableHandle"};
static uint8_t calls[CBIDS]; /* enum call */

/* Physical memory. */
struct piece {
	uint64_t handle, bytes, id; /* the id stands for an address, and is unique */
	uint32_t references, mappings;
	uint32_t device, memory;
	uint32_t next_free;
	bool is_known; /* findable by its handle, which no other piece has meanwhile */
};

struct mapping {
	uint64_t address, bytes;
	uint32_t piece;
	uint32_t next; /* next in a list of mappings that end in one call, or of free entries */
};

static uint32_t max = VIRTUAL_MEMORY_MAX; /* limit of pieces, and of mappings */

/* Protected by the lock. */
static struct {
	pthread_mutex_t lock;
	struct piece *pieces;
	uint32_t piece_count, piece_capacity, free_piece;
	struct hash_index by_handle;
	struct mapping *mappings;
	uint32_t mapping_count, mapping_capacity, free_mapping;
	struct hash_index by_address;
} all = {.lock = PTHREAD_MUTEX_INITIALIZER, .free_piece = NONE, .free_mapping = NONE};

/* Subject of the thread's call, found at its entry. */
static __thread struct {
	bool is_open;
	uint32_t piece, mappings;
	uint64_t timestamp; /* CUPTI's */
} own;

/* ---- functions ---- */

static enum call call_named(const char *name)
{
	for (enum call i = CREATE; i < CALLS; i++)
		if (strcmp(name, names[i]) == 0)
			return i;
	return OTHER;
}

bool virtual_memory_has(const char *name)
{
	return call_named(name) != OTHER;
}

void virtual_memory_add_function(uint32_t cbid, const char *name)
{
	if (cbid < CBIDS)
		calls[cbid] = (uint8_t)call_named(name);
}

void virtual_memory_set_max(uint32_t number)
{
	max = number;
}

/* ---- pieces and mappings, with the lock held ---- */

static bool has_handle(const void *records, uint32_t position, const void *key)
{
	return ((const struct piece *)records)[position].handle == *(const uint64_t *)key;
}

static bool has_address(const void *records, uint32_t position, const void *key)
{
	return ((const struct mapping *)records)[position].address == *(const uint64_t *)key;
}

static uint32_t find_piece(uint64_t handle)
{
	return hash_index_find(&all.by_handle, hash_number(handle), has_handle, all.pieces,
			       &handle);
}

static uint32_t find_mapping(uint64_t address)
{
	return hash_index_find(&all.by_address, hash_number(address), has_address, all.mappings,
			       &address);
}

static void forget_handle(uint32_t piece)
{
	struct piece *p = &all.pieces[piece];

	if (p->is_known)
		hash_index_remove(&all.by_handle, hash_number(p->handle), piece);
	p->is_known = false;
}

/* Returns a new piece, or NONE. */
static uint32_t new_piece(void)
{
	uint32_t at = all.free_piece;

	if (at != NONE) {
		all.free_piece = all.pieces[at].next_free;
		return at;
	}
	if (all.piece_count >= max || !array_make_room(&all.pieces, all.piece_count,
						       &all.piece_capacity, sizeof(*all.pieces)))
		return NONE;
	return all.piece_count++;
}

static uint32_t new_mapping(void)
{
	uint32_t at = all.free_mapping;

	if (at != NONE) {
		all.free_mapping = all.mappings[at].next;
		return at;
	}
	if (all.mapping_count >= max ||
	    !array_make_room(&all.mappings, all.mapping_count, &all.mapping_capacity,
			     sizeof(*all.mappings)))
		return NONE;
	return all.mapping_count++;
}

/*
 * Takes the mappings of a range out of the index, and returns a list of them. CUDA unmaps whole
 * mappings.
 */
static uint32_t take_mappings(uint64_t address, uint64_t bytes)
{
	uint64_t end = address + bytes;
	uint32_t first = NONE;

	while (address < end) {
		uint32_t at = find_mapping(address);

		if (at == NONE || all.mappings[at].bytes > end - address ||
		    all.mappings[at].bytes == 0)
			break;
		hash_index_remove(&all.by_address, hash_number(address), at);
		address += all.mappings[at].bytes;
		all.mappings[at].next = first;
		first = at;
	}
	return first;
}

/* Puts mappings back, as the call failed. */
static void return_mappings(uint32_t first)
{
	while (first != NONE) {
		struct mapping *m = &all.mappings[first];
		uint32_t next = m->next;

		if (hash_index_add(&all.by_address, hash_number(m->address), first) != 0)
			m->bytes = 0; /* its piece stays allocated to the end */
		first = next;
	}
}

/* ---- what is sent ---- */

/* Sends an event, with the lock of `all` held, so that events of a piece stay in order. */
static void send(struct tracer *tracer, const struct piece *p, uint32_t work,
		 uint32_t correlation_id, uint64_t timestamp)
{
	tracer_send_memory(
		tracer,
		&(struct gpu_event_work){.work = work,
					 .bytes = p->bytes,
					 .correlation_id = correlation_id,
					 .device_id = p->device,
					 .stream_id = UINT32_MAX, /* none, and no context */
					 .destination_memory = p->memory,
					 .address = p->id},
		timestamp);
}

static void free_if_unused(struct tracer *tracer, uint32_t piece, uint32_t correlation_id)
{
	struct piece *p = &all.pieces[piece];

	if (p->references || p->mappings)
		return;
	send(tracer, p, GPU_WORK_FREE, correlation_id, own.timestamp);
	forget_handle(piece);
	p->next_free = all.free_piece;
	all.free_piece = piece;
}

/* ---- calls ---- */

/* Start of CUmemAllocationProp. */
struct properties {
	uint32_t type, handle_types, location_type, location_id;
};
#define LOCATION_DEVICE 1u
#define MEMORY_PINNED 2u

static void count_dropped(struct tracer *tracer)
{
	sink_count_drops(&tracer->sink, &(struct gpu_event_drops){.kernels = 1});
}

static void on_created(struct tracer *tracer, const struct cupti_abi_callback_data *data)
{
	const struct {
		const uint64_t *handle;
		size_t bytes;
		const struct properties *properties;
	} *params = data->function_params;
	uint32_t at, old;
	struct piece *p;

	if (!params->handle || !params->properties)
		return;
	at = new_piece();
	if (at == NONE) {
		count_dropped(tracer);
		return;
	}
	old = find_piece(*params->handle);
	if (old != NONE) /* another thread is releasing it */
		forget_handle(old);
	p = &all.pieces[at];
	*p = (struct piece){.handle = *params->handle,
			    .bytes = params->bytes,
			    .id = followed_memory_new_id(),
			    .references = 1,
			    .memory = MEMORY_PINNED};
	if (params->properties->location_type == LOCATION_DEVICE) {
		p->memory = GPU_MEMORY_DEVICE;
		p->device = params->properties->location_id;
	}
	p->is_known = hash_index_add(&all.by_handle, hash_number(p->handle), at) == 0;
	send(tracer, p, GPU_WORK_ALLOC, data->correlation_id, own.timestamp);
}

static void on_mapped(struct tracer *tracer, const struct cupti_abi_callback_data *data)
{
	const struct {
		uint64_t address;
		size_t bytes, offset;
		uint64_t handle;
	} *params = data->function_params;
	uint32_t piece = find_piece(params->handle), at;

	if (piece == NONE)
		return; /* from another process, or dropped */
	at = new_mapping();
	if (at == NONE || hash_index_add(&all.by_address, hash_number(params->address), at) != 0) {
		count_dropped(tracer);
		all.pieces[piece].mappings++; /* it stays allocated to the end */
		return;
	}
	all.mappings[at] = (struct mapping){
		.address = params->address, .bytes = params->bytes, .piece = piece};
	all.pieces[piece].mappings++;
}

static void on_unmapped(struct tracer *tracer, const struct cupti_abi_callback_data *data)
{
	while (own.mappings != NONE) {
		uint32_t at = own.mappings, piece = all.mappings[at].piece;

		own.mappings = all.mappings[at].next;
		all.mappings[at].next = all.free_mapping;
		all.free_mapping = at;
		all.pieces[piece].mappings--;
		free_if_unused(tracer, piece, data->correlation_id);
	}
}

static void on_retained(const struct cupti_abi_callback_data *data)
{
	const struct {
		const uint64_t *handle;
		const void *address;
	} *params = data->function_params;
	uint32_t piece = params->handle ? find_piece(*params->handle) : NONE;

	if (piece != NONE)
		all.pieces[piece].references++;
}

static void on_released(struct tracer *tracer, const struct cupti_abi_callback_data *data)
{
	if (own.piece == NONE || all.pieces[own.piece].references == 0)
		return;
	all.pieces[own.piece].references--;
	free_if_unused(tracer, own.piece, data->correlation_id);
}

void virtual_memory_enter(struct tracer *tracer, uint32_t cbid,
			  const struct cupti_abi_callback_data *data)
{
	enum call call = cbid < CBIDS ? (enum call)calls[cbid] : OTHER;
	const uint64_t *params = data->function_params;
	struct guest guest;

	if (call == OTHER || !params)
		return;
	guest_enter(&guest);
	followed_memory_note(data->correlation_id);
	own.is_open = true;
	own.piece = own.mappings = NONE;
	own.timestamp = 0;
	tracer->api.cuptiGetTimestamp(&own.timestamp);
	pthread_mutex_lock(&all.lock);
	if (call == RELEASE)
		own.piece = find_piece(params[0]);
	else if (call == UNMAP)
		own.mappings = take_mappings(params[0], params[1]);
	pthread_mutex_unlock(&all.lock);
	guest_leave(&guest);
}

void virtual_memory_exit(struct tracer *tracer, uint32_t cbid,
			 const struct cupti_abi_callback_data *data)
{
	enum call call = cbid < CBIDS ? (enum call)calls[cbid] : OTHER;
	const int *result = data->function_return_value;
	struct guest guest;

	if (call == OTHER || !data->function_params || !own.is_open)
		return;
	own.is_open = false;
	guest_enter(&guest);
	if (call == CREATE) /* known only at the exit */
		tracer->api.cuptiGetTimestamp(&own.timestamp);
	pthread_mutex_lock(&all.lock);
	if (result && *result != 0) {
		return_mappings(own.mappings);
	} else {
		switch (call) {
		case CREATE:
			on_created(tracer, data);
			break;
		case RELEASE:
			on_released(tracer, data);
			break;
		case MAP:
			on_mapped(tracer, data);
			break;
		case UNMAP:
			on_unmapped(tracer, data);
			break;
		case RETAIN:
			on_retained(data);
			break;
		default:
			break;
		}
	}
	pthread_mutex_unlock(&all.lock);
	guest_leave(&guest);
}
