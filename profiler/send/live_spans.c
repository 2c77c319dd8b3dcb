// SPDX-License-Identifier: MIT
#include "profiler/send/live_spans.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include "profiler/shape/result_naming.h"
#include "symbolize/util/array.h"
#include "symbolize/util/saturate.h"
#include "symbolize/util/sorted.h"

#define CHUNK_RECORDS 4096u
#define CHUNK_BYTES(count) (sizeof(struct chunk) + (count) * sizeof(struct taken))

struct taken {
	struct timeline_record record; /* its stack is the number of a frame, from 1; 0: none */
	uint64_t launched_ns;
};

/* A chunk of records. Handed over when full, or at a tick. */
struct chunk {
	struct chunk *next;
	uint32_t count;
	struct taken list[];
};

/* Innermost frame of a record's stack, as handed over. */
struct new_frame {
	struct frame frame;
	struct code_mapping file; /* mapping of the code, with an owned path; NULL path: not code */
};

#define LIST(type)                        \
	struct {                          \
		type *list;               \
		uint32_t count, capacity; \
	}

/* Records handed over together, with additions to the tables that they refer to. */
struct batch {
	struct chunk *first, **last;
	LIST(struct place) places;
	LIST(struct process_info) processes;
	LIST(struct thread_info) threads;
	LIST(struct timeline_shape) shapes;
	LIST(struct new_frame) frames;
	LIST(struct device) devices; /* all devices, if one has changed */
	uint64_t ticks;
};

/* Sizes of the tables that have been handed over. */
struct handed {
	uint32_t places, processes, threads, shapes, frames;
	uint32_t renames; /* after a rename all processes and threads are handed over again */
	uint32_t *frame_numbers; /* by frame of the collection; 0: not handed over */
	uint32_t frame_number_count, frame_number_capacity;
	LIST(struct device) devices;
};

/* A call that waits for the calls around it. */
struct held {
	struct span span;
	uint64_t injected;
};

/* Tables of the working thread. */
struct mirror {
	struct collected collected;
	struct place_names place_names;
	struct places places;
	struct devices devices;
	struct timeline *shapes;
	struct address_space *space;
	struct quota memory;
	size_t table_bytes;    /* bytes of tables of files */
	LIST(uint32_t) stacks; /* named stacks, by frame number - 1 */
	bool lacks_places;     /* out of memory: records that refer to missing entries are lost */
	bool lacks_shapes, lacks_frames;
};

struct live_spans {
	struct live_spans_options options;

	/* session's thread */
	struct chunk *taken; /* NULL until a record arrives */
	struct handed handed;
	struct trace_sums sums; /* sums of all records */
	uint64_t ticks;

	/* shared */
	pthread_mutex_t lock;
	pthread_cond_t changed;
	/* guarded by the lock */
	struct batch batch;
	uint32_t waiting; /* records not worked on, here or in `work` */
	bool has_work;
	atomic_bool is_stopping;

	/* working thread, and at the end the session's */
	struct naming_options naming;
	struct mirror mirror;
	struct result *result;
	struct batch work;
	uint32_t done; /* records done of the first chunk of `work` */
	uint64_t worked_ticks;
	struct span_maker *maker;
	struct held *held;
	uint32_t held_count;
	uint64_t inject_queue, arrivals_at_tick;
	bool is_cancelled;

	_Atomic uint64_t lost; /* counted by both threads */
};

static void add_lost(struct live_spans *l, uint64_t count)
{
	atomic_fetch_add(&l->lost, count);
}

/* ---- start and end ---- */

static bool open_mirror(struct mirror *m)
{
	m->memory.limit = LIVE_SPANS_NAMES;
	m->shapes = timeline_new(NULL, NULL);
	m->collected = (struct collected){.places = &m->places,
					  .place_names = &m->place_names,
					  .devices = &m->devices,
					  .timeline = m->shapes,
					  .memory = &m->memory,
					  .stacks = stack_table_new(),
					  .symbolizer = symbolizer_new()};
	if (!m->shapes || !m->collected.stacks || !m->collected.symbolizer)
		return false;
	stack_table_limit((struct stack_table *)m->collected.stacks, &m->memory);
	symbolizer_share_memory(m->collected.symbolizer, &m->table_bytes, LIVE_SPANS_TABLES);
	return true;
}

static void close_mirror(struct mirror *m)
{
	address_space_free(m->space);
	symbolizer_free(m->collected.symbolizer);
	stack_table_free((struct stack_table *)m->collected.stacks);
	timeline_free(m->shapes);
	places_release(&m->places);
	place_names_release(&m->place_names);
	devices_release(&m->devices);
	free(m->stacks.list);
}

static void drop_chunk(struct batch *n)
{
	struct chunk *chunk = n->first;

	n->first = chunk->next;
	free(chunk);
}

static void begin_batch(struct batch *n, uint64_t ticks)
{
	*n = (struct batch){.ticks = ticks};
	n->last = &n->first;
}

static void release_batch(struct batch *n)
{
	while (n->first)
		drop_chunk(n);
	for (uint32_t i = 0; i < n->frames.count; i++)
		free((char *)n->frames.list[i].file.path);
	free(n->places.list);
	free(n->processes.list);
	free(n->threads.list);
	free(n->shapes.list);
	free(n->frames.list);
	free(n->devices.list);
	begin_batch(n, n->ticks);
}

struct live_spans *live_spans_new(const struct live_spans_options *options)
{
	struct live_spans *l = calloc(1, sizeof(*l));

	if (!l)
		return NULL;
	l->options = *options;
	if (!l->options.waiting_max)
		l->options.waiting_max = LIVE_SPANS_WAITING;
	if (!l->options.held_max)
		l->options.held_max = LIVE_SPANS_HELD;
	l->naming.raw_names = options->raw_names;
	l->sums.first_ns = UINT64_MAX;
	pthread_mutex_init(&l->lock, NULL);
	pthread_cond_init(&l->changed, NULL);
	l->maker =
		span_maker_new(options->spans, options->encoding, options->put, options->context);
	l->held = malloc(l->options.held_max * sizeof(*l->held));
	begin_batch(&l->batch, 0);
	begin_batch(&l->work, 0);
	if (open_mirror(&l->mirror) && l->maker && l->held)
		return l;
	live_spans_free(l);
	return NULL;
}

void live_spans_free(struct live_spans *l)
{
	if (!l)
		return;
	result_free(l->result);
	span_maker_free(l->maker);
	close_mirror(&l->mirror);
	release_batch(&l->batch);
	release_batch(&l->work);
	free(l->held);
	free(l->taken);
	free(l->handed.frame_numbers);
	free(l->handed.devices.list);
	pthread_cond_destroy(&l->changed);
	pthread_mutex_destroy(&l->lock);
	free(l);
}

int live_spans_begin(struct live_spans *l, const struct totals *totals)
{
	l->result = result_begin(&l->mirror.collected, &l->naming, totals);
	if (l->result && totals->command_pid)
		l->mirror.space = address_space_new(1, (pid_t)totals->command_pid, true);
	return l->result ? 0 : -ENOMEM;
}

/* ---- taking and handing over ---- */

bool live_spans_take(struct live_spans *l, const struct timeline_record *record,
		     uint64_t launched_ns)
{
	struct trace_sums *sums = &l->sums;

	sums->records++;
	sums->count[record->kind]++;
	saturated_add(&sums->ns[record->kind], record->duration_ns);
	if (record->start_ns < sums->first_ns)
		sums->first_ns = record->start_ns;
	if (record->kind == TIMELINE_CPU_SAMPLE || record->kind == TIMELINE_OFF_CPU)
		return false;
	if (record->kind == TIMELINE_GPU_OPERATION && record->correlation && !launched_ns)
		sums->without_launch++;
	if (!l->taken)
		l->taken = calloc(1, CHUNK_BYTES(CHUNK_RECORDS));
	if (!l->taken || l->taken->count == CHUNK_RECORDS) {
		add_lost(l, 1); /* out of memory, or the chunk was not handed over */
		return false;
	}
	l->taken->list[l->taken->count++] = (struct taken){*record, launched_ns};
	return l->taken->count == CHUNK_RECORDS;
}

/* Appends the entries of a table beyond `*handed` to a list. Returns false if out of memory. */
#define ADD_NEW(to, from, total, handed)                                                      \
	add_new(&(to)->list, &(to)->count, &(to)->capacity, sizeof(*(to)->list), from, total, \
		handed)

/* Appends entries to a list. Returns false if out of memory. */
#define APPEND(to, from, count) ADD_NEW(to, from, count, &(uint32_t){0})

static bool add_new(void *list, uint32_t *count, uint32_t *capacity, size_t size, const void *from,
		    uint32_t total, uint32_t *handed)
{
	uint32_t more = total - *handed;
	char *items;

	if (more == 0)
		return true;
	if (!array_reserve(list, *count, more, capacity, size))
		return false;
	memcpy(&items, list, sizeof(items));
	memcpy(items + *count * size, (const char *)from + *handed * size, more * size);
	*count += more;
	*handed = total;
	return true;
}

static bool add_shapes(struct live_spans *l, const struct timeline *shapes)
{
	const struct timeline_shape *shape;

	while ((shape = timeline_shape(shapes, l->handed.shapes + 1))) {
		if (!APPEND(&l->batch.shapes, shape, 1))
			return false;
		l->handed.shapes++;
	}
	return true;
}

/*
 * Hands over all devices if one is new or has a better description. Returns false if out of
 * memory.
 */
static bool add_devices(struct live_spans *l, const struct devices *devices)
{
	size_t bytes = devices->count * sizeof(*devices->list);
	struct handed *h = &l->handed;

	if (h->devices.count == devices->count &&
	    (!bytes || memcmp(h->devices.list, devices->list, bytes) == 0))
		return true;
	l->batch.devices.count = h->devices.count = 0;
	return APPEND(&l->batch.devices, devices->list, devices->count) &&
	       APPEND(&h->devices, devices->list, devices->count);
}

static bool is_code(const struct frame *frame)
{
	return frame->kind == FRAME_CODE || frame->kind == FRAME_RETURN ||
	       frame->kind == FRAME_CALL;
}

/*
 * Describes code by its file, as the other symbolizer needs it. Generated code gets no name.
 * Returns false if out of memory.
 */
static bool describe_code(const struct collected *in, struct new_frame *new)
{
	char *path;

	if (!is_code(&new->frame))
		return true;
	if (new->frame.code.module <= MODULE_JIT) {
		new->frame.code = (struct code_ref){.module = MODULE_UNKNOWN};
		return true;
	}
	symbolizer_describe(in->symbolizer, new->frame.code.module, &new->file);
	path = strdup(new->file.path);
	new->file.path = path;
	return path != NULL;
}

/*
 * Numbers the innermost frame of a stack, and hands over a new frame. Returns false if out of
 * memory.
 */
static bool number_frame(struct live_spans *l, const struct collected *in, struct stack_id stack,
			 uint32_t *number)
{
	struct handed *h = &l->handed;
	uint32_t at;
	struct new_frame new = {.file.path = NULL};

	*number = 0;
	if (same_id(stack, STACK_EMPTY))
		return true;
	at = stack_table_frame_number(in->stacks, stack);
	if (!array_extend(&h->frame_numbers, &h->frame_number_count, at + 1,
			  &h->frame_number_capacity, sizeof(*h->frame_numbers)))
		return false;
	if (!h->frame_numbers[at]) {
		new.frame = *stack_table_frame(in->stacks, stack);
		if (!array_make_room(&l->batch.frames.list, l->batch.frames.count,
				     &l->batch.frames.capacity, sizeof(new)) ||
		    !describe_code(in, &new))
			return false;
		l->batch.frames.list[l->batch.frames.count++] = new;
		h->frame_numbers[at] = ++h->frames;
	}
	*number = h->frame_numbers[at];
	return true;
}

/* Adds new table entries. The caller holds the lock. Returns false if out of memory. */
static bool add_tables(struct live_spans *l, const struct collected *in,
		       const struct timeline *shapes)
{
	struct handed *h = &l->handed;
	struct batch *n = &l->batch;

	if (h->renames != in->place_names->renames) {
		h->renames = in->place_names->renames;
		h->processes = h->threads = n->processes.count = n->threads.count = 0;
	}
	return ADD_NEW(&n->places, in->places->list, in->places->count, &h->places) &&
	       ADD_NEW(&n->processes, in->place_names->processes, in->place_names->process_count,
		       &h->processes) &&
	       ADD_NEW(&n->threads, in->place_names->threads, in->place_names->thread_count,
		       &h->threads) &&
	       add_shapes(l, shapes) && add_devices(l, in->devices);
}

/*
 * Numbers the frames of all records. A record without a number loses its place, and is dropped
 * later. The caller holds the lock.
 */
static void number_frames(struct live_spans *l, const struct collected *in, struct chunk *chunk)
{
	for (uint32_t i = 0; i < chunk->count; i++) {
		struct timeline_record *record = &chunk->list[i].record;

		if (!number_frame(l, in, record->stack, &record->stack.number))
			record->place.number = UINT32_MAX;
	}
}

/* Adds the chunk to the records handed over. The caller holds the lock. */
static void add_chunk(struct live_spans *l, const struct collected *in,
		      const struct timeline *shapes)
{
	struct chunk *chunk = l->taken, *fitting;

	/* table entries must be handed over even if the records are dropped */
	if (!add_tables(l, in, shapes) || chunk->count > l->options.waiting_max - l->waiting) {
		add_lost(l, chunk->count);
		chunk->count = 0;
		return;
	}
	number_frames(l, in, chunk);
	fitting = realloc(chunk, CHUNK_BYTES(chunk->count));
	if (fitting)
		chunk = fitting;
	*l->batch.last = chunk;
	l->batch.last = &chunk->next;
	l->waiting += chunk->count;
	l->taken = NULL;
}

bool live_spans_hand_over(struct live_spans *l, const struct collected *in,
			  const struct timeline *shapes, bool is_tick)
{
	bool has_work, has_taken = l->taken && l->taken->count;

	pthread_mutex_lock(&l->lock);
	if (has_taken)
		add_chunk(l, in, shapes);
	l->has_work |= has_taken || is_tick;
	l->ticks += is_tick;
	l->batch.ticks = l->ticks;
	has_work = l->has_work;
	pthread_cond_broadcast(&l->changed);
	pthread_mutex_unlock(&l->lock);
	return has_work;
}

void live_spans_stop(struct live_spans *l)
{
	pthread_mutex_lock(&l->lock);
	atomic_store(&l->is_stopping, true);
	pthread_cond_broadcast(&l->changed);
	pthread_mutex_unlock(&l->lock);
}

bool live_spans_is_stopping(const struct live_spans *l)
{
	return atomic_load(&l->is_stopping);
}

struct live_spans_count live_spans_count(const struct live_spans *l)
{
	return (struct live_spans_count){.all = trace_sums_spans(&l->sums) + 1,
					 .lost = atomic_load(&l->lost)};
}

struct live_spans_kept live_spans_kept(const struct live_spans *l)
{
	return (struct live_spans_kept){l->waiting, l->held_count, l->batch.places.count};
}

/* ---- the other thread's tables ---- */

static void import_places(struct mirror *m, const struct batch *n)
{
	if (!m->lacks_places)
		m->lacks_places = !APPEND(&m->places, n->places.list, n->places.count);
}

/* Adds shapes under their numbers. After a failure no further shapes are added. */
static void import_shapes(struct mirror *m, const struct batch *n)
{
	for (uint32_t i = 0; i < n->shapes.count && !m->lacks_shapes; i++)
		m->lacks_shapes = !timeline_number_shape(m->shapes, &n->shapes.list[i]);
}

static void import_devices(struct mirror *m, const struct batch *n)
{
	if (n->devices.count == 0)
		return;
	devices_release(&m->devices);
	for (uint32_t i = 0; i < n->devices.count; i++)
		devices_add(&m->devices, &n->devices.list[i]);
	devices_make_labels(&m->devices);
}

static struct frame import_code(struct mirror *m, const struct new_frame *new)
{
	struct frame frame = new->frame;

	if (!new->file.path)
		return frame;
	if (m->space && new->file.path[0])
		frame.code = symbolizer_locate_in(m->collected.symbolizer, m->space, &new->file,
						  new->frame.code.offset);
	else
		frame.code = (struct code_ref){.module = MODULE_UNKNOWN};
	return frame;
}

static void import_frame(struct live_spans *l, const struct new_frame *new)
{
	struct mirror *m = &l->mirror;
	struct frame frame = import_code(m, new);
	uint32_t stack;

	if (!result_name(l->result,
			 stack_table_push((struct stack_table *)m->collected.stacks, STACK_EMPTY,
					  &frame),
			 &stack))
		stack = RESULT_ROOT;
	if (!m->lacks_frames)
		m->lacks_frames = !APPEND(&m->stacks, &stack, 1);
}

static void import_batch(struct live_spans *l, const struct batch *n)
{
	struct mirror *m = &l->mirror;
	struct place_names *names = &m->place_names;

	import_places(m, n);
	import_shapes(m, n);
	import_devices(m, n);
	for (uint32_t i = 0; i < n->processes.count; i++) {
		const struct process_info *p = &n->processes.list[i];

		if (!place_names_rename_process(names, p->id, p->name))
			place_names_add_process(names, p);
	}
	for (uint32_t i = 0; i < n->threads.count; i++) {
		const struct thread_info *t = &n->threads.list[i];

		if (!place_names_rename_thread(names, t->process, t->tid, t->name))
			place_names_add_thread(names, t);
	}
	for (uint32_t i = 0; i < n->frames.count; i++)
		import_frame(l, &n->frames.list[i]);
	result_refresh(l->result);
}

/* ---- spans ---- */

static void add_span(struct live_spans *l, const struct span *span)
{
	l->is_cancelled |= span_maker_add(l->maker, l->result, span) == -ECANCELED;
}

static int compare_held(const void *a, const void *b)
{
	const struct held *x = a, *y = b;
	int order = compare_numbers(x->span.record.start_ns, y->span.record.start_ns);

	return order ? order : compare_numbers(x->injected, y->injected);
}

static bool goes_on(const struct live_spans *l)
{
	return !live_spans_is_stopping(l) && !l->is_cancelled;
}

/*
 * Finds the parents of held calls, and makes spans of the calls that arrived by `injected`. A
 * parent is the outermost call around: outer calls begin earlier, so they are known first.
 */
static void resolve_calls(struct live_spans *l, uint64_t injected)
{
	uint32_t kept = 0;

	qsort(l->held, l->held_count, sizeof(*l->held), compare_held);
	for (uint32_t i = 0; i < l->held_count; i++) {
		struct span *span = &l->held[i].span;
		uint64_t around = span_maker_around(l->maker, l->result, &span->record);

		if (span->parent == SPAN_OF_RUN)
			span->parent = around;
	}
	for (uint32_t i = 0; i < l->held_count; i++) {
		if (l->held[i].injected <= injected && goes_on(l))
			add_span(l, &l->held[i].span);
		else
			l->held[kept++] = l->held[i];
	}
	l->held_count = kept;
}

static void hold(struct live_spans *l, const struct span *span)
{
	if (l->held_count == l->options.held_max)
		resolve_calls(l, l->inject_queue - l->options.held_max / 2);
	if (l->held_count == l->options.held_max)
		add_span(l, span); /* stopped meanwhile */
	else
		l->held[l->held_count++] = (struct held){*span, ++l->inject_queue};
}

static void make_span(struct live_spans *l, const struct taken *taken)
{
	const struct mirror *m = &l->mirror;
	struct span span = {.record = taken->record, .parent = SPAN_OF_RUN};
	uint32_t frame = taken->record.stack.number;

	if (taken->record.place.number >= m->places.count) {
		add_lost(l, 1);
		return;
	}
	span.stack = frame && frame <= m->stacks.count ? m->stacks.list[frame - 1] : RESULT_ROOT;
	if (taken->record.kind != TIMELINE_GPU_OPERATION) {
		/* the operation's record may arrive at any later time */
		span.is_link_dropped = span_waits_for_stream(l->result, &span.record);
		hold(l, &span);
		return;
	}
	if (taken->launched_ns && taken->record.correlation)
		span.parent =
			span_of_launch(m->places.list[span.record.place.number].part[PLACE_PROCESS],
				       span.record.correlation, taken->launched_ns);
	add_span(l, &span);
}

static void end_tick(struct live_spans *l)
{
	resolve_calls(l, l->arrivals_at_tick);
	l->arrivals_at_tick = l->inject_queue;
	l->worked_ticks = l->work.ticks;
	l->is_cancelled |= span_maker_flush(l->maker, l->result) == -ECANCELED;
}

static void end_chunk(struct live_spans *l)
{
	drop_chunk(&l->work);
	pthread_mutex_lock(&l->lock);
	l->waiting -= l->done;
	pthread_mutex_unlock(&l->lock);
	l->done = 0;
}

/* Makes spans until the work is done, or the thread is stopped. */
static void work(struct live_spans *l)
{
	while (l->work.first && goes_on(l)) {
		if (l->done < l->work.first->count)
			make_span(l, &l->work.first->list[l->done++]);
		else
			end_chunk(l);
	}
	if (l->work.ticks != l->worked_ticks && goes_on(l))
		end_tick(l);
}

/* Fetches what was handed over. Drops the rest of the previous work. */
static void fetch(struct live_spans *l)
{
	release_batch(&l->work);
	pthread_mutex_lock(&l->lock);
	l->work = l->batch; /* `last` is not valid in the copy, and not needed */
	begin_batch(&l->batch, l->work.ticks);
	l->has_work = false;
	pthread_mutex_unlock(&l->lock);
	l->done = 0;
	if (l->result)
		import_batch(l, &l->work);
}

bool live_spans_wait(struct live_spans *l)
{
	bool goes;

	pthread_mutex_lock(&l->lock);
	while (!l->has_work && !live_spans_is_stopping(l))
		pthread_cond_wait(&l->changed, &l->lock);
	goes = !live_spans_is_stopping(l);
	pthread_mutex_unlock(&l->lock);
	return goes;
}

void live_spans_work(struct live_spans *l)
{
	fetch(l);
	work(l);
}

int live_spans_end(struct live_spans *l, const struct result *run)
{
	int err = 0;

	atomic_store(&l->is_stopping, false);
	work(l); /* finishes the work of the other thread */
	fetch(l);
	work(l);
	resolve_calls(l, UINT64_MAX);
	if (!l->is_cancelled && l->result)
		err = span_maker_flush(l->maker, l->result);
	if (err != -ECANCELED && !l->is_cancelled)
		err = span_maker_end(l->maker, run, &l->sums);
	return l->is_cancelled ? -ECANCELED : err;
}
