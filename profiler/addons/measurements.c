// SPDX-License-Identifier: MIT
#include "profiler/addons/measurements.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct measurement {
	uint32_t process, correlation_id;
	bool has_stack, has_values, bad_time;
	struct stack_id stack;
	uint32_t count;
	uint64_t start_ns; /* start of the kernel */
	double *values;
};
typedef uint32_t launch_key[2];

struct measured_process {
	uint32_t id;
	uint32_t metrics[GPU_METRICS_MAX]; /* numbers in the counters, plus 1; 0: unknown */
	uint32_t waiting;                  /* entries in the list */
};

#define ENTRY_BYTES (sizeof(struct measurement) + HASH_INDEX_ENTRY_BYTES)

void measurements_release(struct measurements *m)
{
	for (uint32_t i = 0; i < m->count; i++)
		free(m->list[i].values);
	record_set_release(&m->set);
	record_set_release(&m->processes.set);
	memset(m, 0, sizeof(*m));
}

/* Removes a record, and moves the last one to its place. */
static void remove_record(struct record_set *set, uint32_t at, size_t key_size, size_t size)
{
	uint32_t last = --set->count;
	char *record = (char *)set->records + at * size,
	     *moved = (char *)set->records + last * size;

	hash_index_remove(&set->index, hash_bytes(record, key_size), at);
	if (at == last)
		return;
	hash_index_move(&set->index, hash_bytes(moved, key_size), last, at);
	memcpy(record, moved, size);
}

/* ---- metrics ---- */

static struct measured_process *find_process(const struct measurements *m, uint32_t process)
{
	uint32_t at = record_find(&m->processes, &process);

	return at == RECORD_NONE ? NULL : &m->processes.list[at];
}

static struct measured_process *get_process(struct measurements *m, uint32_t process)
{
	const struct measured_process added = {.id = process};
	struct measured_process *known = find_process(m, process);
	uint32_t at;

	if (known || !quota_take(m->quota, sizeof(*known)))
		return known;
	at = record_add(&m->processes, &process, &added);
	return at == RECORD_NONE ? NULL : &m->processes.list[at];
}

int measurements_metric(struct measurements *m, uint32_t process, uint32_t id, const char *name,
			const char *unit)
{
	struct measured_process *p = get_process(m, process);
	uint32_t metric = p ? counters_metric(m->counters, name, unit) : COUNTERS_NONE;

	if (metric == COUNTERS_NONE)
		return -ENOSPC;
	/* a launch has one value per metric: ignore a second number */
	for (uint32_t i = 0; i < GPU_METRICS_MAX; i++)
		if (i != id && p->metrics[i] == metric + 1)
			metric = COUNTERS_NONE;
	p->metrics[id] = metric + 1; /* 0: none */
	return 0;
}

/* ---- launches ---- */

static uint32_t find(const struct measurements *m, uint32_t process, uint32_t correlation_id)
{
	const launch_key key = {process, correlation_id};

	return record_find(m, &key);
}

static void remove_entry(struct measurements *m, uint32_t at)
{
	struct measured_process *p = find_process(m, m->list[at].process);

	quota_return(m->quota, ENTRY_BYTES + m->list[at].count * sizeof(double));
	free(m->list[at].values);
	if (p)
		p->waiting--;
	remove_record(&m->set, at, sizeof(launch_key), sizeof(*m->list));
}

/* Counts the values, without unknown metrics and those that the GPU lacks. */
static uint32_t count_values(const struct measured_process *p, const struct measurement *one)
{
	uint32_t count = 0;

	for (uint32_t i = 0; p && i < one->count; i++)
		count += p->metrics[i] && isfinite(one->values[i]);
	return count;
}

/*
 * Passes a launch with both halves through the sink, and removes its entry. In notes `work` is the
 * metric, `bytes` the bits of the value, and `device` the process. The first note counts the
 * launch, and has the number of values that follow.
 */
static void complete(struct measurements *m, uint32_t at)
{
	const struct measurement *one = &m->list[at];
	const struct measured_process *p = find_process(m, one->process);
	struct profile_item note = {.record = {.kind = NOTE_VALUE,
					       .start_ns = one->start_ns,
					       .stack = one->stack,
					       .correlation = one->correlation_id,
					       .work = COUNTERS_NONE,
					       .graph_node = count_values(p, one)},
				    .device = one->process};

	note.flags = one->bad_time ? ITEM_BAD_TIME : 0;
	note.flags |= ITEM_COUNTS;
	profile_sink_add(m->sink, &note);
	note.flags &= ~ITEM_COUNTS;
	for (uint32_t i = 0; p && i < one->count; i++) {
		if (!p->metrics[i] || !isfinite(one->values[i]))
			continue;
		note.record.work = p->metrics[i] - 1;
		memcpy(&note.record.bytes, &one->values[i], sizeof(note.record.bytes));
		profile_sink_add(m->sink, &note);
	}
	remove_entry(m, at);
}

void measurements_note(void *addon, const struct profile_item *note)
{
	struct measurements *m = addon;
	struct ledger_counters *ledger = &m->sink->ledger->counters;
	const struct timeline_record *r = &note->record;
	struct counter_value value = {note->device, r->correlation, r->work, 0};

	if (note->flags & ITEM_COUNTS) {
		m->lists_launch = m->keeps_launches &&
				  counters_make_room(m->counters, (uint32_t)r->graph_node);
		ledger->measured++;
		ledger->unlisted += m->keeps_launches && !m->lists_launch;
		return;
	}
	memcpy(&value.value, &r->bytes, sizeof(value.value));
	counters_add(m->counters, r->stack.number, value.metric, value.value);
	if (m->lists_launch)
		counters_add_value(m->counters, &value);
}

void measurements_add_unmeasured(struct measurements *m, const struct gpu_event_unmeasured *e)
{
	struct ledger_counters *l = &m->sink->ledger->counters;
	uint64_t *const counts[GPU_UNMEASURED_REASONS] = {
		[GPU_UNMEASURED_CAPTURED] = &l->captured, [GPU_UNMEASURED_GRAPH] = &l->graphs,
		[GPU_UNMEASURED_BUSY] = &l->busy,         [GPU_UNMEASURED_PEERS] = &l->peers,
		[GPU_UNMEASURED_FAILED] = &l->failed,     [GPU_UNMEASURED_REPLAY] = &l->replays,
	};

	for (uint32_t i = 0; i < GPU_UNMEASURED_REASONS; i++)
		profile_sink_count(m->sink, counts[i], e->counts[i]);
}

/* Adds an entry for an announced launch. */
static int expect(struct measurements *m, uint32_t process, uint32_t correlation_id)
{
	const struct measurement one = {.process = process, .correlation_id = correlation_id};
	const launch_key key = {process, correlation_id};
	struct measured_process *p;

	if (find(m, process, correlation_id) != RECORD_NONE)
		return 0;
	p = get_process(m, process);
	if (!p || !quota_take(m->quota, ENTRY_BYTES))
		return -ENOSPC;
	if (record_add(m, &key, &one) == RECORD_NONE) {
		quota_return(m->quota, ENTRY_BYTES);
		return -ENOMEM;
	}
	p->waiting++;
	return 0;
}

static int keep_values(struct measurements *m, uint32_t at, const struct gpu_event_counters *e)
{
	struct measurement *one = &m->list[at];
	size_t bytes = e->count * sizeof(double);

	if (one->has_values)
		return 0;
	if (!quota_take(m->quota, bytes))
		return -ENOSPC;
	one->values = malloc(bytes);
	if (!one->values) {
		quota_return(m->quota, bytes);
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
	if (at == RECORD_NONE) {
		/* the announcement was lost */
		m->sink->ledger->counters.unplaced += e->state == GPU_COUNTERS_READ;
		return 0;
	}
	if (e->state == GPU_COUNTERS_READ)
		return keep_values(m, at, e);
	remove_entry(m, at);
	return 0;
}

void measurements_place(struct measurements *m, const struct measured_kernel *kernel)
{
	uint32_t at = find(m, kernel->process, kernel->correlation_id);

	if (at == RECORD_NONE || m->list[at].has_stack)
		return;
	m->list[at].has_stack = true;
	m->list[at].stack = kernel->stack;
	m->list[at].start_ns = kernel->start_ns;
	m->list[at].bad_time = kernel->bad_time;
	if (m->list[at].has_values)
		complete(m, at);
}

void measurements_visit(void *addon, const struct id_visitor *visitor)
{
	struct measurements *m = addon;

	for (uint32_t i = 0; i < m->count; i++)
		if (m->list[i].has_stack)
			visit_stack(visitor, &m->list[i].stack);
}

void measurements_forget(void *addon, uint32_t process)
{
	struct measurements *m = addon;
	struct measured_process *p = find_process(m, process);

	if (!p)
		return;
	for (uint32_t i = m->count; p->waiting && i-- > 0;) {
		if (m->list[i].process != process)
			continue;
		m->sink->ledger->counters.unplaced += m->list[i].has_values;
		remove_entry(m, i);
	}
	quota_return(m->quota, sizeof(*p));
	remove_record(&m->processes.set, (uint32_t)(p - m->processes.list), sizeof(p->id),
		      sizeof(*p));
}

/* ---- as an add-on ---- */

struct counted {
	struct measurements measurements; /* first: callbacks get either */
	const struct addon_parts *parts;
	struct counter_table counters;
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
						.sink = parts->sink,
						.quota = parts->from_target,
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
		measurements_add_unmeasured(&c->measurements, &event->unmeasured);
	return 0;
}

static void take_operation(void *addon, const struct addon_operation *operation)
{
	const struct gpu_operation *o = operation->operation;
	struct counted *c = addon;

	if (o->work == GPU_WORK_KERNEL && o->graph_node == 0)
		measurements_place(&c->measurements,
				   &(struct measured_kernel){.process = o->process,
							     .correlation_id = o->correlation_id,
							     .stack = operation->stack,
							     .start_ns = o->start_ns,
							     .bad_time = o->bad_time});
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
	.end_process = measurements_forget,
	.visit = measurements_visit,
	.notes = ADDON_NOTE(NOTE_VALUE),
	.note = measurements_note,
	.show = show,
};
