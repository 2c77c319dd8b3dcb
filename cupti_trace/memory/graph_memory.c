// SPDX-License-Identifier: MIT
#include "cupti_trace/memory/graph_memory.h"

#include <pthread.h>
#include <string.h>
#include "cupti_trace/core/api_function.h"
#include "cupti_trace/core/guest.h"
#include "cupti_trace/memory/followed_memory.h"
#include "cupti_trace/memory/graph_memory_driver.h"

struct piece {
	uint64_t id, bytes;
};

struct device {
	void *context; /* the device's newest context; NULL: none */
	uint32_t context_id;
	uint64_t held;     /* sum of its pieces */
	uint64_t answered; /* number of the last question whose answer counts */
	uint32_t count;
	struct piece pieces[GRAPH_MEMORY_PIECES];
};

static uint8_t is_followed[CBIDS][2]; /* by callback id: the runtime's, the driver's */

/* Protected by the lock. */
static struct {
	pthread_mutex_t lock;
	struct device devices[GRAPH_MEMORY_DEVICES];
	uint64_t asked; /* number of questions so far */
} all = {.lock = PTHREAD_MUTEX_INITIALIZER};

static __thread bool asks;

bool graph_memory_has(const char *name)
{
	return api_function_is_in("cuGraphLaunch cudaGraphLaunch cuGraphUpload cudaGraphUpload "
				  "cuDeviceGraphMemTrim cudaDeviceGraphMemTrim",
				  name, api_function_length(name));
}

void graph_memory_add_function(uint32_t domain, uint32_t cbid, const char *name)
{
	if (cbid < CBIDS)
		is_followed[cbid][domain == CUPTI_ABI_DOMAIN_DRIVER_API] = graph_memory_has(name);
}

static bool follows(uint32_t domain, uint32_t cbid)
{
	return cbid < CBIDS && is_followed[cbid][domain == CUPTI_ABI_DOMAIN_DRIVER_API];
}

bool graph_memory_asks(void)
{
	return asks;
}

/* Asks without the lock: the driver may wait for a thread that waits for the lock. */
static bool ask(uint32_t device, uint64_t *bytes)
{
	bool is_known;

	asks = true;
	is_known = graph_memory_driver_tell(device, bytes);
	asks = false;
	return is_known;
}

/* ---- with the lock held ---- */

struct change {
	struct tracer *tracer;
	uint32_t device, correlation_id;
	uint64_t timestamp;
};

static void send(const struct change *c, uint32_t work, const struct piece *piece)
{
	tracer_send_memory(c->tracer,
			   &(struct gpu_event_work){.work = work,
						    .bytes = piece->bytes,
						    .correlation_id = c->correlation_id,
						    .device_id = c->device,
						    .context_id = all.devices[c->device].context_id,
						    .stream_id = UINT32_MAX,
						    .destination_memory = GPU_MEMORY_DEVICE,
						    .address = piece->id},
			   c->timestamp);
}

static void take_last(const struct change *c)
{
	struct device *d = &all.devices[c->device];
	struct piece *last = &d->pieces[--d->count];

	d->held -= last->bytes;
	send(c, GPU_WORK_FREE, last);
}

static void add(const struct change *c, uint64_t bytes)
{
	struct device *d = &all.devices[c->device];
	struct piece *made = &d->pieces[d->count++];

	*made = (struct piece){followed_memory_new_id(), bytes};
	d->held += bytes;
	send(c, GPU_WORK_ALLOC, made);
}

/* Sets the driver's bytes. */
static void set(const struct change *c, uint64_t bytes)
{
	struct device *d = &all.devices[c->device];

	while (d->held > bytes)
		take_last(c);
	if (bytes > d->held && d->count == GRAPH_MEMORY_PIECES)
		take_last(c);
	if (bytes > d->held)
		add(c, bytes - d->held);
}

/* ---- contexts ---- */

/* Returns the device of a context, or GRAPH_MEMORY_DEVICES. */
static uint32_t device_of(struct tracer *tracer, void *context)
{
	uint32_t device;

	if (!tracer->api.cuptiGetDeviceId ||
	    tracer->api.cuptiGetDeviceId(context, &device) != CUPTI_ABI_SUCCESS ||
	    device >= GRAPH_MEMORY_DEVICES)
		return GRAPH_MEMORY_DEVICES;
	return device;
}

void graph_memory_context_begins(struct tracer *tracer, void *context)
{
	uint32_t device = device_of(tracer, context), id;

	if (device == GRAPH_MEMORY_DEVICES || !tracer->api.cuptiGetContextId ||
	    tracer->api.cuptiGetContextId(context, &id) != CUPTI_ABI_SUCCESS)
		return;
	pthread_mutex_lock(&all.lock);
	if (!all.devices[device].context) {
		all.devices[device].context = context;
		all.devices[device].context_id = id;
	}
	pthread_mutex_unlock(&all.lock);
}

/* The profiler learns of it by the context's end. */
void graph_memory_context_ends(void *context)
{
	pthread_mutex_lock(&all.lock);
	for (uint32_t i = 0; i < GRAPH_MEMORY_DEVICES; i++)
		if (all.devices[i].context == context)
			all.devices[i] = (struct device){.context = NULL};
	pthread_mutex_unlock(&all.lock);
}

/* ---- calls ---- */

/*
 * Notes the call, because the driver's answer already includes allocations by a launch's nodes:
 * CUPTI's records of them, if any, are dropped.
 */
void graph_memory_enter(uint32_t domain, uint32_t cbid, const struct cupti_abi_callback_data *data)
{
	struct guest guest;

	if (!follows(domain, cbid))
		return;
	guest_enter(&guest);
	if (graph_memory_driver_can_tell())
		followed_memory_note(data->correlation_id);
	guest_leave(&guest);
}

static void look_at(struct change *c)
{
	uint64_t number, bytes;
	bool has_context;

	pthread_mutex_lock(&all.lock);
	has_context = all.devices[c->device].context != NULL;
	number = ++all.asked;
	pthread_mutex_unlock(&all.lock);
	if (!has_context || !ask(c->device, &bytes))
		return;
	pthread_mutex_lock(&all.lock);
	/* later questions have newer answers */
	if (number > all.devices[c->device].answered && all.devices[c->device].context &&
	    bytes != all.devices[c->device].held) {
		c->tracer->api.cuptiGetTimestamp(&c->timestamp);
		set(c, bytes);
	}
	if (number > all.devices[c->device].answered)
		all.devices[c->device].answered = number;
	pthread_mutex_unlock(&all.lock);
}

void graph_memory_exit(struct tracer *tracer, uint32_t domain, uint32_t cbid,
		       const struct cupti_abi_callback_data *data)
{
	struct guest guest;

	if (!follows(domain, cbid))
		return;
	guest_enter(&guest);
	for (uint32_t i = 0; i < GRAPH_MEMORY_DEVICES; i++)
		look_at(&(struct change){
			.tracer = tracer, .device = i, .correlation_id = data->correlation_id});
	guest_leave(&guest);
}
