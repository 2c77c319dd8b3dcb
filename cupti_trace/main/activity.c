// SPDX-License-Identifier: MIT
#include "cupti_trace/main/activity.h"

#include <stddef.h>
#include <string.h>
#include "cupti_trace/hw/counted_times.h"
#include "cupti_trace/hw/hw_counters.h"
#include "cupti_trace/launch/launch_log.h"
#include "cupti_trace/launch/probes.h"
#include "cupti_trace/main/duty_cycle.h"
#include "cupti_trace/memory/followed_memory.h"

/* Clocks differ by less than this, and nothing begins so soon after tracing did. */
#define CLOCK_SLACK_NS 1000000u

/* Converts the times of an operation. Returns false if CUPTI gave no usable ones. */
static bool convert_times(const struct activity_output *s, uint64_t start, uint64_t end,
			  uint64_t *start_ns, uint64_t *duration_ns)
{
	/* CUPTI writes 0 for "unknown" and, rarely, an end before the start */
	if (start == 0 || end < start || end - start >= GPU_EVENT_DURATION_LIMIT_NS)
		return false;
	*start_ns = clock_map_convert(s->clock, start, s->now_ns);
	if (*start_ns > INT64_MAX)
		*start_ns = 0; /* before the machine started: the wire cannot carry such a time */
	*duration_ns = end - start; /* as measured, unaffected by the clock conversion */
	return true;
}

/* Converts the times of an operation that may be a graph's node, whose times CUPTI may get wrong.
 */
static bool times_of(const struct activity_output *s, uint32_t correlation_id, uint64_t node,
		     const uint64_t times[2], uint64_t *start_ns, uint64_t *duration_ns)
{
	if (!convert_times(s, times[0], times[1], start_ns, duration_ns))
		return false;
	if (!node || duty_cycle_has_times(correlation_id, *start_ns, *start_ns + *duration_ns))
		return true;
	*start_ns = *duration_ns = 0;
	return false;
}

/*
 * Sends the launches before an operation that began at `start_ns`. Its launch was logged before
 * that, within the difference of clocks, and in any case before the buffer was complete.
 */
static void send_launches(const struct activity_output *s, bool timed, uint64_t start_ns)
{
	uint64_t until = start_ns + CLOCK_SLACK_NS;

	launch_log_drain_until(s->sink, timed && until < s->now_ns ? until : s->now_ns);
}

/* Returns an enum gpu_outside. */
static uint32_t outside(const struct activity_output *s, uint64_t start_ns, uint64_t duration_ns)
{
	if (start_ns + CLOCK_SLACK_NS < s->began_ns)
		return GPU_BEFORE_TRACING;
	if (s->now_ns && start_ns + duration_ns > s->now_ns + CLOCK_SLACK_NS)
		return GPU_AFTER_TRACING;
	return GPU_IN_TIME;
}

static void count(const struct activity_output *s, const struct work_key *key, uint64_t ns,
		  uint64_t bytes)
{
	struct work_sum *sum = work_tally_get(s->tally, key);

	if (!sum)
		return;
	sum->count++;
	sum->ns += ns;
	sum->bytes += bytes;
}

/* ---- probes ---- */

/* Returns the end; 0 if the times are unknown. */
static uint64_t end_of(uint64_t start_ns, uint64_t duration_ns, bool bad_time)
{
	return bad_time ? 0 : start_ns + duration_ns;
}

static SELDOM void tell_kernel(const struct activity_output *s, const struct gpu_event_kernel *e)
{
	const char *name =
		e->name_id == NAMES_OVERFLOW_ID ? NULL : names_text(s->names, e->name_id);

	probe_fire_kernel_done((const uint64_t[]){e->correlation_id, probe_text(name), e->device_id,
						  e->stream_id, e->bad_time ? 0 : e->start_ns,
						  end_of(e->start_ns, e->duration_ns, e->bad_time)},
			       NULL);
}

static const char *copy_name(uint32_t work)
{
	static const char *const names[] = {
		[GPU_WORK_MEMCPY_HTOD] = "HtoD", [GPU_WORK_MEMCPY_DTOH] = "DtoH",
		[GPU_WORK_MEMCPY_HTOA] = "HtoA", [GPU_WORK_MEMCPY_ATOH] = "AtoH",
		[GPU_WORK_MEMCPY_ATOA] = "AtoA", [GPU_WORK_MEMCPY_ATOD] = "AtoD",
		[GPU_WORK_MEMCPY_DTOA] = "DtoA", [GPU_WORK_MEMCPY_DTOD] = "DtoD",
		[GPU_WORK_MEMCPY_HTOH] = "HtoH", [GPU_WORK_MEMCPY_PTOP] = "PtoP",
	};

	return work == GPU_WORK_MEMCPY_OTHER ? "other" : names[work];
}

static SELDOM void tell_work(const struct gpu_event_work *e)
{
	uint64_t start = e->bad_time ? 0 : e->start_ns;
	uint64_t end = end_of(e->start_ns, e->duration_ns, e->bad_time);

	if (e->work == GPU_WORK_MEMSET && probe_is_on(PROBE_memset_done))
		probe_fire_memset_done((const uint64_t[]){e->correlation_id, e->bytes, e->device_id,
							  e->stream_id, start, end},
				       NULL);
	else if (gpu_work_is_copy(e->work) && probe_is_on(PROBE_memcpy_done))
		probe_fire_memcpy_done((const uint64_t[]){e->correlation_id,
							  probe_text(copy_name(e->work)), e->bytes,
							  e->device_id, start, end},
				       NULL);
}

/* ---- records ---- */

/* Returns whether CUPTI ran a kernel again: that is not the program's work. */
static bool is_replay(const struct activity_output *s, uint32_t correlation_id,
		      uint64_t graph_node_id, bool is_kernel)
{
	return s->reads_counters && graph_node_id == 0 &&
	       counters_is_replay(correlation_id, is_kernel);
}

/*
 * Returns whether a record is incomplete: CUPTI delivers such ones when asked for all. A measured
 * kernel's times come from elsewhere.
 */
static bool is_unended(const struct activity_output *s, uint64_t end)
{
	return end == 0 && s->skips_unended && !s->reads_counters;
}

/* Returns whether work is long before the recorded range or, if its end is known, after it. */
static bool is_outside_part(const struct activity_output *s, uint32_t work, uint64_t start_ns,
			    uint64_t duration_ns)
{
	uint64_t known_ns = s->begins_whole ? start_ns : start_ns + duration_ns;
	struct gpu_event_drops drops = {0};

	if (known_ns < s->recorded_from_ns)
		drops = (struct gpu_event_drops){.early = 1, .early_ns = duration_ns};
	else if (s->recorded_to_ns && start_ns >= s->recorded_to_ns)
		drops = (struct gpu_event_drops){.late = 1, .late_ns = duration_ns};
	else
		return false;
	if (gpu_work_is_memory_call(work) && s->addresses)
		return false; /* memory is followed from the start */
	if (!gpu_work_is_instant(work) && !gpu_work_is_stall(work))
		sink_count_drops(s->sink, &drops);
	return true;
}

/* The kernel being measured: its times come when its launch call returns. */
static struct {
	bool is_held;
	struct gpu_event event;
} held;

static void finish_kernel(const struct activity_output *s, const struct gpu_event *event)
{
	const struct gpu_event_kernel *e = &event->kernel;

	if (probe_is_on(PROBE_kernel_done))
		tell_kernel(s, e);
	count(s, &(struct work_key){e->device_id, e->context_id, e->stream_id, GPU_WORK_KERNEL},
	      e->duration_ns, 0);
	sink_put(s->sink, event);
}

/* Takes the kernel's measured times. Returns false if they are yet to come. */
static bool take_counted(struct gpu_event_kernel *e)
{
	enum counted_time time =
		counted_times_find(e->correlation_id, &e->start_ns, &e->duration_ns);

	e->bad_time = time != COUNTED_KNOWN;
	return time != COUNTED_PENDING;
}

/* Sends the held kernel once its times are known, or if it is the last moment. */
static SELDOM void send_held(const struct activity_output *s, bool is_last)
{
	if (!held.is_held || !(take_counted(&held.event.kernel) || is_last))
		return;
	held.is_held = false;
	finish_kernel(s, &held.event);
}

/* Sends a kernel without times. */
static SELDOM void send_untimed(const struct activity_output *s, struct gpu_event *event)
{
	struct gpu_event_kernel *e = &event->kernel;

	e->bad_time = 1;
	if (!s->reads_counters || e->graph_node_id || take_counted(e)) {
		finish_kernel(s, event);
		return;
	}
	send_held(s, true); /* its launch call has not returned, but there is another such kernel */
	held.is_held = true;
	held.event = *event;
}

static void send_kernel(const struct activity_output *s, const void *record)
{
	const struct cupti_abi_kernel *k = record;
	struct gpu_event event = {.type = GPU_EVENT_KERNEL};
	struct gpu_event_kernel *e = &event.kernel;
	bool is_timed;

	if (is_replay(s, k->correlation_id, k->graph_node_id, true) || is_unended(s, k->end))
		return;
	is_timed = times_of(s, k->correlation_id, k->graph_node_id,
			    (const uint64_t[]){k->start, k->end}, &e->start_ns, &e->duration_ns);
	if (is_timed && is_outside_part(s, GPU_WORK_KERNEL, e->start_ns, e->duration_ns))
		return;
	e->name_id = names_send(s->names, s->sink, k->name);
	send_launches(s, is_timed, e->start_ns);
	if (is_timed)
		e->outside = outside(s, e->start_ns, e->duration_ns);
	e->correlation_id = k->correlation_id;
	e->device_id = k->device_id;
	e->context_id = k->context_id;
	e->stream_id = k->stream_id;
	e->grid[0] = (uint32_t)k->grid_x;
	e->grid[1] = (uint32_t)k->grid_y;
	e->grid[2] = (uint32_t)k->grid_z;
	e->block[0] = (uint32_t)k->block_x;
	e->block[1] = (uint32_t)k->block_y;
	e->block[2] = (uint32_t)k->block_z;
	e->static_shared = (uint32_t)k->static_shared_memory;
	e->dynamic_shared = (uint32_t)k->dynamic_shared_memory;
	e->registers = k->registers_per_thread;
	e->graph_id = k->graph_id;
	e->graph_node_id = k->graph_node_id;
	if (is_timed)
		finish_kernel(s, &event);
	else
		send_untimed(s, &event);
}

/* Sends other work; `e` holds everything but the times. */
static void send_work(const struct activity_output *s, const struct gpu_event_work *e,
		      uint64_t start, uint64_t end)
{
	struct gpu_event event = {.type = GPU_EVENT_WORK, .work = *e};
	bool timed =
		times_of(s, e->correlation_id, e->graph_node_id, (const uint64_t[]){start, end},
			 &event.work.start_ns, &event.work.duration_ns);

	if (is_unended(s, end) ||
	    (timed && is_outside_part(s, e->work, event.work.start_ns, event.work.duration_ns)))
		return;
	event.work.bad_time = !timed;
	send_launches(s, timed, event.work.start_ns);
	if (timed)
		event.work.outside = outside(s, event.work.start_ns, event.work.duration_ns);
	/* the wire carries 63 bits: more bytes than that cannot have been moved */
	if (event.work.bytes > INT64_MAX)
		event.work.bytes = 0;
	if (event.work.graph_node_id > INT64_MAX)
		event.work.graph_node_id = 0;
	if (probe_is_on(PROBE_memcpy_done) || probe_is_on(PROBE_memset_done))
		tell_work(&event.work);
	count(s, &(struct work_key){e->device_id, e->context_id, e->stream_id, e->work},
	      event.work.duration_ns, event.work.bytes);
	sink_put(s->sink, &event);
}

/* Makes work of the given members, and of those that records of most kinds share. */
#define WORK_OF(record, kind, ...)                                            \
	(&(struct gpu_event_work){.work = (kind),                             \
				  .correlation_id = (record)->correlation_id, \
				  .device_id = (record)->device_id,           \
				  .context_id = (record)->context_id,         \
				  .stream_id = (record)->stream_id,           \
				  __VA_ARGS__})

static uint32_t work_of_copy(uint8_t copy_kind)
{
	/* both list the ten kinds in one order */
	return copy_kind >= CUPTI_ABI_MEMCPY_HTOD && copy_kind <= CUPTI_ABI_MEMCPY_PTOP
		       ? GPU_WORK_MEMCPY_HTOD + (uint32_t)copy_kind - CUPTI_ABI_MEMCPY_HTOD
		       : GPU_WORK_MEMCPY_OTHER;
}

static void send_memcpy(const struct activity_output *s, const void *record)
{
	const struct cupti_abi_memcpy *m = record;

	_Static_assert(GPU_WORK_MEMCPY_PTOP - GPU_WORK_MEMCPY_HTOD ==
			       CUPTI_ABI_MEMCPY_PTOP - CUPTI_ABI_MEMCPY_HTOD,
		       "see work_of_copy");
	if (is_replay(s, m->correlation_id, m->graph_node_id, false))
		return;
	send_work(s,
		  WORK_OF(m, work_of_copy(m->copy_kind), .bytes = m->bytes, .graph_id = m->graph_id,
			  .graph_node_id = m->graph_node_id, .source_memory = m->source_kind,
			  .destination_memory = m->destination_kind),
		  m->start, m->end);
}

/* Both records are alike up to the stream. */
static void send_memcpy_peer(const struct activity_output *s, const void *record)
{
	const struct cupti_abi_memcpy_peer *m = record;
	enum { SHARED = offsetof(struct cupti_abi_memcpy_peer, source_device_id) };
	struct cupti_abi_memcpy copy = {0};

	_Static_assert(SHARED == offsetof(struct cupti_abi_memcpy, correlation_id),
		       "the same layout");
	memcpy(&copy, m, SHARED);
	copy.correlation_id = m->correlation_id;
	copy.graph_id = m->graph_id;
	copy.graph_node_id = m->graph_node_id;
	send_memcpy(s, &copy);
}

static void send_memset(const struct activity_output *s, const void *record)
{
	const struct cupti_abi_memset *m = record;

	if (is_replay(s, m->correlation_id, m->graph_node_id, false))
		return;
	send_work(s,
		  WORK_OF(m, GPU_WORK_MEMSET, .bytes = m->bytes, .graph_id = m->graph_id,
			  .graph_node_id = m->graph_node_id, .destination_memory = m->memory_kind),
		  m->start, m->end);
}

static void send_pool_event(const struct activity_output *s, struct gpu_event_pool *e,
			    uint64_t timestamp)
{
	uint64_t duration_ns;

	if (!s->addresses || !e->address ||
	    !convert_times(s, timestamp, timestamp, &e->time_ns, &duration_ns))
		return;
	if (e->held > INT64_MAX || e->used > INT64_MAX)
		return; /* no such pool */
	sink_put(s->sink, &(struct gpu_event){.type = GPU_EVENT_POOL, .pool = *e});
}

/* Sends the pool that memory comes from, or goes back to. */
static void send_pool_of(const struct activity_output *s, const struct cupti_abi_memory *m)
{
	if (m->pool_type == CUPTI_ABI_POOL_LOCAL)
		send_pool_event(s,
				&(struct gpu_event_pool){.address = m->pool_address,
							 .held = m->pool_size,
							 .used = m->pool_used,
							 .keeps = m->pool_release_threshold,
							 .device_id = m->device_id,
							 .memory = m->memory_kind},
				m->timestamp);
}

static void send_memory(const struct activity_output *s, const void *record)
{
	const struct cupti_abi_memory *m = record;

	if (s->addresses && followed_memory_has(m->correlation_id))
		return; /* it was sent when the call returned */
	send_pool_of(s, m);
	send_work(s,
		  WORK_OF(m,
			  m->operation == CUPTI_ABI_MEMORY_RELEASE ? GPU_WORK_FREE : GPU_WORK_ALLOC,
			  .bytes = m->bytes, .destination_memory = m->memory_kind,
			  .address = s->addresses ? m->address : 0),
		  m->timestamp, m->timestamp);
}

static void send_pool(const struct activity_output *s, const void *record)
{
	const struct cupti_abi_memory_pool *p = record;
	bool is_gone = p->operation == CUPTI_ABI_POOL_DESTROYED;

	if (p->type == CUPTI_ABI_POOL_LOCAL)
		send_pool_event(s,
				&(struct gpu_event_pool){.address = p->address,
							 .held = is_gone ? 0 : p->size,
							 .used = is_gone ? 0 : p->used,
							 .keeps = p->release_threshold,
							 .device_id = p->device_id},
				p->timestamp);
}

static uint32_t work_of_uvm(uint32_t counter_kind)
{
	static const uint8_t works[] = {
		[CUPTI_ABI_UVM_BYTES_HTOD] = GPU_WORK_UVM_HTOD,
		[CUPTI_ABI_UVM_BYTES_DTOH] = GPU_WORK_UVM_DTOH,
		[CUPTI_ABI_UVM_BYTES_DTOD] = GPU_WORK_UVM_DTOD,
		[CUPTI_ABI_UVM_GPU_PAGE_FAULTS] = GPU_WORK_UVM_GPU_FAULTS,
		[CUPTI_ABI_UVM_CPU_PAGE_FAULTS] = GPU_WORK_UVM_CPU_FAULT,
	};

	return counter_kind < sizeof(works) && works[counter_kind] ? works[counter_kind]
								   : GPU_WORK_UVM_OTHER;
}

static void send_uvm(const struct activity_output *s, const void *record)
{
	const struct cupti_abi_uvm *u = record;
	uint32_t work = work_of_uvm(u->counter_kind);
	bool to_device = work == GPU_WORK_UVM_HTOD || work == GPU_WORK_UVM_DTOD;
	bool counts = work != GPU_WORK_UVM_CPU_FAULT && work != GPU_WORK_UVM_OTHER;

	send_work(
		s,
		&(struct gpu_event_work){.work = work,
					 .bytes = counts ? u->value : 0, /* otherwise an address */
					 .device_id = to_device ? u->destination_id : u->source_id,
					 .stream_id = u->stream_id},
		u->start, work == GPU_WORK_UVM_CPU_FAULT ? u->start : u->end);
}

static void send_graph(const struct activity_output *s, const void *record)
{
	const struct cupti_abi_graph_trace *g = record;

	send_work(s, WORK_OF(g, GPU_WORK_GRAPH, .graph_id = g->graph_id), g->start, g->end);
}

static void send_device_graph(const struct activity_output *s, const void *record)
{
	const struct cupti_abi_device_graph_trace *g = record;

	send_work(s,
		  &(struct gpu_event_work){.work = GPU_WORK_DEVICE_GRAPH,
					   .device_id = g->device_id,
					   .context_id = g->context_id,
					   .stream_id = (uint32_t)g->stream_id,
					   .graph_id = g->graph_id},
		  g->start, g->end);
}

static void send_decompress(const struct activity_output *s, const void *record)
{
	const struct cupti_abi_decompress *d = record;

	send_work(s, WORK_OF(d, GPU_WORK_DECOMPRESS, .bytes = d->source_bytes), d->start, d->end);
}

/*
 * Returns whether the record has the known layout. A warp has always had 32 threads, and a block
 * between 512 and 1024.
 */
static bool is_device(const struct cupti_abi_device *d)
{
	return d->threads_per_warp == 32 && d->max_block_threads >= 512 &&
	       d->max_block_threads <= 65536 && d->max_block_x >= 512 &&
	       d->compute_capability_major >= 1 && d->compute_capability_major < 1000 &&
	       d->id < GPU_DEVICE_MAX_ID && d->is_cuda_visible <= 1 && d->is_mig_enabled <= 1 &&
	       d->name;
}

static void report_unknown_device(const struct activity_output *s)
{
	struct gpu_event event = {
		.type = GPU_EVENT_NOTICE,
		.notice = {GPU_NOTICE_VERBOSE, "a CUPTI record of a device has an unknown layout: "
					       "devices are shown by number"},
	};

	if (s->verbose)
		sink_put(s->sink, &event);
}

static void send_device(const struct activity_output *s, const void *record)
{
	const struct cupti_abi_device *d = record;
	struct gpu_event event = {.type = GPU_EVENT_DEVICE};
	struct gpu_event_device *e = &event.device;

	if (!is_device(d)) {
		report_unknown_device(s);
		return;
	}
	if (s->saw_device)
		*s->saw_device = true;
	if (!d->is_cuda_visible)
		return; /* nothing can run there, and its number may be another's */
	e->id = d->id;
	e->name = d->name;
	e->is_mig = d->is_mig_enabled && d->gpu_instance_id != UINT32_MAX &&
		    d->compute_instance_id != UINT32_MAX;
	if (e->is_mig) {
		e->gpu_instance = d->gpu_instance_id;
		e->compute_instance = d->compute_instance_id;
	}
	memcpy(e->uuid, e->is_mig ? d->mig_uuid : d->uuid, sizeof(e->uuid));
	e->limits = (struct gpu_limits){.multiprocessors = d->multiprocessors,
					.warps = d->max_warps,
					.blocks = d->max_blocks,
					.registers = d->max_registers,
					.shared_bytes = d->max_shared_memory,
					.major = d->compute_capability_major,
					.minor = d->compute_capability_minor};
	sink_put(s->sink, &event);
}

/* Sends a context; most need no description. */
static void send_context(const struct activity_output *s, const void *record)
{
	const struct cupti_abi_context *c = record;
	struct gpu_event event = {
		.type = GPU_EVENT_CONTEXT,
		.context = {.id = c->context_id, .device_id = c->device_id, .is_mps = 1},
	};

	if (c->compute_api == CUPTI_ABI_COMPUTE_API_CUDA_MPS && c->device_id < GPU_DEVICE_MAX_ID)
		sink_put(s->sink, &event);
}

/* By CUpti_ActivityKind. */
static void (*const senders[])(const struct activity_output *s, const void *record) = {
	[CUPTI_ABI_ACTIVITY_KIND_CONCURRENT_KERNEL] = send_kernel,
	[CUPTI_ABI_ACTIVITY_KIND_KERNEL] = send_kernel,
	[CUPTI_ABI_ACTIVITY_KIND_MEMCPY] = send_memcpy,
	[CUPTI_ABI_ACTIVITY_KIND_MEMCPY2] = send_memcpy_peer,
	[CUPTI_ABI_ACTIVITY_KIND_MEMSET] = send_memset,
	[CUPTI_ABI_ACTIVITY_KIND_MEMORY2] = send_memory,
	[CUPTI_ABI_ACTIVITY_KIND_MEMORY_POOL] = send_pool,
	[CUPTI_ABI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER] = send_uvm,
	[CUPTI_ABI_ACTIVITY_KIND_GRAPH_TRACE] = send_graph,
	[CUPTI_ABI_ACTIVITY_KIND_DEVICE_GRAPH_TRACE] = send_device_graph,
	[CUPTI_ABI_ACTIVITY_KIND_MEM_DECOMPRESS] = send_decompress,
	[CUPTI_ABI_ACTIVITY_KIND_DEVICE] = send_device,
	[CUPTI_ABI_ACTIVITY_KIND_CONTEXT] = send_context,
};

/* Sends a record. Returns false for a kind that was not requested. */
static bool send_record(const struct activity_output *s, const struct cupti_abi_activity *record)
{
	if (record->kind >= sizeof(senders) / sizeof(senders[0]) || !senders[record->kind])
		return false;
	senders[record->kind](s, record);
	return true;
}

void activity_send_memory(const struct activity_output *output, const struct gpu_event_work *event,
			  uint64_t timestamp)
{
	send_work(output, event, timestamp, timestamp);
}

uint32_t activity_send_buffer(const struct activity_output *output, uint8_t *buffer,
			      size_t valid_size)
{
	struct cupti_abi_activity *record = NULL;
	struct gpu_event_drops drops = {0};
	uint32_t records = 0;

	send_held(output, false);
	for (; output->api->cuptiActivityGetNextRecord(buffer, valid_size, &record) ==
	       CUPTI_ABI_SUCCESS;
	     records++)
		if (!send_record(output, record))
			drops.unknown++;
	if (drops.unknown)
		sink_count_drops(output->sink, &drops);
	return records;
}

static void send_sum(struct sink *sink, const struct work_sum *sum)
{
	struct gpu_event event = {.type = GPU_EVENT_SUM,
				  .sum = {.device_id = sum->key.device,
					  .context_id = sum->key.context,
					  .stream_id = sum->key.stream,
					  .work = sum->key.work,
					  .count = sum->count,
					  .ns = sum->ns,
					  .bytes = sum->bytes}};

	sink_put(sink, &event);
}

void activity_send_sums(const struct activity_output *output)
{
	struct work_tally *tally = output->tally;
	struct sink *sink = output->sink;
	struct work_sum rest = {.key = {WORK_TALLY_REST, WORK_TALLY_REST, WORK_TALLY_REST, 0}};

	send_held(output, true);
	for (uint32_t i = 0; i < tally->count; i++) {
		struct work_sum *sum = &tally->list[i];

		if (sum->count > 0)
			send_sum(sink, sum);
		*sum = (struct work_sum){.key = sum->key};
	}
	/* when memory ran out even the rest may be missing: an empty one marks missing sums */
	for (; tally->overflowed && rest.key.work < GPU_WORKS; rest.key.work++)
		send_sum(sink, &rest);
}
