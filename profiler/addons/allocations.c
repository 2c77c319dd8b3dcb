// SPDX-License-Identifier: MIT
#include "profiler/addons/allocations.h"

#include <stdlib.h>
#include <string.h>
#include "cupti_trace/wire/gpu_work.h"
#include "symbolize/util/array.h"

#define NONE UINT32_MAX
#define TABLE_MAX (1u << 20) /* scopes, users and pools */

/* Beside a total. */
struct scope {
	uint64_t bytes, peak_number; /* how many peaks there were */
};

/* Beside a row. */
struct user {
	uint64_t bytes, pieces;
	uint64_t peak_number; /* of the peak that the row has */
};

/* Beside a pool. */
struct holder {
	uint64_t held, used, peak_number; /* likewise */
	uint32_t total;                   /* NONE: it has never held any */
};

/* Memory that is allocated. */
struct piece {
	uint64_t address, bytes;
	uint32_t process, row, owner;
	uint32_t next, before; /* of its owner; `next` also of those that are free */
};

struct owner {
	uint32_t process, context, first;
};

void allocations_init(struct allocations *a)
{
	memset(a, 0, sizeof(*a));
	a->free_piece = NONE;
	a->pending_max = ALLOCATIONS_PENDING;
}

static void free_passing(struct allocations *a)
{
	free(a->pending);
	free(a->scopes);
	free(a->users);
	free(a->holders);
	free(a->pieces);
	free(a->owners);
	hash_index_release(&a->scope_index);
	hash_index_release(&a->user_index);
	hash_index_release(&a->piece_index);
	hash_index_release(&a->owner_index);
	hash_index_release(&a->pool_index);
	a->pending = NULL;
	a->scopes = NULL;
	a->users = NULL;
	a->holders = NULL;
	a->pieces = NULL;
	a->owners = NULL;
}

void allocations_release(struct allocations *a)
{
	memory_use_release(&a->use);
	free_passing(a);
	allocations_init(a);
}

/* ---- tables ---- */

static uint32_t address_hash(uint32_t process, uint64_t address)
{
	return hash_four((uint32_t)(address >> 32), (uint32_t)address, process, 0);
}

static bool scope_equal(const void *records, uint32_t position, const void *key)
{
	const struct memory_total *t = (const struct memory_total *)records + position;
	const struct allocation_event *e = key;

	return t->process == e->process && t->device == e->device && t->kind == e->kind;
}

static uint32_t find_scope(struct allocations *a, const struct allocation_event *e)
{
	struct memory_use *use = &a->use;
	uint32_t hash = hash_four(e->process, e->device, e->kind, 0);
	uint32_t at = hash_index_find(&a->scope_index, hash, scope_equal, use->totals, e);

	if (at != HASH_INDEX_NONE)
		return at;
	at = use->total_count;
	if (at == TABLE_MAX ||
	    !quota_take(a->memory,
			sizeof(*use->totals) + sizeof(*a->scopes) + HASH_INDEX_ENTRY_BYTES) ||
	    !array_make_room(&a->scopes, at, &a->scope_capacity, sizeof(*a->scopes)) ||
	    !array_make_room(&use->totals, at, &use->total_capacity, sizeof(*use->totals)) ||
	    hash_index_add(&a->scope_index, hash, at) != 0)
		return NONE;
	a->scopes[at] = (struct scope){.bytes = 0};
	use->totals[at] =
		(struct memory_total){.process = e->process, .device = e->device, .kind = e->kind};
	use->total_count++;
	return at;
}

struct user_key {
	uint32_t stack, total;
};

static bool user_equal(const void *records, uint32_t position, const void *key)
{
	const struct memory_row *row = (const struct memory_row *)records + position;
	const struct user_key *k = key;

	return row->stack == k->stack && row->total == k->total;
}

static uint32_t find_user(struct allocations *a, uint32_t stack, uint32_t total)
{
	const struct user_key key = {stack, total};
	struct memory_use *use = &a->use;
	uint32_t hash = hash_pair(stack, total);
	uint32_t at = hash_index_find(&a->user_index, hash, user_equal, use->rows, &key);

	if (at != HASH_INDEX_NONE)
		return at;
	at = use->row_count;
	if (at == TABLE_MAX ||
	    !quota_take(a->memory,
			sizeof(*use->rows) + sizeof(*a->users) + HASH_INDEX_ENTRY_BYTES) ||
	    !array_make_room(&a->users, at, &a->user_capacity, sizeof(*a->users)) ||
	    !array_make_room(&use->rows, at, &use->row_capacity, sizeof(*use->rows)) ||
	    hash_index_add(&a->user_index, hash, at) != 0)
		return NONE;
	a->users[at] = (struct user){.bytes = 0};
	use->rows[at] = (struct memory_row){.stack = stack, .total = total};
	use->row_count++;
	return at;
}

static bool owner_equal(const void *records, uint32_t position, const void *key)
{
	const struct owner *o = (const struct owner *)records + position;
	const struct allocation_event *e = key;

	return o->process == e->process && o->context == e->context;
}

static uint32_t find_owner(struct allocations *a, const struct allocation_event *e, bool makes)
{
	uint32_t hash = hash_pair(e->process, e->context);
	uint32_t at = hash_index_find(&a->owner_index, hash, owner_equal, a->owners, e);

	if (at != HASH_INDEX_NONE)
		return at;
	if (!makes || a->owner_count == TABLE_MAX ||
	    !quota_take(a->passing, sizeof(*a->owners) + HASH_INDEX_ENTRY_BYTES) ||
	    !array_make_room(&a->owners, a->owner_count, &a->owner_capacity, sizeof(*a->owners)) ||
	    hash_index_add(&a->owner_index, hash, a->owner_count) != 0)
		return NONE;
	a->owners[a->owner_count] = (struct owner){e->process, e->context, NONE};
	return a->owner_count++;
}

/* ---- pools ---- */

static bool pool_equal(const void *records, uint32_t position, const void *key)
{
	const struct memory_pool *p = (const struct memory_pool *)records + position;
	const struct allocation_event *e = key;

	return p->address == e->address && p->process == e->process;
}

static uint32_t find_pool(struct allocations *a, const struct allocation_event *e)
{
	struct memory_use *use = &a->use;
	uint32_t hash = address_hash(e->process, e->address);
	uint32_t at = hash_index_find(&a->pool_index, hash, pool_equal, use->pools, e);

	if (at != HASH_INDEX_NONE)
		return at;
	at = use->pool_count;
	if (at == TABLE_MAX ||
	    !quota_take(a->memory,
			sizeof(*use->pools) + sizeof(*a->holders) + HASH_INDEX_ENTRY_BYTES) ||
	    !array_make_room(&a->holders, at, &a->holder_capacity, sizeof(*a->holders)) ||
	    !array_make_room(&use->pools, at, &use->pool_capacity, sizeof(*use->pools)) ||
	    hash_index_add(&a->pool_index, hash, at) != 0)
		return NONE;
	a->holders[at] = (struct holder){.total = NONE};
	use->pools[at] = (struct memory_pool){
		.address = e->address, .process = e->process, .device = e->device, .kind = e->kind};
	use->pool_count++;
	return at;
}

/* Before a pool changes: as note_peak. */
static void note_pool_peak(struct allocations *a, uint32_t at)
{
	struct holder *h = &a->holders[at];
	uint64_t number = h->total != NONE ? a->scopes[h->total].peak_number : 0;

	if (h->peak_number == number)
		return;
	h->peak_number = number;
	a->use.pools[at].peak_held = h->held;
	a->use.pools[at].peak_used = h->used;
}

static void on_pool(struct allocations *a, const struct allocation_event *e)
{
	uint32_t at = find_pool(a, e);
	struct memory_pool *p;
	struct holder *h;

	if (at == NONE) {
		a->use.not_kept++;
		return;
	}
	p = &a->use.pools[at];
	h = &a->holders[at];
	if (h->total == NONE && e->bytes)
		h->total = find_scope(a, e);
	note_pool_peak(a, at);
	h->held = e->bytes;
	h->used = e->used;
	p->keeps = e->keeps;
	if (h->used > p->most_used)
		p->most_used = h->used;
	if (h->held <= p->most_held)
		return;
	p->most_held = h->held;
	p->most_held_ns = e->time_ns;
}

/* ---- pieces ---- */

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

/* Before a row's bytes change: what it had at the last peak, if that came since they last did. */
static void note_peak(struct allocations *a, uint32_t row)
{
	struct memory_row *r = &a->use.rows[row];
	const struct scope *scope = &a->scopes[r->total];
	struct user *user = &a->users[row];

	if (user->peak_number == scope->peak_number)
		return;
	user->peak_number = scope->peak_number;
	r->peak_bytes = user->bytes;
	r->at_peak = user->pieces;
}

/* The bytes of the whole are more than ever; all rows of it that change next note theirs. */
static void look_for_peak(struct allocations *a, uint32_t total, uint64_t time_ns)
{
	struct memory_total *t = &a->use.totals[total];
	struct scope *scope = &a->scopes[total];

	if (scope->bytes <= t->peak_bytes)
		return;
	t->peak_bytes = scope->bytes;
	t->peak_ns = time_ns;
	scope->peak_number++;
}

static void take_piece(struct allocations *a, uint32_t at)
{
	struct piece *p = &a->pieces[at];
	uint32_t total = a->use.rows[p->row].total;

	note_peak(a, p->row);
	a->users[p->row].bytes -= p->bytes;
	a->users[p->row].pieces--;
	a->scopes[total].bytes -= p->bytes;
	a->use.totals[total].frees++;
	if (p->before != NONE)
		a->pieces[p->before].next = p->next;
	else
		a->owners[p->owner].first = p->next;
	if (p->next != NONE)
		a->pieces[p->next].before = p->before;
	hash_index_remove(&a->piece_index, address_hash(p->process, p->address), at);
	p->next = a->free_piece;
	a->free_piece = at;
}

static void on_made(struct allocations *a, const struct allocation_event *e)
{
	uint32_t old = find_piece(a, e), total, row, owner, at;
	struct owner *o;

	if (old != NONE)
		take_piece(a, old);
	total = find_scope(a, e);
	row = total != NONE ? find_user(a, e->stack.number, total) : NONE;
	owner = row != NONE ? find_owner(a, e, true) : NONE;
	at = owner != NONE ? new_piece(a) : NONE;
	if (at != NONE &&
	    hash_index_add(&a->piece_index, address_hash(e->process, e->address), at) != 0) {
		a->pieces[at].next = a->free_piece;
		a->free_piece = at;
		at = NONE;
	}
	if (at == NONE) {
		a->use.not_kept++;
		return;
	}
	o = &a->owners[owner];
	a->pieces[at] = (struct piece){.address = e->address,
				       .bytes = e->bytes,
				       .process = e->process,
				       .row = row,
				       .owner = owner,
				       .next = o->first,
				       .before = NONE};
	if (o->first != NONE)
		a->pieces[o->first].before = at;
	o->first = at;
	note_peak(a, row);
	a->users[row].bytes += e->bytes;
	a->users[row].pieces++;
	a->scopes[total].bytes += e->bytes;
	a->use.rows[row].allocated_bytes += e->bytes;
	a->use.rows[row].allocations++;
	a->use.totals[total].allocated_bytes += e->bytes;
	a->use.totals[total].allocations++;
	look_for_peak(a, total, e->time_ns);
}

static void on_freed(struct allocations *a, const struct allocation_event *e)
{
	uint32_t at = find_piece(a, e), total;

	if (at != NONE) {
		take_piece(a, at);
		return;
	}
	total = find_scope(a, e);
	if (total != NONE)
		a->use.totals[total].unknown++;
}

static void on_context_ends(struct allocations *a, const struct allocation_event *e)
{
	uint32_t owner = find_owner(a, e, false);

	while (owner != NONE && a->owners[owner].first != NONE) {
		uint32_t at = a->owners[owner].first;

		a->use.totals[a->use.rows[a->pieces[at].row].total].ended++;
		take_piece(a, at);
	}
}

/* A process has ended: what it had not given back is gone, and so is what is known of it. */
static void on_process_ends(struct allocations *a, const struct allocation_event *e)
{
	if (a->is_over)
		return;
	for (uint32_t i = 0; i < a->owner_count; i++)
		while (a->owners[i].process == e->process && a->owners[i].first != NONE)
			take_piece(a, a->owners[i].first);
	for (uint32_t i = 0; i < a->use.pool_count; i++)
		if (a->use.pools[i].process == e->process)
			a->holders[i].held = a->holders[i].used = 0;
}

/* ---- the order of time ---- */

static int by_time(const void *x, const void *y)
{
	const struct allocation_event *a = x, *b = y;

	if (a->time_ns != b->time_ns)
		return a->time_ns < b->time_ns ? -1 : 1;
	if (a->type != b->type)
		return a->type < b->type ? -1 : 1;
	return a->number < b->number ? -1 : a->number > b->number;
}

/* Takes the first `count` of those that are pending. */
static void take_pending(struct allocations *a, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		const struct allocation_event *e = &a->pending[i];

		a->use.late += e->time_ns < a->taken_ns;
		if (e->time_ns > a->taken_ns)
			a->taken_ns = e->time_ns;
		if (e->type == ALLOCATION_MADE)
			on_made(a, e);
		else if (e->type == ALLOCATION_FREE)
			on_freed(a, e);
		else if (e->type == ALLOCATION_POOL)
			on_pool(a, e);
		else if (e->type == ALLOCATION_CONTEXT_ENDS)
			on_context_ends(a, e);
		else
			on_process_ends(a, e);
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

/* Returns how many of those that are sorted were before that time. */
static uint32_t count_before(const struct allocations *a, uint64_t time_ns)
{
	uint32_t count = 0;

	while (count < a->pending_count && a->pending[count].time_ns < time_ns)
		count++;
	return count;
}

/* Takes those that are not wanted, if that makes room; else the older half. */
static void make_room(struct allocations *a)
{
	uint32_t half = a->pending_count / 2 + a->pending_count % 2, old;

	sort_pending(a);
	old = count_before(a, a->wanted_ns);
	take_pending(a, old > a->pending_count / 8 ? old : half);
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
		a->use.not_kept++;
		return;
	}
	a->pending[a->pending_count] = *event;
	a->pending[a->pending_count++].number = a->number++;
}

/* ---- the last seconds ---- */

/* Takes all that happened before that time. */
static void take_until(struct allocations *a, uint64_t before_ns)
{
	sort_pending(a);
	take_pending(a, count_before(a, before_ns));
}

/* Forgets totals that nothing is allocated of. `numbers`: the new one of each. */
static void forget_totals(struct allocations *a, uint32_t *numbers)
{
	struct memory_use *use = &a->use;
	uint32_t left = 0;

	for (uint32_t i = 0; i < use->total_count; i++)
		numbers[i] = NONE;
	for (uint32_t i = 0; i < use->row_count; i++) /* also pieces of no bytes */
		if (a->users[i].pieces)
			numbers[use->rows[i].total] = 0;
	hash_index_clear(&a->scope_index);
	for (uint32_t i = 0; i < use->total_count; i++) {
		const struct memory_total *t = &use->totals[i];

		if (numbers[i] == NONE)
			continue;
		hash_index_add(&a->scope_index, hash_four(t->process, t->device, t->kind, 0), left);
		use->totals[left] = *t;
		a->scopes[left] = a->scopes[i];
		numbers[i] = left++;
	}
	if (a->memory)
		quota_return(a->memory, (use->total_count - left) *
						(sizeof(*use->totals) + sizeof(*a->scopes) +
						 HASH_INDEX_ENTRY_BYTES));
	use->total_count = left;
}

/* Forgets rows that nothing is allocated of; the totals of the others have new numbers. */
static void forget_rows(struct allocations *a, const uint32_t *totals, uint32_t *numbers)
{
	struct memory_use *use = &a->use;
	uint32_t left = 0;

	hash_index_clear(&a->user_index);
	for (uint32_t i = 0; i < use->row_count; i++) {
		struct memory_row row = use->rows[i];

		numbers[i] = NONE;
		if (!a->users[i].pieces)
			continue;
		row.total = totals[row.total];
		hash_index_add(&a->user_index, hash_pair(row.stack, row.total), left);
		use->rows[left] = row;
		a->users[left] = a->users[i];
		numbers[i] = left++;
	}
	if (a->memory)
		quota_return(a->memory,
			     (use->row_count - left) * (sizeof(*use->rows) + sizeof(*a->users) +
							HASH_INDEX_ENTRY_BYTES));
	use->row_count = left;
}

static void forget_pools(struct allocations *a, const uint32_t *totals)
{
	struct memory_use *use = &a->use;
	uint32_t left = 0;

	hash_index_clear(&a->pool_index);
	for (uint32_t i = 0; i < use->pool_count; i++) {
		const struct memory_pool pool = use->pools[i];
		struct holder holder = a->holders[i];

		if (!holder.held)
			continue;
		if (holder.total != NONE)
			holder.total = totals[holder.total];
		hash_index_add(&a->pool_index, address_hash(pool.process, pool.address), left);
		use->pools[left] = pool;
		a->holders[left++] = holder;
	}
	if (a->memory)
		quota_return(a->memory,
			     (use->pool_count - left) * (sizeof(*use->pools) + sizeof(*a->holders) +
							 HASH_INDEX_ENTRY_BYTES));
	use->pool_count = left;
}

static void forget_owners(struct allocations *a)
{
	uint32_t left = 0;

	hash_index_clear(&a->owner_index);
	for (uint32_t i = 0; i < a->owner_count; i++) {
		const struct owner owner = a->owners[i];

		if (owner.first == NONE)
			continue;
		hash_index_add(&a->owner_index, hash_pair(owner.process, owner.context), left);
		for (uint32_t at = owner.first; at != NONE; at = a->pieces[at].next)
			a->pieces[at].owner = left;
		a->owners[left++] = owner;
	}
	if (a->passing)
		quota_return(a->passing, (a->owner_count - left) *
						 (sizeof(*a->owners) + HASH_INDEX_ENTRY_BYTES));
	a->owner_count = left;
}

/* Forgets what has nothing allocated. Out of memory, nothing is forgotten. */
static void forget_unallocated(struct allocations *a)
{
	uint32_t *totals = malloc((a->use.total_count + (size_t)1) * sizeof(*totals));
	uint32_t *rows = malloc((a->use.row_count + (size_t)1) * sizeof(*rows));

	if (totals && rows) {
		forget_totals(a, totals);
		forget_rows(a, totals, rows);
		forget_pools(a, totals);
		forget_owners(a);
		for (uint32_t i = 0; i < a->owner_count; i++)
			for (uint32_t at = a->owners[i].first; at != NONE; at = a->pieces[at].next)
				a->pieces[at].row = rows[a->pieces[at].row];
	}
	free(totals);
	free(rows);
}

void allocations_forget(struct allocations *a, uint64_t before_ns)
{
	a->wanted_ns = before_ns;
	if (a->pending_count < a->forget_at)
		return;
	take_until(a, before_ns);
	forget_unallocated(a);
	a->forget_at = a->pending_count > ALLOCATIONS_FORGET
			       ? 2 * a->pending_count
			       : a->pending_count + ALLOCATIONS_FORGET;
}

uint64_t allocations_whole_from(const struct allocations *a)
{
	return a->taken_ns ? a->taken_ns + 1 : 0;
}

/* Has the peak of a total be what is allocated of it now. */
static void begin_total(struct memory_total *t, struct scope *scope, uint64_t from_ns)
{
	t->peak_bytes = scope->bytes;
	t->peak_ns = scope->bytes ? from_ns : 0;
	t->allocated_bytes = t->allocations = t->frees = t->ended = t->unknown = 0;
	scope->peak_number++;
}

void allocations_begin_part(struct allocations *a, uint64_t from_ns)
{
	struct memory_use *use = &a->use;

	take_until(a, from_ns);
	a->is_over = true;
	forget_unallocated(a);
	for (uint32_t i = 0; i < use->total_count; i++)
		begin_total(&use->totals[i], &a->scopes[i], from_ns);
	for (uint32_t i = 0; i < use->row_count; i++)
		use->rows[i].allocated_bytes = use->rows[i].allocations = 0;
	for (uint32_t i = 0; i < use->pool_count; i++) {
		struct memory_pool *p = &use->pools[i];

		p->most_held = a->holders[i].held;
		p->most_held_ns = from_ns;
		p->most_used = a->holders[i].used;
	}
}

void allocations_visit(struct allocations *a, const struct id_visitor *visitor)
{
	for (uint32_t i = 0; i < a->pending_count; i++)
		if (a->pending[i].type == ALLOCATION_MADE)
			visit_stack(visitor, &a->pending[i].stack);
	hash_index_clear(&a->user_index);
	for (uint32_t i = 0; i < a->use.row_count; i++) {
		struct memory_row *row = &a->use.rows[i];

		visit_stack_or_mark(visitor, &row->stack);
		/* cannot fail: there were as many */
		hash_index_add(&a->user_index, hash_pair(row->stack, row->total), i);
	}
}

/* ---- the end ---- */

void allocations_finish(struct allocations *a)
{
	sort_pending(a);
	take_pending(a, a->pending_count);
	for (uint32_t i = 0; i < a->use.row_count; i++) {
		struct memory_row *row = &a->use.rows[i];
		struct memory_total *total = &a->use.totals[row->total];

		note_peak(a, i);
		row->left_bytes = a->users[i].bytes;
		row->left = a->users[i].pieces;
		total->left_bytes += row->left_bytes;
		total->left += row->left;
	}
	for (uint32_t i = 0; i < a->use.pool_count; i++) {
		note_pool_peak(a, i);
		a->use.pools[i].left_held = a->holders[i].held;
		a->use.pools[i].left_used = a->holders[i].used;
	}
	free_passing(a);
}

/* ---- as an add-on ---- */

struct allocations_addon {
	const struct addon_parts *parts;
	struct allocations allocations;
};

static bool is_wanted(const struct addon_parts *parts)
{
	return parts->measure->memory;
}

static void *begin(const struct addon_parts *parts)
{
	struct allocations_addon *a = calloc(1, sizeof(*a));

	if (!a)
		return NULL;
	a->parts = parts;
	allocations_init(&a->allocations);
	a->allocations.memory = parts->memory;
	a->allocations.passing = parts->passing;
	a->allocations.time_range = parts->time_range;
	return a;
}

static void release(void *addon)
{
	struct allocations_addon *a = addon;

	allocations_release(&a->allocations);
	free(a);
}

/* Takes what a pool holds. Most are of device memory, and so is one that does not say. */
static void take_pool(struct allocations *a, uint32_t process, const struct gpu_event_pool *e)
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
	struct allocations_addon *a = addon;

	(void)kernel;
	if (event->type == GPU_EVENT_POOL)
		take_pool(&a->allocations, process, &event->pool);
	else if (event->type == GPU_EVENT_CONTEXT && event->context.end_ns)
		allocations_add(&a->allocations,
				&(struct allocation_event){.type = ALLOCATION_CONTEXT_ENDS,
							   .time_ns = event->context.end_ns,
							   .process = process,
							   .context = event->context.id});
	return 0;
}

/* Notes it as of its arrival, which is after all that the process has told. */
static void end_process(void *addon, uint32_t process)
{
	struct allocations_addon *a = addon;

	if (a->parts->keeps_last)
		allocations_add(&a->allocations,
				&(struct allocation_event){.type = ALLOCATION_PROCESS_ENDS,
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
	struct allocations_addon *a = addon;

	if (!gpu_work_is_memory_call(o->work) || !o->address)
		return;
	if (o->bad_time)
		a->allocations.use.not_kept++;
	else
		allocations_add(&a->allocations,
				&(struct allocation_event){.type = o->work == GPU_WORK_ALLOC
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

static void forget(void *addon, uint64_t before_ns)
{
	struct allocations_addon *a = addon;

	allocations_forget(&a->allocations, before_ns);
}

static uint64_t whole_from(const void *addon)
{
	const struct allocations_addon *a = addon;
	uint64_t from_ns = allocations_whole_from(&a->allocations);
	uint64_t now_ns = a->parts->sink->now_ns;

	/* processes choose the times of their events */
	return from_ns < now_ns ? from_ns : now_ns;
}

static void visit(void *addon, const struct id_visitor *visitor)
{
	struct allocations_addon *a = addon;

	allocations_visit(&a->allocations, visitor);
}

static void complete(void *addon, uint64_t from_ns, uint64_t to_ns)
{
	struct allocations_addon *a = addon;
	struct ledger_bounds *bounds = &a->parts->sink->ledger->bounds;

	(void)to_ns;
	if (a->parts->keeps_last)
		allocations_begin_part(&a->allocations, from_ns);
	allocations_finish(&a->allocations);
	bounds->allocations = a->allocations.use.not_kept;
	bounds->late_allocations = a->allocations.use.late;
}

static void show(void *addon, struct collected *collected)
{
	const struct allocations_addon *a = addon;

	(void)collected;
	memory_use_show(&a->allocations.use, a->parts->tables);
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
	.forget = forget,
	.whole_from = whole_from,
	.visit = visit,
	.complete = complete,
	.show = show,
};
