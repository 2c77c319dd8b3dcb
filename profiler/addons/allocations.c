// SPDX-License-Identifier: MIT
#include "profiler/addons/allocations.h"

#include <stdlib.h>
#include <string.h>
#include "cupti_trace/wire/gpu_work.h"
#include "symbolize/util/array.h"
#include "symbolize/util/sorted.h"

#define NONE RECORD_NONE
#define TABLE_MAX (1u << 20) /* totals, rows, pools and owners */

/* A piece of allocated memory. */
struct piece {
	uint64_t address, bytes;
	uint32_t process, row, owner;
	uint32_t next, before; /* neighbours of its owner; `next` also links unused pieces */
};

/* A context, with a list of its pieces. */
struct owner {
	uint32_t process, context, first;
};

/* Keys are the first members of records. */
typedef uint32_t total_key[3];
typedef uint32_t pair_key[2]; /* rows and owners */
typedef char pool_key[offsetof(struct memory_pool, device)];

void allocations_init(struct allocations *a)
{
	memset(a, 0, sizeof(*a));
	a->free_piece = NONE;
	a->pending_max = ALLOCATIONS_PENDING;
}

static void free_temporary(struct allocations *a)
{
	free(a->pending);
	free(a->pieces);
	record_set_release(&a->owners.set);
	hash_index_release(&a->piece_index);
	hash_index_release(&a->totals.set.index);
	hash_index_release(&a->rows.set.index);
	hash_index_release(&a->pools.set.index);
	a->pending = NULL;
	a->pieces = NULL;
}

void allocations_release(struct allocations *a)
{
	free_temporary(a);
	free(a->totals.list);
	free(a->rows.list);
	free(a->pools.list);
	allocations_init(a);
}

/* ---- tables ---- */

/* Finds or adds a record, which begins with its key. Returns NONE if there is no room. */
static uint32_t get(struct record_set *set, struct quota *memory, const void *record,
		    size_t key_size, size_t size)
{
	uint32_t hash = hash_bytes(record, key_size);
	uint32_t at = record_set_find(set, hash, record, key_size, size);

	return at == NONE && set->count < TABLE_MAX &&
			       quota_take(memory, size + HASH_INDEX_ENTRY_BYTES)
		       ? record_set_add(set, hash, record, size)
		       : at;
}
#define GET(s, memory, record, key_type) \
	get(&(s)->set, (memory), (record), sizeof(key_type), sizeof(*(s)->list))

/* Keeps the first `count` records, and indexes them again. */
static void shorten(struct record_set *set, struct quota *memory, uint32_t count, size_t key_size,
		    size_t size)
{
	quota_return(memory, (set->count - count) * (size + HASH_INDEX_ENTRY_BYTES));
	set->count = count;
	record_set_reindex(set, key_size, size);
}
#define SHORTEN(s, memory, count, key_type) \
	shorten(&(s)->set, (memory), (count), sizeof(key_type), sizeof(*(s)->list))

static uint32_t get_total(struct allocations *a, const struct allocation_event *e)
{
	const struct memory_total total = {
		.process = e->process, .device = e->device, .kind = e->kind};

	return GET(&a->totals, a->memory, &total, total_key);
}

/* ---- pools ---- */

/* Notes the pool at the last peak, before the pool changes. */
static void note_pool_peak(struct allocations *a, struct memory_pool *p)
{
	uint64_t number = p->total != NONE ? a->totals.list[p->total].peak_number : 0;

	if (p->peak_number == number)
		return;
	p->peak_number = number;
	p->peak_held = p->held;
	p->peak_used = p->used;
}

static void on_pool(struct allocations *a, const struct allocation_event *e)
{
	const struct memory_pool new_pool = {.address = e->address,
					     .process = e->process,
					     .device = e->device,
					     .kind = e->kind,
					     .total = NONE};
	uint32_t at = GET(&a->pools, a->memory, &new_pool, pool_key);
	struct memory_pool *p;

	if (at == NONE) {
		a->not_kept++;
		return;
	}
	p = &a->pools.list[at];
	if (p->total == NONE && e->bytes)
		p->total = get_total(a, e);
	note_pool_peak(a, p);
	p->held = e->bytes;
	p->used = e->used;
	p->keeps = e->keeps;
	if (p->used > p->most_used)
		p->most_used = p->used;
	if (p->held <= p->most_held)
		return;
	p->most_held = p->held;
	p->most_held_ns = e->time_ns;
}

/* ---- pieces ---- */

static uint32_t address_hash(uint32_t process, uint64_t address)
{
	return hash_four((uint32_t)(address >> 32), (uint32_t)address, process, 0);
}

static bool piece_equal(const void *records, uint32_t position, const void *key)
{
	const struct piece *p = (const struct piece *)records + position;
	const struct allocation_event *e = key;

	return p->address == e->address && p->process == e->process;
}

static uint32_t find_piece(const struct allocations *a, const struct allocation_event *e)
{
	return hash_index_find(&a->piece_index, address_hash(e->process, e->address), piece_equal,
			       a->pieces, e);
}

static uint32_t new_piece(struct allocations *a)
{
	uint32_t at = a->free_piece;

	if (at != NONE) {
		a->free_piece = a->pieces[at].next;
		return at;
	}
	if (!quota_extend(a->passing, a->piece_count, &a->piece_paid,
			  sizeof(*a->pieces) + HASH_INDEX_ENTRY_BYTES) ||
	    !array_make_room(&a->pieces, a->piece_count, &a->piece_capacity, sizeof(*a->pieces)))
		return NONE;
	return a->piece_count++;
}

/* Notes a row at the last peak, before the row changes. */
static void note_peak(struct allocations *a, struct memory_row *row)
{
	uint64_t number = a->totals.list[row->total].peak_number;

	if (row->peak_number == number)
		return;
	row->peak_number = number;
	row->peak_bytes = row->bytes;
	row->at_peak = row->pieces;
}

/* Begins a new peak if more is allocated than ever. Rows note theirs before they next change. */
static void update_peak(struct memory_total *t, uint64_t time_ns)
{
	if (t->bytes <= t->peak_bytes)
		return;
	t->peak_bytes = t->bytes;
	t->peak_ns = time_ns;
	t->peak_number++;
}

static void release_piece(struct allocations *a, uint32_t at)
{
	struct piece *p = &a->pieces[at];
	struct memory_row *row = &a->rows.list[p->row];
	struct memory_total *total = &a->totals.list[row->total];

	note_peak(a, row);
	row->bytes -= p->bytes;
	row->pieces--;
	total->bytes -= p->bytes;
	total->frees++;
	if (p->before != NONE)
		a->pieces[p->before].next = p->next;
	else
		a->owners.list[p->owner].first = p->next;
	if (p->next != NONE)
		a->pieces[p->next].before = p->before;
	hash_index_remove(&a->piece_index, address_hash(p->process, p->address), at);
	p->next = a->free_piece;
	a->free_piece = at;
}

/* Adds a piece to its owner's list. Returns false if there is no room. */
static bool add_piece(struct allocations *a, const struct piece *piece)
{
	struct owner *o = &a->owners.list[piece->owner];
	uint32_t at = new_piece(a);

	if (at == NONE)
		return false;
	a->pieces[at] = *piece;
	if (hash_index_add(&a->piece_index, address_hash(piece->process, piece->address), at) !=
	    0) {
		a->pieces[at].next = a->free_piece;
		a->free_piece = at;
		return false;
	}
	a->pieces[at].next = o->first;
	if (o->first != NONE)
		a->pieces[o->first].before = at;
	o->first = at;
	return true;
}

static void on_made(struct allocations *a, const struct allocation_event *e)
{
	struct piece piece = {
		.address = e->address, .bytes = e->bytes, .process = e->process, .before = NONE};
	struct memory_row new_row = {.stack = e->stack.number}, *row;
	struct memory_total *total;
	uint32_t old = find_piece(a, e);

	if (old != NONE)
		release_piece(a, old);
	new_row.total = get_total(a, e);
	piece.row = new_row.total != NONE ? GET(&a->rows, a->memory, &new_row, pair_key) : NONE;
	piece.owner = piece.row != NONE
			      ? GET(&a->owners, a->passing,
				    &((struct owner){e->process, e->context, NONE}), pair_key)
			      : NONE;
	if (piece.owner == NONE || !add_piece(a, &piece)) {
		a->not_kept++;
		return;
	}
	row = &a->rows.list[piece.row];
	total = &a->totals.list[row->total];
	note_peak(a, row);
	row->bytes += e->bytes;
	row->pieces++;
	row->allocated_bytes += e->bytes;
	row->allocations++;
	total->bytes += e->bytes;
	total->allocated_bytes += e->bytes;
	total->allocations++;
	update_peak(total, e->time_ns);
}

static void on_freed(struct allocations *a, const struct allocation_event *e)
{
	uint32_t at = find_piece(a, e), total;

	if (at != NONE) {
		release_piece(a, at);
		return;
	}
	total = get_total(a, e);
	if (total != NONE)
		a->totals.list[total].unknown++;
}

static void on_context_ends(struct allocations *a, const struct allocation_event *e)
{
	const pair_key key = {e->process, e->context};
	uint32_t owner = record_find(&a->owners, &key), at;

	while (owner != NONE && (at = a->owners.list[owner].first) != NONE) {
		a->totals.list[a->rows.list[a->pieces[at].row].total].ended++;
		release_piece(a, at);
	}
}

/* Releases what the process had not, if it ended before the last seconds. */
static void on_process_ends(struct allocations *a, const struct allocation_event *e)
{
	if (a->is_over)
		return;
	for (uint32_t i = 0; i < a->owners.count; i++)
		while (a->owners.list[i].process == e->process && a->owners.list[i].first != NONE)
			release_piece(a, a->owners.list[i].first);
	for (uint32_t i = 0; i < a->pools.count; i++)
		if (a->pools.list[i].process == e->process)
			a->pools.list[i].held = a->pools.list[i].used = 0;
}

/* ---- the order of time ---- */

static int by_time(const void *x, const void *y)
{
	const struct allocation_event *a = x, *b = y;
	int order = compare_numbers(a->time_ns, b->time_ns);

	order = order ? order : compare_numbers(a->type, b->type);
	return order ? order : compare_numbers(a->number, b->number);
}

/* Applies the first `count` pending events. */
static void apply_pending(struct allocations *a, uint32_t count)
{
	static void (*const handlers[])(struct allocations *, const struct allocation_event *) = {
		[ALLOCATION_FREE] = on_freed,
		[ALLOCATION_POOL] = on_pool,
		[ALLOCATION_MADE] = on_made,
		[ALLOCATION_CONTEXT_ENDS] = on_context_ends,
		[ALLOCATION_PROCESS_ENDS] = on_process_ends,
	};

	for (uint32_t i = 0; i < count; i++) {
		const struct allocation_event *e = &a->pending[i];

		a->late += e->time_ns < a->taken_ns;
		if (e->time_ns > a->taken_ns)
			a->taken_ns = e->time_ns;
		handlers[e->type](a, e);
	}
	a->pending_count -= count;
	if (count && a->pending_count)
		memmove(a->pending, a->pending + count, a->pending_count * sizeof(*a->pending));
}

static void sort_pending(struct allocations *a)
{
	if (a->pending_count)
		qsort(a->pending, a->pending_count, sizeof(*a->pending), by_time);
}

/* Returns the number of sorted events before that time. */
static uint32_t count_before(const struct allocations *a, uint64_t time_ns)
{
	uint32_t count = 0;

	while (count < a->pending_count && a->pending[count].time_ns < time_ns)
		count++;
	return count;
}

/* Applies the events before the wanted time, if that makes room; else the older half. */
static void make_room(struct allocations *a)
{
	uint32_t half = a->pending_count / 2 + a->pending_count % 2, old;

	sort_pending(a);
	old = count_before(a, a->wanted_ns);
	apply_pending(a, old > a->pending_count / 8 ? old : half);
}

static bool has_room(struct allocations *a)
{
	return a->pending_count < a->pending_max &&
	       quota_extend(a->passing, a->pending_count, &a->pending_paid, sizeof(*a->pending)) &&
	       array_make_room(&a->pending, a->pending_count, &a->pending_capacity,
			       sizeof(*a->pending));
}

void allocations_add(struct allocations *a, const struct allocation_event *event)
{
	if (a->time_range && time_range_is_over(a->time_range, event->time_ns))
		return;
	if (!has_room(a))
		make_room(a);
	if (!has_room(a)) {
		a->not_kept++;
		return;
	}
	a->pending[a->pending_count] = *event;
	a->pending[a->pending_count++].number = a->number++;
}

/* ---- the last seconds ---- */

/* Applies all events before that time. */
static void apply_until(struct allocations *a, uint64_t before_ns)
{
	sort_pending(a);
	apply_pending(a, count_before(a, before_ns));
}

/* Drops totals without memory. `numbers` gets the new index of each total. */
static void forget_totals(struct allocations *a, uint32_t *numbers)
{
	uint32_t left = 0;

	for (uint32_t i = 0; i < a->totals.count; i++)
		numbers[i] = NONE;
	for (uint32_t i = 0; i < a->rows.count; i++) /* also pieces of no bytes */
		if (a->rows.list[i].pieces)
			numbers[a->rows.list[i].total] = 0;
	for (uint32_t i = 0; i < a->totals.count; i++) {
		if (numbers[i] == NONE)
			continue;
		a->totals.list[left] = a->totals.list[i];
		numbers[i] = left++;
	}
	SHORTEN(&a->totals, a->memory, left, total_key);
}

/* Drops rows without memory. `totals` has the new indexes; `numbers` gets those of rows. */
static void forget_rows(struct allocations *a, const uint32_t *totals, uint32_t *numbers)
{
	uint32_t left = 0;

	for (uint32_t i = 0; i < a->rows.count; i++) {
		struct memory_row row = a->rows.list[i];

		if (!row.pieces)
			continue;
		row.total = totals[row.total];
		a->rows.list[left] = row;
		numbers[i] = left++;
	}
	SHORTEN(&a->rows, a->memory, left, pair_key);
}

static void forget_pools(struct allocations *a, const uint32_t *totals)
{
	uint32_t left = 0;

	for (uint32_t i = 0; i < a->pools.count; i++) {
		struct memory_pool pool = a->pools.list[i];

		if (!pool.held)
			continue;
		if (pool.total != NONE)
			pool.total = totals[pool.total];
		a->pools.list[left++] = pool;
	}
	SHORTEN(&a->pools, a->memory, left, pool_key);
}

/* Drops owners without memory. `rows` has the new indexes of rows. */
static void forget_owners(struct allocations *a, const uint32_t *rows)
{
	uint32_t left = 0;

	for (uint32_t i = 0; i < a->owners.count; i++) {
		const struct owner owner = a->owners.list[i];

		if (owner.first == NONE)
			continue;
		for (uint32_t at = owner.first; at != NONE; at = a->pieces[at].next) {
			a->pieces[at].owner = left;
			a->pieces[at].row = rows[a->pieces[at].row];
		}
		a->owners.list[left++] = owner;
	}
	SHORTEN(&a->owners, a->passing, left, pair_key);
}

/* Drops records without memory; none of them if out of memory. */
static void forget_unallocated(struct allocations *a)
{
	uint32_t *totals = malloc((a->totals.count + (size_t)1) * sizeof(*totals));
	uint32_t *rows = malloc((a->rows.count + (size_t)1) * sizeof(*rows));

	if (totals && rows) {
		forget_totals(a, totals);
		forget_rows(a, totals, rows);
		forget_pools(a, totals);
		forget_owners(a, rows);
	}
	free(totals);
	free(rows);
}

void allocations_forget(void *addon, uint64_t before_ns)
{
	struct allocations *a = addon;

	a->wanted_ns = before_ns;
	if (a->pending_count < a->forget_at)
		return;
	apply_until(a, before_ns);
	forget_unallocated(a);
	a->forget_at = a->pending_count > ALLOCATIONS_FORGET
			       ? 2 * a->pending_count
			       : a->pending_count + ALLOCATIONS_FORGET;
}

uint64_t allocations_whole_from(const struct allocations *a)
{
	return a->taken_ns ? a->taken_ns + 1 : 0;
}

void allocations_begin_part(struct allocations *a, uint64_t from_ns)
{
	apply_until(a, from_ns);
	a->is_over = true;
	forget_unallocated(a);
	for (uint32_t i = 0; i < a->totals.count; i++) {
		struct memory_total *t = &a->totals.list[i];

		t->peak_bytes = t->bytes;
		t->peak_ns = t->bytes ? from_ns : 0;
		t->peak_number++;
		t->allocated_bytes = t->allocations = t->frees = t->ended = t->unknown = 0;
	}
	for (uint32_t i = 0; i < a->rows.count; i++)
		a->rows.list[i].allocated_bytes = a->rows.list[i].allocations = 0;
	for (uint32_t i = 0; i < a->pools.count; i++) {
		struct memory_pool *p = &a->pools.list[i];

		p->most_held = p->held;
		p->most_held_ns = from_ns;
		p->most_used = p->used;
	}
}

void allocations_visit(void *addon, const struct id_visitor *visitor)
{
	struct allocations *a = addon;

	for (uint32_t i = 0; i < a->pending_count; i++)
		if (a->pending[i].type == ALLOCATION_MADE)
			visit_stack(visitor, &a->pending[i].stack);
	for (uint32_t i = 0; i < a->rows.count; i++)
		visit_stack_or_mark(visitor, &a->rows.list[i].stack);
	record_reindex(&a->rows, pair_key);
}

/* ---- the end ---- */

void allocations_finish(struct allocations *a)
{
	sort_pending(a);
	apply_pending(a, a->pending_count);
	for (uint32_t i = 0; i < a->rows.count; i++) {
		struct memory_row *row = &a->rows.list[i];
		struct memory_total *total = &a->totals.list[row->total];

		note_peak(a, row);
		row->left_bytes = row->bytes;
		row->left = row->pieces;
		total->left_bytes += row->left_bytes;
		total->left += row->left;
	}
	for (uint32_t i = 0; i < a->pools.count; i++) {
		struct memory_pool *p = &a->pools.list[i];

		note_pool_peak(a, p);
		p->left_held = p->held;
		p->left_used = p->used;
	}
	free_temporary(a);
}

/* ---- as an add-on ---- */

static bool is_wanted(const struct addon_parts *parts)
{
	return parts->measure->memory;
}

static void *begin(const struct addon_parts *parts)
{
	struct allocations *a = malloc(sizeof(*a));

	if (!a)
		return NULL;
	allocations_init(a);
	a->parts = parts;
	a->memory = parts->memory;
	a->passing = parts->passing;
	a->time_range = parts->time_range;
	return a;
}

static void release(void *addon)
{
	allocations_release(addon);
	free(addon);
}

/* Adds the state of a pool. An unknown kind of memory is the device's, like most. */
static void add_pool(struct allocations *a, uint32_t process, const struct gpu_event_pool *e)
{
	allocations_add(a,
			&(struct allocation_event){
				.type = ALLOCATION_POOL,
				.time_ns = e->time_ns,
				.address = e->address,
				.bytes = e->held,
				.used = e->used,
				.keeps = e->keeps,
				.process = process,
				.device = e->device_id,
				.kind = memory_kind_of(e->memory ? e->memory : GPU_MEMORY_DEVICE)});
}

static int take_event(void *addon, uint32_t process, const struct gpu_event *event,
		      const char *kernel)
{
	(void)kernel;
	if (event->type == GPU_EVENT_POOL)
		add_pool(addon, process, &event->pool);
	else if (event->type == GPU_EVENT_CONTEXT && event->context.end_ns)
		allocations_add(addon, &(struct allocation_event){.type = ALLOCATION_CONTEXT_ENDS,
								  .time_ns = event->context.end_ns,
								  .process = process,
								  .context = event->context.id});
	return 0;
}

/* Adds the end with the time of its arrival, which is after all events of the process. */
static void end_process(void *addon, uint32_t process)
{
	struct allocations *a = addon;

	if (a->parts->keeps_last)
		allocations_add(a, &(struct allocation_event){.type = ALLOCATION_PROCESS_ENDS,
							      .time_ns = a->parts->sink->now_ns,
							      .process = process});
}

static bool looks_at(void *addon, const struct gpu_operation *operation)
{
	(void)addon;
	return gpu_work_is_memory_call(operation->work);
}

static void take_operation(void *addon, const struct addon_operation *operation)
{
	const struct gpu_operation *o = operation->operation;
	struct allocations *a = addon;

	if (!gpu_work_is_memory_call(o->work) || !o->address)
		return;
	if (o->bad_time)
		a->not_kept++;
	else
		allocations_add(a, &(struct allocation_event){.type = o->work == GPU_WORK_ALLOC
									      ? ALLOCATION_MADE
									      : ALLOCATION_FREE,
							      .time_ns = o->start_ns,
							      .address = o->address,
							      .bytes = o->bytes,
							      .process = o->process,
							      .device = o->device,
							      .context = o->context,
							      .kind = memory_kind_of(o->shape),
							      .stack = operation->stack});
}

static uint64_t whole_from(const void *addon)
{
	const struct allocations *a = addon;
	uint64_t from_ns = allocations_whole_from(a), now_ns = a->parts->sink->now_ns;

	/* processes choose the times of their events */
	return from_ns < now_ns ? from_ns : now_ns;
}

static void complete(void *addon, uint64_t from_ns, uint64_t to_ns)
{
	struct allocations *a = addon;
	struct ledger_bounds *bounds = &a->parts->sink->ledger->bounds;

	(void)to_ns;
	if (a->parts->keeps_last)
		allocations_begin_part(a, from_ns);
	allocations_finish(a);
	bounds->allocations = a->not_kept;
	bounds->late_allocations = a->late;
}

static void show(void *addon, struct collected *collected)
{
	const struct allocations *a = addon;
	const struct memory_use use = {.totals = a->totals.list,
				       .rows = a->rows.list,
				       .pools = a->pools.list,
				       .total_count = a->totals.count,
				       .row_count = a->rows.count,
				       .pool_count = a->pools.count};

	(void)collected;
	memory_use_show(&use, a->parts->tables);
}

const struct addon addon_allocations = {
	.is_wanted = is_wanted,
	.begin = begin,
	.release = release,
	.needs_devices = true,
	.event = take_event,
	.operation = take_operation,
	.looks_at = looks_at,
	.end_process = end_process,
	.forget = allocations_forget,
	.whole_from = whole_from,
	.visit = allocations_visit,
	.complete = complete,
	.show = show,
};
