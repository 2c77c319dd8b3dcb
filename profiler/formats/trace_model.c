// SPDX-License-Identifier: MIT
#include "profiler/formats/trace_model.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "profiler/base/cuda_errors.h"
#include "profiler/base/cuda_functions.h"
#include "profiler/model/losses.h"
#include "symbolize/util/array.h"
#include "symbolize/util/radix_sort.h"
#include "symbolize/util/text.h"

#define IS_LAUNCH (UINT32_C(1) << 31) /* flag in a rank */
#define IS_LAST (UINT32_C(1) << 31)   /* flag in flow_device: last flow of a launch */

_Static_assert(TIMELINE_RECORDS < IS_LAUNCH, "room for a mark");
_Static_assert(TIMELINE_KINDS <= 7, "and for TRACE_USE_RANGES");

/* With more records than COUNTED_RECORDS, counters have some COUNTER_VALUES values. */
#define COUNTED_RECORDS 2000000u
#define COUNTER_VALUES 500000u

/* Cache of the timeline's file, which is read in pages of adjacent records. */
enum { PAGE_RECORDS = 256, PAGES = 1024 };

struct page {
	uint64_t number; /* UINT64_MAX: none */
	struct timeline_record records[PAGE_RECORDS];
};

/* A slice that has not ended. */
struct open {
	uint64_t end_ns;
	uint32_t rank; /* its record's position in order of time */
	uint32_t track;
};

/* Counters of a device. */
struct counters {
	uint64_t running, queued, shown_running, shown_queued;
	uint64_t shown_ns;
	bool has_changed;
};

/* NVTX ranges of a thread that its last launch showed. */
struct ranges {
	uint32_t stack; /* stack of the innermost range; RESULT_ROOT: none */
	uint32_t rank;  /* the launch's */
};

/* Stacks of ranges, the innermost first. */
struct path {
	uint32_t *stacks;
	uint32_t count, capacity;
};

struct trace_model {
	const struct result *result;
	uint32_t count; /* records */
	struct trace_tracks tracks;
	struct trace_sums sums;
	struct page *pages;

	uint32_t *order; /* by rank: numbers of records */
	/* by rank: the flow of an operation, or the first flow of a launch; 0: none */
	uint32_t *flow;
	uint32_t *flow_device; /* by flow, from 1 on: the device's track, and IS_LAST */

	bool has_ranges;
	uint32_t *range;      /* by stack: the innermost range, as a stack */
	uint32_t *next_range; /* by rank of a launch: `range` of its thread's next one */
	struct ranges *ranges;
	struct path before, after;

	struct counters *counters; /* by track */
	uint64_t interval_ns;      /* least time between two values of a counter */
	uint32_t *changed;         /* devices with counters not shown yet */
	uint32_t changed_count, changed_capacity;
	uint64_t now_ns;

	struct open *heap; /* the first slice to end on top */
	uint32_t heap_count, heap_capacity;

	void (*visit)(void *context, const struct trace_event *event);
	void *context;
	bool failed; /* out of memory */
};

/* ---- records ---- */

/* Returns a record, valid until the next call, or NULL with errno set. */
static const struct timeline_record *read_record(struct trace_model *m, uint32_t number)
{
	uint64_t page_number = number / PAGE_RECORDS, first = page_number * PAGE_RECORDS;
	struct page *page = &m->pages[page_number % PAGES];

	if (page->number != page_number) {
		uint64_t left = m->count - first;
		uint32_t count = left < PAGE_RECORDS ? (uint32_t)left : PAGE_RECORDS;
		int err = timeline_read(m->result->timeline, first, count, page->records);

		page->number = err ? UINT64_MAX : page_number;
		if (err) {
			errno = -err;
			return NULL;
		}
	}
	return &page->records[number % PAGE_RECORDS];
}

static bool is_operation(const struct timeline_record *record)
{
	return record->kind == TIMELINE_GPU_OPERATION;
}

/* Returns the innermost range of a launch's stack, as a stack, or RESULT_ROOT. */
static uint32_t range_of(const struct trace_model *m, const struct timeline_record *record)
{
	return record->kind == TIMELINE_LAUNCH ? m->range[result_record_stack(m->result, record)]
					       : RESULT_ROOT;
}

/* Finds the innermost range of each stack. Outer stacks have smaller numbers. */
static bool find_ranges(struct trace_model *m)
{
	const struct result *r = m->result;

	m->range = calloc(r->stack_count + 1u, sizeof(*m->range));
	for (uint32_t i = RESULT_ROOT + 1; m->range && i < r->stack_count; i++)
		m->range[i] = is_range_class(r->frames[r->stacks[i].frame].class)
				      ? i
				      : m->range[r->stacks[i].outer];
	return m->range != NULL;
}

/* Reads the times and sums of all records, and how places are used. Returns 0, or -errno. */
static int survey(struct trace_model *m, uint64_t *times, uint8_t *uses)
{
	struct timeline_reader *reader = timeline_reader_new(m->result->timeline);
	const struct timeline_record *record;
	int more = -ENOMEM;

	for (uint32_t i = 0; reader && i < m->count; i++) {
		more = timeline_reader_next(reader, &record);
		if (more != 1)
			break;
		times[i] = record->start_ns;
		m->order[i] = i;
		m->sums.count[record->kind]++;
		m->sums.ns[record->kind] += record->kind == TIMELINE_WAIT
						    ? timeline_off_cpu_ns(record)
						    : record->duration_ns;
		if (record->start_ns < m->sums.first_ns)
			m->sums.first_ns = record->start_ns;
		if (record->place.number >= m->result->place_count)
			more = -EIO;
		else
			uses[record->place.number] |= (uint8_t)(1u << record->kind);
		if (more != 1)
			break;
		if (range_of(m, record) != RESULT_ROOT) {
			uses[record->place.number] |= TRACE_USE_RANGES;
			m->has_ranges = true;
		}
	}
	timeline_reader_free(reader);
	return m->count == 0 || more == 1 ? 0 : more < 0 ? more : -EIO;
}

/* ---- flows ---- */

/*
 * Lists launches and operations with a correlation id, in order of time. Keys are the process and
 * the correlation id. Returns 0, or -errno.
 */
static int list_ends(struct trace_model *m, uint64_t *keys, uint32_t *values, uint32_t *count)
{
	struct ranges *last = m->ranges;

	*count = 0;
	for (uint32_t rank = 0; rank < m->count; rank++) {
		const struct timeline_record *record = read_record(m, m->order[rank]);
		const struct place *place;

		if (!record)
			return -errno;
		if (m->has_ranges && record->kind == TIMELINE_LAUNCH) {
			uint32_t thread = m->tracks.thread_of[record->place.number];

			if (last[thread].rank)
				m->next_range[last[thread].rank - 1] = range_of(m, record);
			last[thread].rank = rank + 1;
		}
		if (is_operation(record)) {
			uint32_t stream = m->tracks.stream_of[record->place.number];

			m->flow[rank] =
				m->tracks.list[stream].parent; /* replaced by number_flows */
		} else if (record->kind != TIMELINE_LAUNCH) {
			continue;
		}
		if (!record->correlation)
			continue;
		place = &m->result->places[record->place.number];
		keys[*count] = (uint64_t)place->part[PLACE_PROCESS] << 32 | record->correlation;
		values[(*count)++] = is_operation(record) ? rank : rank | IS_LAUNCH;
	}
	return 0;
}

/* Numbers flows. Equal keys are adjacent, in order of time: a launch precedes its operations. */
static void number_flows(struct trace_model *m, const uint64_t *keys, const uint32_t *values,
			 uint32_t count)
{
	uint32_t launch = 0, flows = 0;
	bool has_launch = false;

	for (uint32_t i = 0; i < count; i++) {
		uint32_t rank = values[i] & ~IS_LAUNCH;

		has_launch &= i > 0 && keys[i] == keys[i - 1];
		if (values[i] & IS_LAUNCH) {
			launch = rank;
			has_launch = true;
			continue;
		}
		if (!has_launch) {
			m->sums.without_launch++;
			m->flow[rank] = 0;
			continue;
		}
		flows++;
		if (m->flow[launch])
			m->flow_device[flows - 1] &= ~IS_LAST;
		else
			m->flow[launch] = flows;
		m->flow_device[flows] = m->flow[rank] | IS_LAST;
		m->flow[rank] = flows;
	}
	m->sums.flows = flows;
}

/* Connects launches with operations. Returns 0, or -errno. */
static int connect_flows(struct trace_model *m)
{
	uint64_t ends = m->sums.count[TIMELINE_LAUNCH] + m->sums.count[TIMELINE_GPU_OPERATION];
	uint64_t *keys = malloc((ends + 1) * sizeof(*keys));
	uint32_t *values = malloc((ends + 1) * sizeof(*values)), count = 0;
	int err = keys && values ? 0 : -ENOMEM;

	if (!err)
		err = list_ends(m, keys, values, &count);
	if (!err)
		err = radix_sort(&keys, &values, count);
	if (!err)
		number_flows(m, keys, values, count);
	free(keys);
	free(values);
	return err;
}

/* ---- start and end ---- */

/* Sorts the records, and makes the tracks. Returns 0, or -errno. */
static int sort_records(struct trace_model *m)
{
	uint64_t *times = malloc((m->count + UINT64_C(1)) * sizeof(*times));
	uint8_t *uses = calloc(m->result->place_count + 1u, 1);
	int err = times && uses && m->order && m->pages && find_ranges(m) ? 0 : -ENOMEM;

	if (!err && m->count)
		err = survey(m, times, uses);
	if (!err)
		err = trace_tracks_init(&m->tracks, m->result, uses);
	if (!err)
		err = radix_sort(&times, &m->order, m->count);
	free(times);
	free(uses);
	return err;
}

/* Allocates what the events need. Returns 0, or -errno. */
static int allocate(struct trace_model *m)
{
	size_t count = m->count + (size_t)1, tracks = m->tracks.first_count + (size_t)1;

	m->flow = calloc(count, sizeof(*m->flow));
	m->flow_device =
		malloc((m->sums.count[TIMELINE_GPU_OPERATION] + 1) * sizeof(*m->flow_device));
	m->ranges = calloc(tracks, sizeof(*m->ranges));
	if (m->count > COUNTED_RECORDS)
		m->interval_ns = m->result->totals.elapsed_ns / COUNTER_VALUES;
	m->counters = calloc(tracks, sizeof(*m->counters));
	if (m->has_ranges)
		m->next_range = calloc(count, sizeof(*m->next_range));
	if (!m->flow || !m->flow_device || !m->ranges || !m->counters ||
	    (m->has_ranges && !m->next_range))
		return -ENOMEM;
	return connect_flows(m);
}

struct trace_model *trace_model_new(const struct result *result)
{
	struct trace_model *m = calloc(1, sizeof(*m));
	int err;

	if (!m)
		return NULL;
	m->result = result;
	m->sums.first_ns = result->totals.start_ns ? result->totals.start_ns : UINT64_MAX;
	if (result->timeline)
		m->count = (uint32_t)timeline_stats(result->timeline).records;
	m->sums.records = m->count;
	m->order = malloc((m->count + (size_t)1) * sizeof(*m->order));
	m->pages = malloc(PAGES * sizeof(*m->pages));
	for (uint32_t i = 0; m->pages && i < PAGES; i++)
		m->pages[i].number = UINT64_MAX;
	err = sort_records(m);
	if (!err)
		err = allocate(m);
	if (m->sums.first_ns == UINT64_MAX)
		m->sums.first_ns = 0;
	if (!err)
		return m;
	trace_model_free(m);
	errno = -err;
	return NULL;
}

void trace_model_free(struct trace_model *m)
{
	if (!m)
		return;
	trace_tracks_release(&m->tracks);
	free(m->pages);
	free(m->order);
	free(m->flow);
	free(m->flow_device);
	free(m->range);
	free(m->next_range);
	free(m->ranges);
	free(m->before.stacks);
	free(m->after.stacks);
	free(m->counters);
	free(m->changed);
	free(m->heap);
	free(m);
}

const struct trace_tracks *trace_model_tracks(const struct trace_model *m)
{
	return &m->tracks;
}

struct trace_sums trace_model_sums(const struct trace_model *m)
{
	return m->sums;
}

struct written trace_model_written(const struct trace_model *m)
{
	const uint64_t *ns = m->sums.ns;

	return (struct written){.items = m->sums.records,
				.total = {[ROW_CPU] = ns[TIMELINE_CPU_SAMPLE],
					  [ROW_GPU] = ns[TIMELINE_GPU_OPERATION],
					  [ROW_WAIT] = ns[TIMELINE_WAIT],
					  [ROW_CALL] = ns[TIMELINE_CALL]},
				.exact_ns = (double)ns[TIMELINE_CPU_SAMPLE] +
					    (double)ns[TIMELINE_GPU_OPERATION] +
					    (double)ns[TIMELINE_WAIT] + (double)ns[TIMELINE_CALL]};
}

/* ---- open slices ---- */

/* Returns whether `a` ends first: of slices that end together, the one that began later. */
static bool ends_before(const struct open *a, const struct open *b)
{
	return a->end_ns != b->end_ns ? a->end_ns < b->end_ns : a->rank > b->rank;
}

static void heap_push(struct trace_model *m, struct open open)
{
	uint32_t at = m->heap_count;

	if (!array_make_room(&m->heap, m->heap_count, &m->heap_capacity, sizeof(*m->heap))) {
		m->failed = true;
		return;
	}
	m->heap_count++;
	for (; at > 0 && ends_before(&open, &m->heap[(at - 1) / 2]); at = (at - 1) / 2)
		m->heap[at] = m->heap[(at - 1) / 2];
	m->heap[at] = open;
}

static struct open heap_pop(struct trace_model *m)
{
	struct open top = m->heap[0], last = m->heap[--m->heap_count];
	uint32_t at = 0, child;

	while ((child = 2 * at + 1) < m->heap_count) {
		if (child + 1 < m->heap_count && ends_before(&m->heap[child + 1], &m->heap[child]))
			child++;
		if (!ends_before(&m->heap[child], &last))
			break;
		m->heap[at] = m->heap[child];
		at = child;
	}
	m->heap[at] = last;
	return top;
}

/* ---- counters ---- */

static void emit(const struct trace_model *m, struct trace_event event)
{
	event.time_ns = m->now_ns;
	m->visit(m->context, &event);
}

/*
 * Shows the counters that have changed, once for each time. In long runs a device's counters are
 * shown every `interval_ns` at most: viewers cannot show more.
 */
static void emit_counters(struct trace_model *m, uint64_t interval_ns)
{
	uint32_t waiting = 0;

	for (uint32_t i = 0; i < m->changed_count; i++) {
		struct counters *c = &m->counters[m->changed[i]];
		struct trace_event event = {
			.kind = TRACE_COUNTERS,
			.track = m->changed[i],
			.running = c->running,
			.queued = c->queued,
			.running_changed = c->running != c->shown_running,
			.queued_changed = c->queued != c->shown_queued,
		};

		if (m->now_ns - c->shown_ns < interval_ns) {
			m->changed[waiting++] = m->changed[i];
			continue;
		}
		c->has_changed = false;
		c->shown_ns = m->now_ns;
		c->shown_running = c->running;
		c->shown_queued = c->queued;
		if (event.running_changed || event.queued_changed)
			emit(m, event);
	}
	m->changed_count = waiting;
}

static void advance_to(struct trace_model *m, uint64_t time_ns)
{
	if (time_ns != m->now_ns)
		emit_counters(m, m->interval_ns);
	m->now_ns = time_ns;
}

/* Returns a device's counters, to be changed, and lists the device for emit_counters. */
static struct counters *touch_counters(struct trace_model *m, uint32_t device)
{
	struct counters *c = &m->counters[device];

	if (c->has_changed)
		return c;
	if (!array_make_room(&m->changed, m->changed_count, &m->changed_capacity,
			     sizeof(*m->changed))) {
		m->failed = true;
		return c;
	}
	m->changed[m->changed_count++] = device;
	c->has_changed = true;
	return c;
}

/* Counts the flows of a launch, from `first` on, as queued. Returns their number. */
static uint32_t queue_flows(struct trace_model *m, uint32_t first)
{
	uint32_t count = 0, device;

	if (!first)
		return 0;
	do {
		device = m->flow_device[first + count++];
		touch_counters(m, device & ~IS_LAST)->queued++;
	} while (!(device & IS_LAST));
	return count;
}

/* ---- ranges ---- */

static uint32_t outer_range(const struct trace_model *m, uint32_t stack)
{
	return m->range[m->result->stacks[stack].outer];
}

static void list_ranges(struct trace_model *m, uint32_t stack, struct path *path)
{
	path->count = 0;
	for (; stack != RESULT_ROOT; stack = outer_range(m, stack)) {
		if (!array_make_room(&path->stacks, path->count, &path->capacity,
				     sizeof(*path->stacks))) {
			m->failed = true;
			return;
		}
		path->stacks[path->count++] = stack;
	}
}

static uint32_t frame_of(const struct trace_model *m, uint32_t stack)
{
	return m->result->stacks[stack].frame;
}

/* Ends a thread's ranges that are not around `stack`. Returns the number of ranges that stay. */
static uint32_t end_ranges(struct trace_model *m, uint32_t thread, uint32_t stack)
{
	struct ranges *open = &m->ranges[thread];
	uint32_t common = 0, track;

	list_ranges(m, open->stack, &m->before);
	list_ranges(m, stack, &m->after);
	while (common < m->before.count && common < m->after.count &&
	       frame_of(m, m->before.stacks[m->before.count - 1 - common]) ==
		       frame_of(m, m->after.stacks[m->after.count - 1 - common]))
		common++;
	if (common == m->before.count)
		return common;
	track = trace_tracks_child(&m->tracks, thread, TRACK_RANGES);
	for (uint32_t i = 0; i < m->before.count - common; i++)
		emit(m, (struct trace_event){.kind = TRACE_RANGE_END,
					     .track = track,
					     .frame = frame_of(m, m->before.stacks[i])});
	open->stack = common ? m->before.stacks[m->before.count - common] : RESULT_ROOT;
	return common;
}

static void begin_launch(struct trace_model *m, uint32_t thread, uint32_t rank, uint32_t stack)
{
	struct ranges *open = &m->ranges[thread];
	uint32_t track, common;

	open->rank = rank;
	if (open->stack == stack)
		return;
	common = end_ranges(m, thread, stack);
	track = trace_tracks_child(&m->tracks, thread, TRACK_RANGES);
	for (uint32_t i = m->after.count - common; i-- > 0;)
		emit(m, (struct trace_event){.kind = TRACE_RANGE_BEGIN,
					     .track = track,
					     .frame = frame_of(m, m->after.stacks[i])});
	open->stack = stack;
}

/* Ends ranges that the thread's next launch does not show. */
static void end_launch(struct trace_model *m, uint32_t thread, uint32_t rank)
{
	struct ranges *open = &m->ranges[thread];

	if (open->rank == rank && open->stack != m->next_range[rank])
		end_ranges(m, thread, m->next_range[rank]);
}

/* ---- in order of time ---- */

static void end_first(struct trace_model *m)
{
	struct open open = heap_pop(m);
	const struct trace_track *track = &m->tracks.list[open.track];

	advance_to(m, open.end_ns);
	emit(m, (struct trace_event){.kind = TRACE_END, .track = open.track});
	if (track->kind == TRACK_STREAM)
		touch_counters(m, track->parent)->running--;
	else if (track->kind == TRACK_THREAD && m->has_ranges)
		end_launch(m, track->base, open.rank);
	trace_tracks_give_back(&m->tracks, open.track);
}

static void begin_slice(struct trace_model *m, struct trace_event *event, uint32_t rank)
{
	uint32_t count = m->tracks.count, lane = trace_tracks_take(&m->tracks, event->track);

	if (lane == TRACE_NO_TRACK) {
		m->failed = true;
		return;
	}
	if (m->tracks.count > count)
		emit(m, (struct trace_event){.kind = TRACE_TRACK, .track = lane});
	event->kind = TRACE_BEGIN;
	event->track = lane;
	emit(m, *event);
	heap_push(m, (struct open){timeline_end_ns(event->record), rank, lane});
}

static void emit_record(struct trace_model *m, const struct timeline_record *record, uint32_t rank)
{
	struct trace_event event = {.kind = TRACE_INSTANT,
				    .record = record,
				    .stack = result_record_stack(m->result, record)};
	bool shows_ranges = m->has_ranges && record->kind == TIMELINE_LAUNCH;

	event.track = m->tracks.thread_of[record->place.number];
	switch (record->kind) {
	case TIMELINE_CPU_SAMPLE:
		event.kind = TRACE_SAMPLE;
		emit(m, event);
		return;
	case TIMELINE_LAUNCH:
		if (shows_ranges)
			begin_launch(m, event.track, rank, m->range[event.stack]);
		event.first_flow = m->flow[rank];
		event.flow_count = queue_flows(m, event.first_flow);
		break;
	case TIMELINE_GPU_OPERATION: {
		uint32_t device;

		event.track = m->tracks.stream_of[record->place.number];
		device = m->tracks.list[event.track].parent;
		event.first_flow = record->correlation ? m->flow[rank] : 0;
		event.flow_count = event.first_flow != 0;
		if (event.flow_count)
			touch_counters(m, device)->queued--;
		if (record->duration_ns)
			touch_counters(m, device)->running++;
		break;
	}
	case TIMELINE_WAIT:
		event.track = trace_tracks_child(&m->tracks, event.track, TRACK_WAITS);
		break;
	case TIMELINE_OFF_CPU:
		event.track = trace_tracks_child(&m->tracks, event.track, TRACK_OFF_CPU);
		break;
	default:
		break;
	}
	if (record->duration_ns) {
		begin_slice(m, &event, rank);
		return;
	}
	emit(m, event);
	if (shows_ranges)
		end_launch(m, event.track, rank);
}

int trace_model_run(struct trace_model *m,
		    void (*visit)(void *context, const struct trace_event *event), void *context)
{
	m->visit = visit;
	m->context = context;
	memset(m->ranges, 0, (m->tracks.first_count + (size_t)1) * sizeof(*m->ranges));
	for (uint32_t rank = 0; rank < m->count && !m->failed; rank++) {
		const struct timeline_record *record = read_record(m, m->order[rank]);

		if (!record)
			return -errno;
		while (m->heap_count && m->heap[0].end_ns <= record->start_ns)
			end_first(m);
		advance_to(m, record->start_ns);
		emit_record(m, record, rank);
	}
	while (m->heap_count && !m->failed)
		end_first(m);
	emit_counters(m, 0);
	return m->failed ? -ENOMEM : 0;
}

/* ---- the run as a whole ---- */

static uint64_t max(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

void trace_facts(const struct result *result, const struct trace_sums *sums, fact_visitor visit,
		 void *context)
{
	const struct totals *t = &result->totals;
	const struct ledger *l = t->ledger;
	struct written rows = written_in_ns(result);
	struct timeline_stats stats = {.lost = 0};
	uint64_t without_times = 0;

	if (t->command)
		visit(context, "command", t->command, 0);
	if (t->shown)
		visit(context, "part", t->shown, 0);
	visit(context, "started_unix_ns", NULL, t->start_unix_ns);
	visit(context, "elapsed_ns", NULL, t->elapsed_ns);
	visit(context, "sample_ns", NULL, t->sample_ns);
	visit(context, "cpu_ns", NULL, sums->ns[TIMELINE_CPU_SAMPLE]);
	visit(context, "gpu_ns", NULL, sums->ns[TIMELINE_GPU_OPERATION]);
	visit(context, "gpu_ns_of_the_run", NULL, rows.total[ROW_GPU]);
	visit(context, "gpu_operations", NULL, sums->count[TIMELINE_GPU_OPERATION]);
	visit(context, "gpu_operations_without_known_launch", NULL, sums->without_launch);
	visit(context, "waiting_ns", NULL, sums->ns[TIMELINE_WAIT]);
	visit(context, "timed_calls_ns", NULL, sums->ns[TIMELINE_CALL]);
	visit(context, "nvtx_ranges", "from the stacks of launches: docs/timelines.md", 0);
	if (!l)
		return;
	for (uint32_t i = 0; i < l->gpu.row_count; i++)
		without_times += l->gpu.rows[i].bad_times;
	visit(context, "gpu_operations_without_times", NULL, without_times);
	/* a part of the run has a timeline of its own */
	if (result->timeline)
		stats = timeline_stats(result->timeline);
	visit(context, "timeline_records_lost", NULL, max(stats.lost, l->timeline.lost));
	visit(context, "timeline_shapes_lost", NULL,
	      max(stats.lost_shapes, l->timeline.lost_shapes));
	visit(context, "timeline_counters_lost", NULL, l->counters.unlisted);
	losses_visit_keys(l, result->unnamed.not_kept, visit, context);
}

const struct frame_info *trace_frame(const struct result *result, uint32_t stack)
{
	return stack == RESULT_ROOT ? NULL : &result->frames[result->stacks[stack].frame];
}

bool trace_is_of_driver(const char *name)
{
	return name && starts_with(name, "cu") && isupper((unsigned char)name[2]);
}

/* Recognises functions of a statically linked runtime, whose frames are not of CLASS_API. */
enum trace_interface trace_interface(const struct frame_info *frame)
{
	if (!frame || !frame->name ||
	    (frame->class != CLASS_API && cuda_function_of(frame->name) == CUDA_FUNCTION_NONE))
		return TRACE_UNKNOWN_API;
	return trace_is_of_driver(frame->name) ? TRACE_DRIVER_API : TRACE_RUNTIME_API;
}

const char *trace_error(const struct result *result, const struct timeline_record *record,
			uint32_t stack, char text[TRACE_ERROR_BYTES])
{
	enum trace_interface interface = trace_interface(trace_frame(result, stack));
	const char *name = NULL;

	if (!record->error)
		return NULL;
	if (interface != TRACE_UNKNOWN_API)
		name = cuda_error_name(record->error, interface == TRACE_DRIVER_API);
	if (name)
		return name;
	snprintf(text, TRACE_ERROR_BYTES, "error %u", record->error);
	return text;
}

const char *trace_kind_word(unsigned int kind)
{
	static const char *const words[TIMELINE_KINDS] = {
		[TIMELINE_CPU_SAMPLE] = "CPU sample",
		[TIMELINE_LAUNCH] = "launch",
		[TIMELINE_GPU_OPERATION] = "GPU operation",
		[TIMELINE_WAIT] = "wait",
		[TIMELINE_CALL] = "CUDA call",
		[TIMELINE_OFF_CPU] = "off the CPU",
	};

	return words[kind];
}
