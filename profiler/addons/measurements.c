// SPDX-License-Identifier: MIT
#include "profiler/addons/measurements.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "symbolize/util/array.h"
#include "symbolize/util/hash.h"
#include "symbolize/util/saturate.h"

struct measurement {
	uint32_t process, correlation_id;
	bool has_stack, has_values;
	uint32_t stack, count;
	double *values;
};

struct measured_process {
	uint32_t metrics[GPU_METRICS_MAX]; /* plus 1: numbers in the counters; 0: not known */
	uint32_t waiting;                  /* in the list */
};

#define ENTRY_BYTES (sizeof(struct measurement) + HASH_INDEX_ENTRY_BYTES)

void measurements_release(struct measurements *m)
{
	for (uint32_t i = 0; i < m->count; i++)
		free(m->list[i].values);
	free(m->list);
	free(m->processes);
	hash_index_release(&m->index);
	id_map_release(&m->process_ids);
	memset(m, 0, sizeof(*m));
}

/* ---- metrics ---- */

static struct measured_process *find_process(const struct measurements *m, uint32_t process)
{
	const uint64_t *at = id_map_find(&m->process_ids, process);

	return at ? &m->processes[*at] : NULL;
}

static struct measured_process *get_process(struct measurements *m, uint32_t process)
{
	struct measured_process *known = find_process(m, process);
	uint64_t *at;

	if (known || !allowance_take(m->allowance, sizeof(*known)) ||
	    !array_make_room(&m->processes, m->process_count, &m->process_capacity, sizeof(*known)))
		return known;
	at = id_map_get(&m->process_ids, process);
	if (!at)
		return NULL;
	*at = m->process_count;
	memset(&m->processes[m->process_count], 0, sizeof(*known));
	return &m->processes[m->process_count++];
}

int measurements_metric(struct measurements *m, uint32_t process, uint32_t id, const char *name,
			const char *unit)
{
	struct measured_process *p = get_process(m, process);
	uint32_t metric = p ? counters_metric(m->counters, name, unit) : COUNTERS_NONE;

	if (metric == COUNTERS_NONE)
		return -ENOSPC;
	/* a launch has one value of each: what comes under a second number does not count */
	for (uint32_t i = 0; i < GPU_METRICS_MAX; i++)
		if (i != id && p->metrics[i] == metric + 1)
			metric = COUNTERS_NONE;
	p->metrics[id] = metric + 1; /* 0: none */
	return 0;
}

/* ---- launches ---- */

static bool is_equal(const void *records, uint32_t position, const void *key)
{
	const struct measurement *a = (const struct measurement *)records + position, *b = key;

	return a->process == b->process && a->correlation_id == b->correlation_id;
}

static uint32_t find(const struct measurements *m, uint32_t process, uint32_t correlation_id)
{
	struct measurement key = {.process = process, .correlation_id = correlation_id};

	if (m->count == 0)
		return HASH_INDEX_NONE;
	return hash_index_find(&m->index, hash_pair(process, correlation_id), is_equal, m->list,
			       &key);
}

static uint32_t hash_of(const struct measurement *measurement)
{
	return hash_pair(measurement->process, measurement->correlation_id);
}

static void note_waiting(struct measurements *m, uint32_t process, int more)
{
	struct measured_process *p = find_process(m, process);

	if (p)
		p->waiting += (uint32_t)more;
}

/* The last one takes its place. */
static void take_out(struct measurements *m, uint32_t at)
{
	uint32_t last = m->count - 1;

	hash_index_remove(&m->index, hash_of(&m->list[at]), at);
	allowance_return(m->allowance, ENTRY_BYTES + m->list[at].count * sizeof(double));
	free(m->list[at].values);
	note_waiting(m, m->list[at].process, -1);
	if (at != last) {
		hash_index_move(&m->index, hash_of(&m->list[last]), last, at);
		m->list[at] = m->list[last];
	}
	m->count--;
}

/* How many values there are: not of metrics that the GPU has not, nor of unknown ones. */
static uint32_t count_values(const struct measured_process *p, const struct measurement *one)
{
	uint32_t count = 0;

	for (uint32_t i = 0; p && i < one->count; i++)
		count += p->metrics[i] && isfinite(one->values[i]);
	return count;
}

/* Both halves are there. */
static void complete(struct measurements *m, uint32_t at)
{
	const struct measurement *one = &m->list[at];
	const struct measured_process *p = find_process(m, one->process);
	bool is_listed = m->keeps_launches && counters_make_room(m->counters, count_values(p, one));

	for (uint32_t i = 0; p && i < one->count; i++) {
		struct counter_value value = {one->process, one->correlation_id, p->metrics[i] - 1,
					      one->values[i]};

		if (!p->metrics[i])
			continue;
		counters_add(m->counters, one->stack, value.metric, value.value);
		if (is_listed)
			counters_add_value(m->counters, &value);
	}
	m->ledger->measured++;
	m->ledger->unlisted += m->keeps_launches && !is_listed;
	take_out(m, at);
}

static int expect(struct measurements *m, uint32_t process, uint32_t correlation_id)
{
	struct measurement one = {.process = process, .correlation_id = correlation_id};

	if (find(m, process, correlation_id) != HASH_INDEX_NONE)
		return 0;
	if (!get_process(m, process) || !allowance_take(m->allowance, ENTRY_BYTES))
		return -ENOSPC;
	if (!array_make_room(&m->list, m->count, &m->capacity, sizeof(one)) ||
	    hash_index_add(&m->index, hash_of(&one), m->count) != 0) {
		allowance_return(m->allowance, ENTRY_BYTES);
		return -ENOMEM;
	}
	m->list[m->count++] = one;
	note_waiting(m, process, 1);
	return 0;
}

static int keep_values(struct measurements *m, uint32_t at, const struct gpu_event_counters *e)
{
	struct measurement *one = &m->list[at];
	size_t bytes = e->count * sizeof(double);

	if (one->has_values)
		return 0;
	if (!allowance_take(m->allowance, bytes))
		return -ENOSPC;
	one->values = malloc(bytes);
	if (!one->values) {
		allowance_return(m->allowance, bytes);
		return -ENOMEM;
	}
	memcpy(one->values, e->values, bytes);
	one->count = e->count;
	one->has_values = true;
	if (one->has_stack)
		complete(m, at);
	return 0;
}

int measurements_take(struct measurements *m, uint32_t process, const struct gpu_event_counters *e)
{
	uint32_t at = find(m, process, e->correlation_id);

	if (e->state == GPU_COUNTERS_BEGIN)
		return expect(m, process, e->correlation_id);
	if (at == HASH_INDEX_NONE) {
		/* what announced it was lost */
		m->ledger->unplaced += e->state == GPU_COUNTERS_READ;
		return 0;
	}
	if (e->state == GPU_COUNTERS_READ)
		return keep_values(m, at, e);
	take_out(m, at);
	return 0;
}

void measurements_place(struct measurements *m, uint32_t process, uint32_t correlation_id,
			uint32_t stack)
{
	uint32_t at = find(m, process, correlation_id);

	if (at == HASH_INDEX_NONE || m->list[at].has_stack)
		return;
	m->list[at].has_stack = true;
	m->list[at].stack = stack;
	if (m->list[at].has_values)
		complete(m, at);
}

void measurements_forget(struct measurements *m, uint32_t process)
{
	const struct measured_process *p = find_process(m, process);

	for (uint32_t i = m->count; p && p->waiting && i-- > 0;) {
		if (m->list[i].process != process)
			continue;
		m->ledger->unplaced += m->list[i].has_values;
		take_out(m, i);
	}
}

/* ---- as an add-on ---- */

struct counted {
	const struct addon_parts *parts;
	struct counter_table counters;
	struct measurements measurements;
};

static bool is_wanted(const struct addon_parts *parts)
{
	return parts->measure->counters;
}

static void *begin(const struct addon_parts *parts)
{
	struct counted *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->parts = parts;
	c->counters.memory = parts->memory;
	c->measurements = (struct measurements){.counters = &c->counters,
						.ledger = &parts->sink->ledger->counters,
						.allowance = parts->from_target,
						.keeps_launches = parts->keeps_records};
	return c;
}

static void release(void *addon)
{
	struct counted *c = addon;

	measurements_release(&c->measurements);
	counters_release(&c->counters);
	free(c);
}

static int take_metric(struct counted *c, uint32_t process, const struct gpu_event_metric *e)
{
	const char *name = c->parts->keep(c->parts->context, e->name);
	const char *unit = c->parts->keep(c->parts->context, e->unit);

	if (!name || !unit)
		return -ENOSPC;
	return measurements_metric(&c->measurements, process, e->id, name, unit);
}

static void take_unmeasured(struct ledger_counters *l, const struct gpu_event_unmeasured *e)
{
	saturated_add(&l->captured, e->counts[GPU_UNMEASURED_CAPTURED]);
	saturated_add(&l->graphs, e->counts[GPU_UNMEASURED_GRAPH]);
	saturated_add(&l->busy, e->counts[GPU_UNMEASURED_BUSY]);
	saturated_add(&l->peers, e->counts[GPU_UNMEASURED_PEERS]);
	saturated_add(&l->failed, e->counts[GPU_UNMEASURED_FAILED]);
	saturated_add(&l->replays, e->counts[GPU_UNMEASURED_REPLAY]);
}

static int take_event(void *addon, uint32_t process, const struct gpu_event *event,
		      const char *kernel)
{
	struct counted *c = addon;

	(void)kernel;
	if (event->type == GPU_EVENT_METRIC)
		return take_metric(c, process, &event->metric);
	if (event->type == GPU_EVENT_COUNTERS)
		return measurements_take(&c->measurements, process, &event->counters);
	if (event->type == GPU_EVENT_UNMEASURED)
		take_unmeasured(c->measurements.ledger, &event->unmeasured);
	return 0;
}

static void take_operation(void *addon, const struct addon_operation *operation)
{
	const struct gpu_operation *o = operation->operation;
	struct counted *c = addon;

	if (o->work == GPU_WORK_KERNEL && o->graph_node == 0)
		measurements_place(&c->measurements, o->process, o->correlation_id,
				   operation->stack);
}

static void end_process(void *addon, uint32_t process)
{
	struct counted *c = addon;

	measurements_forget(&c->measurements, process);
}

static void show(void *addon, struct collected *collected)
{
	const struct counted *c = addon;

	collected->counters = &c->counters;
}

const struct addon addon_measurements = {
	.is_wanted = is_wanted,
	.begin = begin,
	.release = release,
	.event = take_event,
	.operation = take_operation,
	.end_process = end_process,
	.show = show,
};
