// SPDX-License-Identifier: MIT
#include "profiler/shape/merge_private.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "profiler/model/ledger_sum.h"
#include "profiler/model/run_numbers.h"
#include "symbolize/util/array.h"
#include "symbolize/util/number.h"
#include "symbolize/util/saturate.h"
#include "symbolize/util/sorted.h"

#define FRAME_BYTES (sizeof(struct frame_info) + HASH_INDEX_ENTRY_BYTES)
#define MAP_BYTES 32u /* per entry of an id_map */
#define TWIN UINT64_MAX

void merge_fail(struct merge *m, enum merge_error error)
{
	if (!m->error)
		m->error = error;
}

bool merge_take(struct merge *m, size_t bytes)
{
	if (quota_take(&m->memory, bytes))
		return true;
	merge_fail(m, MERGE_TOO_LARGE);
	return false;
}

void merge_append(struct merge *m, struct table *table, const void *item, size_t size)
{
	if (!merge_take(m, size))
		return;
	if (array_make_room(&table->items, table->count, &table->capacity, size))
		memcpy((char *)table->items + table->count++ * size, item, size);
	else
		merge_fail(m, MERGE_NO_MEMORY);
}

/* Returns an interned copy. Returns NULL without a text, or, with the error set, without room. */
static const char *keep(struct merge *m, const char *text)
{
	const char *kept = text ? quota_intern(&m->memory, &m->strings, text) : NULL;

	if (text && !kept)
		merge_fail(m, MERGE_TOO_LARGE);
	return kept;
}

static const char *keep_name(void *context, const char *name)
{
	return keep(context, name);
}

/* ---- frames and stacks ---- */

static const struct module *module_of(struct merge *m, const struct frame_info *frame)
{
	struct module module = {keep(m, frame->module), keep(m, frame->build_id), NULL};
	const char *const key[] = {module.path, module.build_id};
	uint32_t at;

	if (!module.path)
		return NULL;
	at = record_find(&m->modules, &key);
	if (at != RECORD_NONE)
		return &m->modules.list[at];
	if (!merge_take(m, sizeof(module) + strlen(module.path) + HASH_INDEX_ENTRY_BYTES))
		return NULL;
	module.own = strdup(module.path);
	if (module.own)
		at = record_add(&m->modules, &key, &module);
	if (at != RECORD_NONE)
		return &m->modules.list[at];
	free(module.own);
	merge_fail(m, MERGE_NO_MEMORY);
	return NULL;
}

/* A frame's place in its module may differ between runs. The place in the first run stays. */
uint32_t merge_add_frame(struct merge *m, const struct frame_info *frame)
{
	const struct module *module = frame->module ? module_of(m, frame) : NULL;
	struct frame_info f = {.class = frame->class,
			       .mark = frame->mark,
			       .line = frame->line,
			       .name = keep(m, frame->name),
			       .short_name = keep(m, frame->short_name),
			       .file = keep(m, frame->file),
			       .source = keep(m, frame->source),
			       .module = module ? module->own : NULL,
			       .build_id = module ? module->build_id : NULL,
			       .offset = frame->offset};
	uint32_t at = named_stacks_find_frame(&m->stacks, &f);

	if (at != RECORD_NONE || m->error || !merge_take(m, FRAME_BYTES))
		return at;
	at = named_stacks_add_frame(&m->stacks, &f);
	if (m->stacks.failed)
		merge_fail(m, MERGE_NO_MEMORY);
	return at;
}

uint32_t merge_push(struct merge *m, uint32_t outer, uint32_t frame)
{
	uint32_t at;

	if (!named_stacks_push(&m->stacks, outer, frame, &m->memory, &at))
		merge_fail(m, MERGE_TOO_LARGE);
	if (m->stacks.failed)
		merge_fail(m, MERGE_NO_MEMORY);
	return at;
}

static void add_stacks(struct adding *a)
{
	struct merge *m = a->m;
	const struct result *r = a->run;

	for (uint32_t i = 0; i < r->frame_count && !m->error; i++)
		a->frames[i] = merge_add_frame(m, &r->frames[i]);
	a->stacks[RESULT_ROOT] = RESULT_ROOT;
	for (uint32_t i = 1; i < r->stack_count && !m->error; i++) {
		const struct stack_info *s = &r->stacks[i];

		a->stacks[i] = merge_push(m, a->stacks[s->outer], a->frames[s->frame]);
	}
}

/* ---- processes and places ---- */

/* Returns the result's number of a process of this run. */
static uint32_t process_of(struct adding *a, uint32_t process)
{
	uint64_t *number = id_map_find(&a->processes, process);

	if (number)
		return (uint32_t)*number;
	number = merge_take(a->m, MAP_BYTES) ? id_map_get(&a->processes, process) : NULL;
	if (!number) {
		merge_fail(a->m, MERGE_NO_MEMORY);
		return 0;
	}
	*number = ++a->m->process_count;
	return (uint32_t)*number;
}

/* Notes that this rank has a pid or tid. Numbers of several ranks become TWIN. */
static void note_number(struct adding *a, struct id_map *numbers, uint32_t number)
{
	uint64_t rank = a->rank + UINT64_C(1);
	uint64_t *noted = merge_take(a->m, MAP_BYTES) ? id_map_get(numbers, number) : NULL;

	if (!noted)
		merge_fail(a->m, MERGE_NO_MEMORY);
	else if (*noted != rank)
		*noted = *noted ? TWIN : rank;
}

/* Returns the kept "rank 3: NAME". NULL, with the error set, if there is no room. */
static const char *name_with_rank(struct merge *m, uint32_t rank, const char *name)
{
	const char *kept = NULL;
	char *text;

	if (asprintf(&text, "rank %u: %s", rank, name) < 0) {
		merge_fail(m, MERGE_NO_MEMORY);
		return NULL;
	}
	kept = keep(m, text);
	free(text);
	return kept;
}

static void add_process(struct adding *a, uint32_t number, pid_t pid, const char *name)
{
	struct merge *m = a->m;
	uint32_t count = m->names.process_count;
	struct process_info info = {.id = number, .pid = pid, .has_rank = true, .rank = a->rank};

	info.name = name_with_rank(m, a->rank, name);
	if (info.name)
		place_names_add_process(&m->names, &info);
	if (m->names.process_count == count)
		merge_fail(m, MERGE_TOO_LARGE);
	else if (pid > 0)
		note_number(a, &m->pids, (uint32_t)pid);
}

static void add_names(struct adding *a)
{
	struct merge *m = a->m;
	const struct result *r = a->run;

	for (uint32_t i = 0; i < r->process_count && !m->error; i++)
		add_process(a, process_of(a, r->processes[i].id), r->processes[i].pid,
			    r->processes[i].name);
	for (uint32_t i = 0; i < r->thread_count && !m->error; i++) {
		struct thread_info info = r->threads[i];

		info.process = process_of(a, info.process);
		info.name = keep(m, info.name);
		if (!info.name)
			return;
		place_names_add_thread(&m->names, &info);
		note_number(a, &m->tids, info.tid);
	}
	for (uint32_t i = 0; i < r->device_count && !m->error; i++) {
		struct device device = r->devices[i];

		device.process = process_of(a, device.process);
		if (devices_add(&m->devices, &device) == -ENOMEM)
			merge_fail(m, MERGE_NO_MEMORY);
	}
}

/* Names the unnamed processes by their rank, so that their time is found. */
static void name_rest(struct adding *a)
{
	struct merge *m = a->m;
	uint32_t position = 0, id;
	uint64_t number;

	while (!m->error && id_map_next(&a->processes, &position, &id, &number))
		if (!place_names_process(&m->names, (uint32_t)number))
			add_process(a, (uint32_t)number, 0, "[unknown process]");
}

static void add_places(struct adding *a)
{
	struct merge *m = a->m;

	a->first_place = m->places.count;
	for (uint32_t i = 0; i < a->run->place_count && !m->error; i++) {
		struct place place = a->run->places[i];

		place.part[PLACE_PROCESS] = process_of(a, place.part[PLACE_PROCESS]);
		merge_append(m, &m->places, &place, sizeof(place));
	}
}

/* ---- the profile ---- */

static void add_rows(struct adding *a)
{
	struct merge *m = a->m;

	for (uint32_t i = 0; i < a->run->row_count && !m->error; i++) {
		struct row row = a->run->rows[i];

		row.stack = a->stacks[row.stack];
		row.place += a->first_place;
		if (!ledger_total_add(&m->sum, row.count, row.ns, row.bytes)) {
			merge_fail(m, MERGE_TOO_LARGE);
			return;
		}
		merge_append(m, &m->rows, &row, sizeof(row));
	}
}

/* Returns the number of values from `first` on that are of one launch. */
static uint32_t values_of_launch(const struct counter_table *c, uint32_t first)
{
	uint32_t end = first;

	while (end < c->value_count && c->values[end].process == c->values[first].process &&
	       c->values[end].correlation == c->values[first].correlation)
		end++;
	return end - first;
}

static void add_counter_values(struct adding *a, const uint32_t *metrics)
{
	const struct counter_table *more = a->run->counters;
	struct counter_table *sum = &a->m->counters;
	uint32_t count;

	for (uint32_t i = 0; i < more->value_count && !a->m->error; i += count) {
		count = values_of_launch(more, i);
		if (!counters_make_room(sum, count)) {
			a->m->ledger.counters.unlisted++;
			continue;
		}
		for (uint32_t at = i; at < i + count; at++) {
			struct counter_value value = more->values[at];

			value.process = process_of(a, value.process);
			value.metric = metrics[value.metric];
			if (value.metric != COUNTERS_NONE)
				counters_add_value(sum, &value);
		}
	}
}

static void add_counters(struct adding *a)
{
	const struct counter_table *more = a->run->counters;
	struct counter_table *sum = &a->m->counters;
	uint32_t metrics[COUNTERS_METRICS_MAX];

	if (!more)
		return;
	for (uint32_t i = 0; i < more->metric_count; i++) {
		const char *name = keep(a->m, more->metrics[i].name);
		const char *unit = keep(a->m, more->metrics[i].unit);

		if (a->m->error)
			return;
		metrics[i] = counters_metric(sum, name, unit);
	}
	for (uint32_t i = 0; i < more->rows.count; i++) {
		struct counter_row row = more->rows.list[i];

		row.stack = a->stacks[row.stack];
		row.metric = metrics[row.metric];
		if (row.metric == COUNTERS_NONE)
			saturated_add(&sum->not_kept, row.count);
		else
			counters_add_row(sum, &row);
	}
	saturated_add(&sum->not_kept, more->not_kept);
	add_counter_values(a, metrics);
}

static uint32_t copy_stack(void *context, uint32_t stack)
{
	const struct adding *a = context;

	return a->stacks[stack];
}

static uint32_t copy_process(void *context, uint32_t process)
{
	return process_of(context, process);
}

static uint64_t copy_moment(void *context, uint64_t ns)
{
	return merge_moved(context, ns);
}

static const char *copy_text(void *context, const char *text)
{
	const struct adding *a = context;

	return keep(a->m, text);
}

static void add_tables(struct adding *a)
{
	const struct table_copying how = {.stack = copy_stack,
					  .process = copy_process,
					  .moment = copy_moment,
					  .text = copy_text,
					  .kernel = copy_text,
					  .context = a,
					  .ledger = &a->m->ledger,
					  .sums_up = true};
	int err = result_tables_copy(&a->m->tables, a->run->tables, &how);

	if (err)
		merge_fail(a->m, err == -ENOMEM ? MERGE_NO_MEMORY : MERGE_TOO_LARGE);
}

/* ---- the timeline ---- */

static void add_shapes(struct adding *a)
{
	const struct timeline_shape *shape;
	uint32_t capacity = 0;

	for (uint32_t i = 1; (shape = timeline_shape(a->run->timeline, i)); i++) {
		if (!array_make_room(&a->shapes, a->shape_count, &capacity, sizeof(*a->shapes))) {
			merge_fail(a->m, MERGE_NO_MEMORY);
			return;
		}
		a->shapes[a->shape_count++] = timeline_number_shape(a->m->timeline, shape);
	}
}

static void add_records(struct adding *a)
{
	struct merge *m = a->m;
	struct timeline_reader *reader;
	const struct timeline_record *record;
	int more = 0;

	if (!a->run->timeline)
		return;
	if (m->timeline)
		add_shapes(a);
	reader = timeline_reader_new(a->run->timeline);
	if (!reader)
		merge_fail(m, MERGE_NO_MEMORY);
	while (!m->error && (more = timeline_reader_next(reader, &record)) == 1) {
		struct timeline_record r = *record;

		r.start_ns = merge_moved(a, r.start_ns);
		r.stack.number = a->stacks[result_record_stack(a->run, record)];
		r.place.number += a->first_place;
		merge_note_collective(a, record, &r);
		if (!m->timeline)
			continue;
		r.shape = r.shape ? a->shapes[r.shape - 1] : 0;
		timeline_add(m->timeline, &r); /* losses are counted */
	}
	timeline_reader_free(reader);
	if (more < 0) {
		errno = -more;
		merge_fail(m, MERGE_SYSTEM);
	}
}

static void add_rank(struct adding *a)
{
	const struct totals *t = &a->run->totals;
	struct merge *m = a->m;

	merge_find_clock(a);
	if (m->error || !merge_take(m, sizeof(*m->ranks) + sizeof(*m->sorted)))
		return;
	if (!array_make_room(&m->ranks, m->rank_count, &m->rank_capacity, sizeof(*m->ranks))) {
		merge_fail(m, MERGE_NO_MEMORY);
		return;
	}
	m->ranks[m->rank_count++] = (struct rank){
		.info = {.rank = a->rank,
			 .clock = a->clock,
			 .host = keep(m, t->host),
			 .start_ns = merge_moved(a, t->start_ns),
			 .elapsed_ns = t->elapsed_ns < LEDGER_TOTAL_MAX ? t->elapsed_ns
									: LEDGER_TOTAL_MAX,
			 .exit_status = t->exit_status,
			 .size = t->job.size,
			 .has_wall_clock = m->clocks[a->clock].has_wall_clock,
			 .wall_error_ns = t->wall_error_ns},
		.source = a->source};
}

/* ---- totals ---- */

/* Gives the result each option that one of the runs had. */
static void add_measure(struct merge *m, const struct result *run)
{
	size_t first = offsetof(struct run_numbers, totals.measure);
	struct run_numbers sum = {.totals = m->result.totals}, more = {.totals = run->totals};

	for (uint32_t i = 0; i < run_number_count; i++) {
		const struct run_number *n = &run_numbers[i];
		uint64_t here = number_load(&sum, n->offset, n->size),
			 there = number_load(&more, n->offset, n->size);

		if (n->offset < first || n->offset >= first + sizeof(struct measure) ||
		    here == there)
			continue;
		if (!m->has_other)
			m->other = run->totals.job.rank;
		m->has_other = true;
		if (!here)
			number_store(&sum, n->offset, n->size, there);
	}
	m->result.totals.measure = sum.totals.measure;
}

static void add_totals(struct adding *a)
{
	struct merge *m = a->m;
	const struct totals *t = &a->run->totals;
	struct totals *sum = &m->result.totals;

	if (m->rank_count == 1) {
		sum->command = keep(m, t->command);
		sum->folder = keep(m, t->folder);
		sum->host = keep(m, t->host);
		sum->links = keep(m, t->links);
		sum->measure = t->measure;
		sum->sample_ns = t->sample_ns;
		sum->boot = t->boot;
	}
	if (sum->host && (!t->host || strcmp(sum->host, t->host) != 0))
		sum->host = NULL;
	add_measure(m, a->run);
	if (t->longest_round_ns > sum->longest_round_ns)
		sum->longest_round_ns = t->longest_round_ns;
	if (t->wall_error_ns > sum->wall_error_ns)
		sum->wall_error_ns = t->wall_error_ns;
	saturated_add(&sum->command_cpu_ns, t->command_cpu_ns);
	saturated_add(&sum->own_cpu_ns, t->own_cpu_ns);
	saturated_add(&sum->own_memory_bytes, t->own_memory_bytes);
}

static bool add_gpu_rows(struct adding *a)
{
	const struct ledger_gpu *gpu = &a->run->totals.ledger->gpu;

	for (uint32_t i = 0; i < gpu->row_count; i++) {
		const struct device *device =
			devices_of_key(a->run->device_names, gpu->rows[i].device);
		struct gpu_row row = gpu->rows[i];

		row.device = device ? devices_key(&a->m->devices, process_of(a, device->process),
						  device->id)
				    : DEVICES_NO_KEY;
		if (!ledger_add_row(&a->m->ledger, &row))
			return false;
	}
	return true;
}

static void add_losses(struct adding *a)
{
	struct merge *m = a->m;
	struct unnamed *sum = &m->result.unnamed;
	const struct unnamed *more = &a->run->unnamed;
	struct timeline_stats *timeline = &m->ledger.timeline;
	const struct timeline_stats *lost = &a->run->totals.ledger->timeline;

	if (!ledger_sum_add(&m->ledger, a->run->totals.ledger, &m->memory, keep_name, m) ||
	    !add_gpu_rows(a))
		merge_fail(m, MERGE_TOO_LARGE);
	saturated_add(&timeline->records, lost->records);
	saturated_add(&timeline->lost, lost->lost);
	saturated_add(&timeline->lost_shapes, lost->lost_shapes);
	if (!timeline->error)
		timeline->error = lost->error;
	saturated_add(&sum->unreadable, more->unreadable);
	saturated_add(&sum->refused, more->refused);
	saturated_add(&sum->refused_frames, more->refused_frames);
	saturated_add(&sum->stuck, more->stuck);
	saturated_add(&sum->mangled, more->mangled);
	saturated_add(&sum->not_asked, more->not_asked);
	saturated_add(&sum->not_kept, more->not_kept);
	saturated_add(&sum->unread, more->unread);
	if (!sum->unread_path) {
		sum->unread_path = keep(m, more->unread_path);
		sum->unread_kind = more->unread_kind;
	}
	if (!sum->unreadable_path)
		sum->unreadable_path = keep(m, more->unreadable_path);
}

/* ---- one run ---- */

static bool prepare(struct adding *a)
{
	a->frames = calloc(a->run->frame_count + 1u, sizeof(*a->frames));
	a->stacks = calloc(a->run->stack_count + 1u, sizeof(*a->stacks));
	a->is_compared = calloc(a->run->frame_count + 1u, sizeof(*a->is_compared));
	if (!a->frames || !a->stacks || !a->is_compared)
		return false;
	for (uint32_t i = 0; i < a->run->frame_count; i++)
		a->is_compared[i] = collectives_is_compared(&a->run->frames[i]);
	return true;
}

enum merge_error merge_add(struct merge *m, const struct result *run, const char *source)
{
	static void (*const steps[])(struct adding * a) = {
		add_rank,  add_stacks, add_names,   add_places, add_counters, add_tables,
		name_rest, add_rows,   add_records, add_totals, add_losses};
	struct adding a = {.m = m, .run = run, .source = source, .rank = run->totals.job.rank};

	if (run->rank_count)
		return MERGE_MERGED;
	if (!run->totals.job.is_known)
		return MERGE_NO_RANK;
	if (merge_source_of(m, a.rank))
		return MERGE_SAME_RANK;
	if (!prepare(&a))
		merge_fail(m, MERGE_NO_MEMORY);
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]) && !m->error; i++)
		steps[i](&a);
	free(a.frames);
	free(a.stacks);
	free(a.shapes);
	free(a.is_compared);
	id_map_release(&a.processes);
	return m->error;
}

const char *merge_source_of(const struct merge *m, uint32_t rank)
{
	for (uint32_t i = 0; i < m->rank_count; i++)
		if (m->ranks[i].info.rank == rank)
			return m->ranks[i].source;
	return NULL;
}

bool merge_has_other_measure(const struct merge *m, uint32_t *rank)
{
	*rank = m->other;
	return m->has_other;
}

/* ---- the result ---- */

static bool is_twin(const struct id_map *numbers, uint32_t number)
{
	const uint64_t *noted = id_map_find(numbers, number);

	return noted && *noted == TWIN;
}

/* Adds the rank to names of threads whose tid several ranks have. */
static void mark_twins(struct merge *m)
{
	for (uint32_t i = 0; i < m->names.process_count; i++) {
		struct process_info *p = &m->names.processes[i];

		p->has_twin = p->pid > 0 && is_twin(&m->pids, (uint32_t)p->pid);
	}
	for (uint32_t i = 0; i < m->names.thread_count && !m->error; i++) {
		struct thread_info *t = &m->names.threads[i];
		uint32_t rank;

		if (is_twin(&m->tids, t->tid) && place_names_rank(&m->names, t->process, &rank))
			t->name = name_with_rank(m, rank, t->name);
	}
}

const struct rank_info *merge_rank_of_process(const struct merge *m, uint32_t process)
{
	uint32_t rank;

	return place_names_rank(&m->names, process, &rank)
		       ? ranks_find(m->sorted, m->rank_count, rank)
		       : NULL;
}

static void finish_ranks(struct merge *m)
{
	struct totals *t = &m->result.totals;
	uint64_t end_ns = 0;

	m->sorted = calloc(m->rank_count + 1u, sizeof(*m->sorted));
	if (!m->sorted) {
		merge_fail(m, MERGE_NO_MEMORY);
		return;
	}
	t->start_ns = UINT64_MAX;
	for (uint32_t i = 0; i < m->rank_count; i++) {
		struct rank_info *rank = &m->ranks[i].info;

		rank->start_ns = collectives_aligned_time(&m->aligned[rank->clock], rank->start_ns);
		rank->alignment = m->aligned[rank->clock].alignment;
		m->sorted[i] = *rank;
		if (rank->start_ns < t->start_ns)
			t->start_ns = rank->start_ns;
		if (rank->start_ns + rank->elapsed_ns > end_ns) /* both are 2^63 at most */
			end_ns = rank->start_ns + rank->elapsed_ns;
		if (rank->size > t->job.size)
			t->job.size = rank->size;
	}
	/* launchers' variables may contradict the ranks */
	for (uint32_t i = 0; t->job.size && i < m->rank_count; i++)
		if (m->ranks[i].info.rank >= t->job.size)
			t->job.size = m->ranks[i].info.rank + 1;
	if (m->rank_count == 0)
		t->start_ns = 0;
	t->elapsed_ns = end_ns > t->start_ns ? end_ns - t->start_ns : 0;
	t->start_unix_ns = m->has_wall_clock ? t->start_ns : 0;
	if (m->clock_count != 1)
		t->boot = (struct boot_id){{0, 0}};
	qsort(m->sorted, m->rank_count, sizeof(*m->sorted), sorted_compare_32);
	m->result.ranks = m->sorted;
	m->result.rank_count = m->rank_count;
}

static void finish_timeline(struct merge *m)
{
	struct timeline_stats *sum = &m->ledger.timeline, stats;

	if (!m->timeline)
		return;
	timeline_finish(m->timeline);
	stats = timeline_stats(m->timeline);
	sum->records = stats.records;
	saturated_add(&sum->lost, stats.lost);
	saturated_add(&sum->lost_shapes, stats.lost_shapes);
	if (!sum->error)
		sum->error = stats.error;
	m->result.timeline = m->timeline;
}

static void finish_tables(struct merge *m)
{
	struct result *r = &m->result;

	r->frames = m->stacks.frames.list;
	r->frame_count = m->stacks.frames.count;
	r->stacks = m->stacks.list;
	r->stack_count = r->record_stack_count = m->stacks.count;
	r->rows = m->rows.items;
	r->row_count = m->rows.count;
	r->places = m->places.items;
	r->place_count = m->places.count;
	r->processes = m->names.processes;
	r->process_count = m->names.process_count;
	r->threads = m->names.threads;
	r->thread_count = m->names.thread_count;
	devices_make_labels(&m->devices);
	r->devices = m->devices.list;
	r->device_count = m->devices.count;
	r->place_names = &m->names;
	r->device_names = &m->devices;
	r->totals.ledger = &m->ledger;
	if (r->totals.measure.counters) {
		r->counters = &m->counters;
		r->counters_result = r;
	}
	result_tables_begin(&m->tables, &r->totals.measure);
	r->tables = &m->tables;
	r->whole = r;
}

/* Frees memory that only adding runs needs. */
static void drop_memory_of_adding(struct merge *m)
{
	hash_index_release(&m->modules.set.index);
	named_stacks_finish(&m->stacks);
	id_map_release(&m->pids);
	id_map_release(&m->tids);
}

const struct result *merge_finish(struct merge *m)
{
	mark_twins(m);
	merge_align_clocks(m);
	if (!m->error)
		finish_ranks(m);
	if (!m->error)
		merge_split_collectives(m);
	finish_timeline(m);
	if (!m->error)
		merge_move_times(m);
	finish_tables(m);
	drop_memory_of_adding(m);
	if (m->error != MERGE_SYSTEM)
		errno = m->error ? ENOMEM : 0;
	return m->error ? NULL : &m->result;
}

struct merge *merge_new(const char *folder, struct quota *memory)
{
	struct merge *m = calloc(1, sizeof(*m));

	if (!m)
		return NULL;
	m->memory = (struct quota){.limit = SIZE_MAX, .outer = memory};
	m->names.memory = &m->memory;
	m->counters.memory = &m->memory;
	m->tables.memory = &m->memory;
	m->collectives = collectives_new(&m->memory);
	if (!m->collectives || !named_stacks_begin(&m->stacks)) {
		merge_free(m);
		errno = ENOMEM;
		return NULL;
	}
	if (folder && !(m->timeline = timeline_new(folder, NULL))) {
		int err = errno;

		merge_free(m);
		errno = err;
		return NULL;
	}
	return m;
}

void merge_free(struct merge *m)
{
	if (!m)
		return;
	drop_memory_of_adding(m);
	collectives_free(m->collectives);
	for (uint32_t i = 0; i < m->modules.count; i++)
		free(m->modules.list[i].own);
	record_set_release(&m->modules.set);
	named_stacks_release(&m->stacks);
	free(m->places.items);
	free(m->rows.items);
	counters_release(&m->counters);
	result_tables_release(&m->tables);
	place_names_release(&m->names);
	devices_release(&m->devices);
	timeline_free(m->timeline);
	free(m->clocks);
	free(m->aligned);
	free(m->ranks);
	free(m->sorted);
	ledger_release(&m->ledger);
	intern_release(&m->strings);
	quota_return(m->memory.outer, m->memory.used);
	free(m);
}
