// SPDX-License-Identifier: MIT
#include "cupti_trace/activity.h"

#include <string.h>

/* Bytes of a name in one event: even if each had to be escaped, the line stays within its limit. */
#define NAME_PIECE 600

/* The first bytes of a name, not cut within a character. */
static size_t piece_length(const char *name, size_t left)
{
	size_t n = NAME_PIECE;

	if (left <= NAME_PIECE)
		return left;
	while (n > NAME_PIECE - 4 && ((unsigned char)name[n] & 0xc0) == 0x80)
		n--;
	return n;
}

static void send_name(struct sink *sink, uint32_t id, const char *name)
{
	size_t left = strlen(name);
	char piece[NAME_PIECE + 1];

	do {
		size_t n = piece_length(name, left);
		struct gpu_event event = {
			.type = GPU_EVENT_NAME,
			.name = {.id = id, .more = left > n, .name = piece},
		};

		memcpy(piece, name, n);
		piece[n] = '\0';
		sink_put(sink, &event);
		name += n;
		left -= n;
	} while (left);
}

static void set_times(struct gpu_event_kernel *e, const struct cupti_abi_kernel *k,
		      const struct clock_map *clock)
{
	/* CUPTI writes 0 for "unknown" and, rarely, an end before the start */
	if (k->start == 0 || k->end < k->start ||
	    k->end - k->start >= GPU_EVENT_DURATION_LIMIT_NS) {
		e->bad_time = 1;
		return;
	}
	e->start_ns = clock_map_convert(clock, k->start);
	if (e->start_ns > INT64_MAX)
		e->start_ns = 0; /* before the machine started: no time the wire can carry */
	e->duration_ns = k->end - k->start; /* as measured: not bent by the clock conversion */
}

static void send_kernel(const struct cupti_abi_kernel *k, const struct clock_map *clock,
			struct names *names, struct sink *sink)
{
	struct gpu_event event = {.type = GPU_EVENT_KERNEL};
	struct gpu_event_kernel *e = &event.kernel;
	bool is_new;

	e->name_id = names_id(names, k->name, &is_new);
	if (is_new)
		send_name(sink, e->name_id, k->name);
	set_times(e, k, clock);
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
	sink_put(sink, &event);
}

void activity_send_buffer(const struct cupti_api *api, const struct clock_map *clock,
			  struct names *names, struct sink *sink, uint8_t *buffer,
			  size_t valid_size)
{
	struct cupti_abi_activity *record = NULL;
	struct gpu_event_drops drops = {0};

	while (api->cuptiActivityGetNextRecord(buffer, valid_size, &record) == CUPTI_ABI_SUCCESS) {
		if (record->kind == CUPTI_ABI_ACTIVITY_KIND_CONCURRENT_KERNEL ||
		    record->kind == CUPTI_ABI_ACTIVITY_KIND_KERNEL)
			send_kernel((const struct cupti_abi_kernel *)record, clock, names, sink);
		else
			drops.unknown++;
	}
	if (drops.unknown)
		sink_count_drops(sink, &drops);
}
