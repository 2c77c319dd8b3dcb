// SPDX-License-Identifier: MIT
#include "cupti_trace/wire/node_run.h"

#include <string.h>
#include "cupti_trace/wire/gpu_wire.h"

/* ---- the sender ---- */

/* Members that kernels and other work share, for a step. */
struct operation {
	uint64_t node_id, start_ns, duration_ns;
	uint32_t correlation_id, graph_id;
};

static struct operation operation_of(const struct gpu_event *event)
{
	const struct gpu_event_kernel *k = &event->kernel;
	const struct gpu_event_work *w = &event->work;

	if (event->type == GPU_EVENT_KERNEL)
		return (struct operation){k->graph_node_id, k->start_ns, k->duration_ns,
					  k->correlation_id, k->graph_id};
	return (struct operation){w->graph_node_id, w->start_ns, w->duration_ns, w->correlation_id,
				  w->graph_id};
}

static void define_kernel(struct gpu_node_work *of, const struct gpu_event_kernel *k)
{
	*of = (struct gpu_node_work){.work = GPU_WORK_KERNEL,
				     .device_id = k->device_id,
				     .context_id = k->context_id,
				     .stream_id = k->stream_id,
				     .name_id = k->name_id,
				     .static_shared = k->static_shared,
				     .dynamic_shared = k->dynamic_shared,
				     .registers = k->registers};
	memcpy(of->grid, k->grid, sizeof(of->grid));
	memcpy(of->block, k->block, sizeof(of->block));
}

static void define_work(struct gpu_node_work *of, const struct gpu_event_work *w)
{
	*of = (struct gpu_node_work){.bytes = w->bytes,
				     .work = w->work,
				     .device_id = w->device_id,
				     .context_id = w->context_id,
				     .stream_id = w->stream_id,
				     .source_memory = w->source_memory,
				     .destination_memory = w->destination_memory};
}

static bool is_valid(uint64_t node_id, uint64_t start_ns, uint64_t duration_ns)
{
	return node_id - 1 < INT64_MAX && start_ns <= INT64_MAX &&
	       duration_ns < GPU_EVENT_DURATION_LIMIT_NS;
}

/* Returns whether a step and a definition can have all that an event says. */
static bool can_be_step(const struct gpu_event *event)
{
	const struct gpu_event_kernel *k = &event->kernel;
	const struct gpu_event_work *w = &event->work;

	if (event->type == GPU_EVENT_KERNEL)
		return !k->bad_time && !k->outside &&
		       is_valid(k->graph_node_id, k->start_ns, k->duration_ns);
	return event->type == GPU_EVENT_WORK && w->work != GPU_WORK_KERNEL && !w->bad_time &&
	       !w->outside && !w->address && w->bytes <= INT64_MAX &&
	       is_valid(w->graph_node_id, w->start_ns, w->duration_ns);
}

static void define(const struct gpu_event *event, struct gpu_node_work *of)
{
	if (event->type == GPU_EVENT_KERNEL)
		define_kernel(of, &event->kernel);
	else
		define_work(of, &event->work);
}

/* Returns whether this is the work of an event. Reads members as they were written, just before. */
static bool is_work_of(const struct gpu_node_work *of, const struct gpu_event *event)
{
	const struct gpu_event_kernel *k = &event->kernel;
	const struct gpu_event_work *w = &event->work;

	if (event->type == GPU_EVENT_WORK)
		return of->work == w->work && of->bytes == w->bytes &&
		       of->device_id == w->device_id && of->context_id == w->context_id &&
		       of->stream_id == w->stream_id && of->source_memory == w->source_memory &&
		       of->destination_memory == w->destination_memory;
	return of->work == GPU_WORK_KERNEL && of->name_id == k->name_id &&
	       of->device_id == k->device_id && of->context_id == k->context_id &&
	       of->stream_id == k->stream_id && of->grid[0] == k->grid[0] &&
	       of->grid[1] == k->grid[1] && of->grid[2] == k->grid[2] &&
	       of->block[0] == k->block[0] && of->block[1] == k->block[1] &&
	       of->block[2] == k->block[2] && of->static_shared == k->static_shared &&
	       of->dynamic_shared == k->dynamic_shared && of->registers == k->registers;
}

/* Returns the position of a work, adding it if it is new; RECORD_NONE when out of memory. */
static uint32_t position_of(struct node_runs *runs, const struct gpu_event *event, bool *is_new)
{
	struct gpu_node_work of;
	uint32_t hash, at;

	_Static_assert(sizeof(of) == 8 + 16 * 4, "no padding");
	define(event, &of);
	hash = hash_bytes(&of, sizeof(of));
	at = record_find_hashed(&runs->works, hash, &of);
	if (at != RECORD_NONE)
		return at;
	if (runs->works.count == GPU_NODE_WORKS) {
		record_set_clear(&runs->works.set);
		memset(runs->last_works, 0, sizeof(runs->last_works));
		runs->earlier += GPU_NODE_WORKS;
	}
	at = record_add_hashed(&runs->works, hash, &of);
	*is_new = at != RECORD_NONE;
	return at;
}

uint32_t node_runs_define(struct node_runs *runs, const struct gpu_event *event, bool *is_new)
{
	uint16_t *last;
	uint32_t at;

	_Static_assert(GPU_NODE_WORKS <= UINT16_MAX, "see last_works");
	*is_new = false;
	if (!can_be_step(event))
		return 0;
	last = &runs->last_works[operation_of(event).node_id % GPU_NODE_WORKS];
	if (*last && is_work_of(&runs->works.list[*last - 1], event))
		return runs->earlier + *last;
	at = position_of(runs, event, is_new);
	if (at == RECORD_NONE)
		return 0;
	*last = (uint16_t)(at + 1);
	return runs->earlier + at + 1;
}

static bool is_small(int64_t difference)
{
	return difference > -GPU_NODE_STEP_LIMIT && difference < GPU_NODE_STEP_LIMIT;
}

bool node_runs_continues(const struct node_runs *runs, const struct gpu_event *event)
{
	struct operation o = operation_of(event);

	return runs->steps > 0 && runs->steps < GPU_NODE_RUN_STEPS &&
	       runs->correlation_id == o.correlation_id && runs->graph_id == o.graph_id &&
	       is_small((int64_t)(o.node_id - runs->node_id)) &&
	       is_small((int64_t)(o.start_ns - runs->end_ns));
}

static char *put_number(char *to, uint64_t value)
{
	char digits[20];
	uint32_t i = sizeof(digits);

	while (value >= 10) {
		digits[--i] = (char)('0' + value % 10);
		value /= 10;
	}
	*to++ = (char)('0' + value);
	for (; i < sizeof(digits); i++)
		*to++ = digits[i];
	return to;
}

static char *put_signed(char *to, int64_t value)
{
	if (value >= 0)
		return put_number(to, (uint64_t)value);
	*to++ = '-';
	return put_number(to, 0 - (uint64_t)value);
}

/* Writes a step, with a comma before it unless it is the first. */
static size_t put_step(struct node_runs *runs, const struct operation *o, uint32_t work_id,
		       char *buffer)
{
	char *at = buffer;

	if (runs->steps++)
		*at++ = ',';
	at = put_number(at, work_id);
	*at++ = ',';
	at = put_signed(at, (int64_t)(o->node_id - runs->node_id));
	*at++ = ',';
	at = put_signed(at, (int64_t)(o->start_ns - runs->end_ns));
	*at++ = ',';
	at = put_number(at, o->duration_ns);
	runs->node_id = o->node_id;
	runs->end_ns = o->start_ns + o->duration_ns;
	return (size_t)(at - buffer);
}

size_t node_runs_begin(struct node_runs *runs, const struct gpu_event *event, uint32_t work_id,
		       char *buffer, size_t size)
{
	struct operation o = operation_of(event);
	struct gpu_event start = {.type = GPU_EVENT_NODE_RUN,
				  .node_run = {.start_ns = o.start_ns,
					       .node_id = o.node_id,
					       .correlation_id = o.correlation_id,
					       .graph_id = o.graph_id}};
	int n;

	if (size < NODE_RUN_LINE_BYTES)
		return 0;
	n = gpu_wire_encode(&start, buffer, size);
	if (n <= (int)(NODE_RUN_END_BYTES + 1))
		return 0;
	runs->correlation_id = o.correlation_id;
	runs->graph_id = o.graph_id;
	runs->node_id = o.node_id;
	runs->end_ns = o.start_ns;
	runs->steps = 0;
	n -= (int)NODE_RUN_END_BYTES; /* the end of a line without steps */
	return (size_t)n + put_step(runs, &o, work_id, buffer + n);
}

size_t node_runs_add(struct node_runs *runs, const struct gpu_event *event, uint32_t work_id,
		     char *buffer)
{
	struct operation o = operation_of(event);

	return put_step(runs, &o, work_id, buffer);
}

void node_runs_end(struct node_runs *runs, char *buffer)
{
	memcpy(buffer, "]}\n", NODE_RUN_END_BYTES);
	runs->steps = 0;
}

void node_runs_release(struct node_runs *runs)
{
	record_set_release(&runs->works.set);
	memset(runs, 0, sizeof(*runs));
}

uint32_t node_run_steps_of(const char *line, size_t length)
{
	static const char steps[] = "\"x\":[";
	const char *at = memmem(line, length, steps, sizeof(steps) - 1);
	uint32_t commas = 0;

	for (; at && at < line + length; at++)
		commas += *at == ',';
	return at ? (commas + 1) / 4 : 0;
}

/* ---- the receiver ---- */

bool node_run_is_sane(const struct gpu_event_node_run *run)
{
	struct node_run_at at = node_run_start(run);

	for (uint32_t i = 0; i < run->count; i++)
		if (!node_run_move(&at, &run->steps[i]))
			return false;
	return run->count > 0;
}

static void make_kernel(const struct gpu_event_node_run *run, const struct node_run_at *at,
			const struct gpu_node_work *work, struct gpu_event_kernel *k)
{
	*k = (struct gpu_event_kernel){.start_ns = at->start_ns,
				       .duration_ns = at->end_ns - at->start_ns,
				       .name_id = work->name_id,
				       .correlation_id = run->correlation_id,
				       .device_id = work->device_id,
				       .context_id = work->context_id,
				       .stream_id = work->stream_id,
				       .static_shared = work->static_shared,
				       .dynamic_shared = work->dynamic_shared,
				       .registers = work->registers,
				       .graph_id = run->graph_id,
				       .graph_node_id = at->node_id};
	memcpy(k->grid, work->grid, sizeof(k->grid));
	memcpy(k->block, work->block, sizeof(k->block));
}

void node_run_event(const struct gpu_event_node_run *run, const struct node_run_at *at,
		    const struct gpu_node_work *work, struct gpu_event *event)
{
	if (work->work == GPU_WORK_KERNEL) {
		event->type = GPU_EVENT_KERNEL;
		make_kernel(run, at, work, &event->kernel);
		return;
	}
	event->type = GPU_EVENT_WORK;
	event->work = (struct gpu_event_work){.start_ns = at->start_ns,
					      .duration_ns = at->end_ns - at->start_ns,
					      .bytes = work->bytes,
					      .work = work->work,
					      .correlation_id = run->correlation_id,
					      .device_id = work->device_id,
					      .context_id = work->context_id,
					      .stream_id = work->stream_id,
					      .graph_id = run->graph_id,
					      .graph_node_id = at->node_id,
					      .source_memory = work->source_memory,
					      .destination_memory = work->destination_memory};
}
