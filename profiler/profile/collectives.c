// SPDX-License-Identifier: MIT
#include "profiler/profile/collectives.h"

#include <stdlib.h>
#include <string.h>
#include "profiler/base/radix_sort.h"
#include "profiler/profile/work_names.h"
#include "symbolize/array.h"
#include "symbolize/hash_index.h"
#include "symbolize/text.h"

#define WORDS (COLLECTIVES_LINES_MAX / 64)
#define BEFORE_MAX 64u /* operations that ended just before one, which are compared with it */
#define OPEN_MAX 32u   /* collectives to which operations may still be added */

/* Lines of a kernel and clock, by their slots from 0 on. */
struct kind {
	uint32_t clock, kernel;
	uint32_t lines;
};

struct line {
	struct collective_line key;
	uint32_t kind, slot;
};

/* A set of slots. */
struct slots {
	uint64_t words[WORDS];
};

/* Operations that end together, of lines that are all peers. */
struct open_group {
	uint64_t first_end_ns;
	struct slots slots;
	uint32_t count;
	uint32_t members[COLLECTIVES_LINES_MAX]; /* operations */
};

/* What is known of the lines of one kind. */
struct comparison {
	uint32_t operations[COLLECTIVES_LINES_MAX];
	uint32_t together[COLLECTIVES_LINES_MAX][COLLECTIVES_LINES_MAX];
	struct slots peers[COLLECTIVES_LINES_MAX];
	struct open_group open[OPEN_MAX]; /* a ring */
	uint32_t first_open, open_count;
};

struct collectives {
	struct allowance memory;
	struct collective_operation *list;
	uint32_t count, capacity;
	bool is_full;
	struct line *lines;
	uint32_t line_count, line_capacity;
	struct hash_index line_index;
	struct kind *kinds;
	uint32_t kind_count, kind_capacity;
	struct hash_index kind_index;
};

/* Of the budget: an operation with its key and value, and their copies, of radix_sort. */
#define OPERATION_BYTES (sizeof(struct collective_operation) + 24)
#define LINE_BYTES (sizeof(struct line) + sizeof(struct kind) + 2 * HASH_INDEX_ENTRY_BYTES)

/* ---- kernels ---- */

/* "ncclDevKernel_AllReduce_Sum_f32_RING_LL"; NULL: not of NCCL */
static const char *nccl_name(const struct frame_info *frame)
{
	const char *prefix = work_frame(GPU_WORK_KERNEL);

	if (frame->class != CLASS_GPU_KERNEL || !starts_with(frame->name, prefix))
		return NULL;
	return starts_with(frame->name + strlen(prefix), "nccl") ? frame->name + strlen(prefix)
								 : NULL;
}

bool collectives_is_nccl(const struct frame_info *frame)
{
	return nccl_name(frame) != NULL;
}

bool collectives_is_compared(const struct frame_info *frame)
{
	static const char *const names[] = {"AllReduce", "AllGather", "ReduceScatter", "AllToAll",
					    "AlltoAll"};
	const char *name = nccl_name(frame), *end = name ? name + strcspn(name, "(<") : NULL;

	for (size_t i = 0; name && i < sizeof(names) / sizeof(names[0]); i++) {
		const char *found = strstr(name, names[i]);

		if (found && found < end)
			return true;
	}
	return false;
}

/* ---- adding ---- */

struct collectives *collectives_new(struct allowance *memory)
{
	struct collectives *c = calloc(1, sizeof(*c));

	if (c)
		c->memory = (struct allowance){.limit = COLLECTIVES_BYTES_MAX, .outer = memory};
	return c;
}

static void drop_operations(struct collectives *c)
{
	free(c->list);
	free(c->lines);
	free(c->kinds);
	hash_index_release(&c->line_index);
	hash_index_release(&c->kind_index);
	allowance_return(&c->memory, c->memory.used);
	c->list = NULL;
	c->lines = NULL;
	c->kinds = NULL;
	c->count = c->line_count = c->kind_count = 0;
}

void collectives_free(struct collectives *c)
{
	if (!c)
		return;
	drop_operations(c);
	free(c);
}

static void give_up(struct collectives *c)
{
	drop_operations(c);
	c->is_full = true;
}

static bool is_kind(const void *records, uint32_t position, const void *key)
{
	const struct kind *a = (const struct kind *)records + position;
	const struct collective_line *b = key;

	return a->clock == b->clock && a->kernel == b->kernel;
}

static bool is_line(const void *records, uint32_t position, const void *key)
{
	const struct line *a = (const struct line *)records + position;

	return memcmp(&a->key, key, sizeof(a->key)) == 0;
}

/* HASH_INDEX_NONE: no memory. */
static uint32_t kind_of(struct collectives *c, const struct collective_line *key)
{
	uint32_t hash = hash_pair(key->clock, key->kernel);
	uint32_t at = hash_index_find(&c->kind_index, hash, is_kind, c->kinds, key);

	if (at != HASH_INDEX_NONE)
		return at;
	if (!array_make_room(&c->kinds, c->kind_count, &c->kind_capacity, sizeof(*c->kinds)) ||
	    hash_index_add(&c->kind_index, hash, c->kind_count) != 0)
		return HASH_INDEX_NONE;
	c->kinds[c->kind_count] = (struct kind){.clock = key->clock, .kernel = key->kernel};
	return c->kind_count++;
}

/* HASH_INDEX_NONE: no memory. */
static uint32_t line_of(struct collectives *c, const struct collective_line *key)
{
	uint32_t hash = hash_bytes(key, sizeof(*key)), kind;
	uint32_t at = hash_index_find(&c->line_index, hash, is_line, c->lines, key);

	if (at != HASH_INDEX_NONE)
		return at;
	if (!allowance_take(&c->memory, LINE_BYTES))
		return HASH_INDEX_NONE;
	kind = kind_of(c, key);
	if (kind == HASH_INDEX_NONE ||
	    !array_make_room(&c->lines, c->line_count, &c->line_capacity, sizeof(*c->lines)) ||
	    hash_index_add(&c->line_index, hash, c->line_count) != 0)
		return HASH_INDEX_NONE;
	c->lines[c->line_count] =
		(struct line){.key = *key, .kind = kind, .slot = c->kinds[kind].lines++};
	return c->line_count++;
}

void collectives_add(struct collectives *c, const struct collective_line *line, uint64_t start_ns,
		     uint64_t duration_ns, uint64_t id)
{
	struct collective_operation operation = {
		.start_ns = start_ns,
		.end_ns = duration_ns < UINT64_MAX - start_ns ? start_ns + duration_ns : UINT64_MAX,
		.id = id,
		.rank = line->rank,
		.last = COLLECTIVES_ALONE};

	if (c->is_full)
		return;
	operation.line = line_of(c, line);
	if (operation.line == HASH_INDEX_NONE || !allowance_take(&c->memory, OPERATION_BYTES) ||
	    !array_make_room(&c->list, c->count, &c->capacity, sizeof(operation)))
		give_up(c);
	else
		c->list[c->count++] = operation;
}

/* ---- which lines are peers ---- */

static bool has(const struct slots *set, uint32_t slot)
{
	return set->words[slot / 64] >> slot % 64 & 1;
}

static void include(struct slots *set, uint32_t slot)
{
	set->words[slot / 64] |= UINT64_C(1) << slot % 64;
}

static bool is_within(const struct slots *set, const struct slots *whole)
{
	for (uint32_t i = 0; i < WORDS; i++)
		if (set->words[i] & ~whole->words[i])
			return false;
	return true;
}

static uint32_t slot_of(const struct collectives *c, uint32_t operation)
{
	return c->lines[c->list[operation].line].slot;
}

static bool lasts(const struct collective_operation *o)
{
	return o->start_ns < o->end_ns;
}

/* Counts with which lines an operation ended together, of those that ended before it. */
static void count_together(const struct collectives *c, struct comparison *x, const uint32_t *order,
			   uint32_t at)
{
	const struct collective_operation *o = &c->list[order[at]];
	uint32_t slot = slot_of(c, order[at]);
	struct slots seen = {{0}};

	if (!lasts(o))
		return;
	x->operations[slot]++;
	for (uint32_t i = at; i-- > 0 && at - i <= BEFORE_MAX;) {
		const struct collective_operation *before = &c->list[order[i]];
		uint32_t other = slot_of(c, order[i]);

		if (o->end_ns - before->end_ns > COLLECTIVES_TOLERANCE_NS)
			break;
		if (before->rank == o->rank || !lasts(before) || o->start_ns >= before->end_ns ||
		    has(&seen, other))
			continue;
		include(&seen, other);
		x->together[slot][other]++;
		x->together[other][slot]++;
	}
}

static void find_peers(const struct collectives *c, struct comparison *x, const uint32_t *order,
		       uint32_t count, uint32_t lines)
{
	/* kinds may be many: no more than this one needs */
	memset(x->operations, 0, lines * sizeof(*x->operations));
	memset(x->peers, 0, lines * sizeof(*x->peers));
	for (uint32_t i = 0; i < lines; i++)
		memset(x->together[i], 0, lines * sizeof(**x->together));
	for (uint32_t i = 0; i < count; i++)
		count_together(c, x, order, i);
	for (uint32_t i = 0; i < lines; i++)
		for (uint32_t k = 0; k < lines; k++) {
			uint64_t fewer = x->operations[i] < x->operations[k] ? x->operations[i]
									     : x->operations[k];

			if (x->together[i][k] && UINT64_C(4) * x->together[i][k] >= 3 * fewer)
				include(&x->peers[i], k);
		}
}

/* ---- collectives ---- */

/* The earliest rank, of those that started last. */
static uint32_t last_of(const struct collectives *c, const struct open_group *group)
{
	uint32_t last = group->members[0];

	for (uint32_t i = 1; i < group->count; i++) {
		const struct collective_operation *o = &c->list[group->members[i]],
						  *latest = &c->list[last];

		if (o->start_ns > latest->start_ns ||
		    (o->start_ns == latest->start_ns && o->rank < latest->rank))
			last = group->members[i];
	}
	return last;
}

static void close_first(struct collectives *c, struct comparison *x)
{
	const struct open_group *group = &x->open[x->first_open];
	const struct collective_operation *last = &c->list[last_of(c, group)];

	for (uint32_t i = 0; i < group->count && group->count > 1; i++) {
		struct collective_operation *o = &c->list[group->members[i]];

		o->last = last->rank;
		o->wait_ns = last->start_ns - o->start_ns;
	}
	x->first_open = (x->first_open + 1) % OPEN_MAX;
	x->open_count--;
}

static void open_group(struct comparison *x, uint64_t end_ns)
{
	struct open_group *group = &x->open[(x->first_open + x->open_count++) % OPEN_MAX];

	group->first_end_ns = end_ns;
	group->slots = (struct slots){{0}};
	group->count = 0;
}

/* Adds it to the first collective that it fits, or a new one. */
static void place_operation(struct collectives *c, struct comparison *x, uint32_t number)
{
	const struct collective_operation *o = &c->list[number];
	uint32_t slot = slot_of(c, number), at = 0;
	struct open_group *group;

	if (!lasts(o))
		return;
	while (x->open_count &&
	       o->end_ns - x->open[x->first_open].first_end_ns > COLLECTIVES_TOLERANCE_NS)
		close_first(c, x);
	for (; at < x->open_count; at++) {
		group = &x->open[(x->first_open + at) % OPEN_MAX];
		if (o->start_ns < group->first_end_ns && is_within(&group->slots, &x->peers[slot]))
			break;
	}
	if (at == x->open_count) {
		if (x->open_count == OPEN_MAX)
			close_first(c, x);
		open_group(x, o->end_ns);
		at = x->open_count - 1;
	}
	group = &x->open[(x->first_open + at) % OPEN_MAX];
	include(&group->slots, slot);
	group->members[group->count++] = number;
}

static void find_of_kind(struct collectives *c, struct comparison *x, const uint32_t *order,
			 uint32_t count)
{
	uint32_t lines = c->kinds[c->lines[c->list[order[0]].line].kind].lines;

	if (lines == 1 || lines > COLLECTIVES_LINES_MAX)
		return;
	find_peers(c, x, order, count, lines);
	for (uint32_t i = 0; i < count; i++)
		place_operation(c, x, order[i]);
	while (x->open_count)
		close_first(c, x);
}

/* The operations by their kinds, then their ends. NULL: no memory. */
static uint32_t *order_of(const struct collectives *c)
{
	uint64_t *keys = malloc(c->count * sizeof(*keys));
	uint32_t *order = malloc(c->count * sizeof(*order));
	bool is_sorted = false;

	if (keys && order) {
		for (uint32_t i = 0; i < c->count; i++) {
			keys[i] = c->list[i].end_ns;
			order[i] = i;
		}
		is_sorted = radix_sort(&keys, &order, c->count) == 0;
		for (uint32_t i = 0; i < c->count; i++)
			keys[i] = c->lines[c->list[order[i]].line].kind;
		is_sorted = is_sorted && radix_sort(&keys, &order, c->count) == 0;
	}
	free(keys);
	if (is_sorted)
		return order;
	free(order);
	return NULL;
}

bool collectives_find(struct collectives *c)
{
	struct comparison *x = c->count ? calloc(1, sizeof(*x)) : NULL;
	uint32_t *order = c->count ? order_of(c) : NULL;

	if (c->count && (!x || !order))
		give_up(c);
	for (uint32_t first = 0, next; first < c->count; first = next) {
		uint32_t kind = c->lines[c->list[order[first]].line].kind;

		for (next = first + 1; next < c->count; next++)
			if (c->lines[c->list[order[next]].line].kind != kind)
				break;
		find_of_kind(c, x, order + first, next - first);
	}
	free(x);
	free(order);
	return !c->is_full;
}

const struct collective_operation *collectives_list(const struct collectives *c, uint32_t *count)
{
	*count = c->count;
	return c->list;
}
