// SPDX-License-Identifier: MIT
#include "profiler/tables/collectives.h"

#include <stdlib.h>
#include <string.h>
#include "profiler/model/work_names.h"
#include "profiler/tables/nccl_text.h"
#include "symbolize/util/array.h"
#include "symbolize/util/record_set.h"
#include "symbolize/util/radix_sort.h"
#include "symbolize/util/text.h"

#define WORDS (COLLECTIVES_LINES_MAX / 64)
#define BEFORE_MAX 64u                      /* earlier operations compared with each operation */
#define BEFORE_BETWEEN_MAX 512u             /* BEFORE_MAX between machines */
#define COMPARISONS_MAX (UINT64_C(1) << 27) /* comparisons to find peers */
#define OPEN_MAX 32u                        /* collectives that are still open */
#define NO_EVENT UINT32_MAX
#define PAIR_STEPS_MAX (UINT64_C(1) << 26) /* steps to fit the clocks of two machines */
#define GOOD_ERROR_NS 100000u              /* a fit with this error is good enough */

/* A kernel on a clock, of one communicator if it is known. Its lines have slots from 0 on. */
struct kind {
	uint32_t clock, kernel, comm;
	uint32_t lines;
};

struct line {
	struct collective_line key;
	uint32_t kind, slot;
	uint64_t error_ns; /* error of its clock */
};

/* A set of slots. */
struct slots {
	uint64_t words[WORDS];
};

/* Operations that end together. Their lines are all peers. */
struct open_group {
	uint64_t first_end_ns;
	struct slots slots;
	uint32_t count;
	uint32_t members[COLLECTIVES_LINES_MAX]; /* operations */
};

/* State of comparing the lines of one kind. */
struct comparison {
	uint32_t operations[COLLECTIVES_LINES_MAX];
	uint32_t together[COLLECTIVES_LINES_MAX][COLLECTIVES_LINES_MAX];
	struct slots peers[COLLECTIVES_LINES_MAX];
	struct open_group open[OPEN_MAX]; /* a ring */
	uint32_t first_open, open_count;
	uint32_t line_of_slot[COLLECTIVES_LINES_MAX];
	uint64_t comparisons;
};

struct collectives {
	struct quota memory;
	struct collective_operation *list;
	uint32_t count, capacity;
	bool is_full;
	uint64_t tolerance_ns, slack_ns; /* for ends; for a start after an end */
	uint32_t before_max;
	struct collectives *between; /* collectives of single machines as operations: the rank is
					the clock's number, the id is the last rank */
	const struct collective_clock *clocks;
	RECORD_SET(struct line) lines;
	RECORD_SET(struct kind) kinds;
};

/* Bytes of an operation, with two keys and values for radix_sort, and its visit. */
#define OPERATION_BYTES (sizeof(struct collective_operation) + 24 + sizeof(struct clock_visit))
#define LINE_BYTES (sizeof(struct line) + sizeof(struct kind) + 2 * HASH_INDEX_ENTRY_BYTES)

/* ---- kernels ---- */

/* Returns "ncclDevKernel_AllReduce_Sum_f32_RING_LL"; or NULL for other kernels. */
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

bool *collectives_nccl_frames(const struct result *result)
{
	bool *is_nccl = calloc(result->frame_count + (size_t)1, sizeof(*is_nccl));

	for (uint32_t i = 0; is_nccl && i < result->frame_count; i++)
		is_nccl[i] = collectives_is_nccl(&result->frames[i]);
	return is_nccl;
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

uint32_t collectives_comm(const struct result *r, uint32_t stack)
{
	uint32_t comm = 0;

	if (!r->totals.measure.nvtx)
		return 0;
	for (; stack != RESULT_ROOT && !comm; stack = r->stacks[stack].outer) {
		const struct frame_info *frame = &r->frames[r->stacks[stack].frame];

		if (frame->class == CLASS_NVTX)
			comm = nccl_text_comm(frame->name);
	}
	return comm;
}

/* ---- adding ---- */

struct collectives *collectives_new(struct quota *memory)
{
	struct collectives *c = calloc(1, sizeof(*c));

	if (c) {
		c->memory = (struct quota){.limit = COLLECTIVES_BYTES_MAX, .outer = memory};
		c->tolerance_ns = COLLECTIVES_TOLERANCE_NS;
		c->before_max = BEFORE_MAX;
	}
	return c;
}

static void drop_operations(struct collectives *c)
{
	free(c->list);
	record_set_release(&c->lines.set);
	record_set_release(&c->kinds.set);
	quota_return(&c->memory, c->memory.used);
	c->list = NULL;
	c->count = 0;
}

void collectives_free(struct collectives *c)
{
	if (!c)
		return;
	collectives_free(c->between);
	drop_operations(c);
	free(c);
}

static void give_up(struct collectives *c)
{
	drop_operations(c);
	c->is_full = true;
}

/* Returns the number of a kind; RECORD_NONE if out of memory. */
static uint32_t kind_of(struct collectives *c, const struct collective_line *key)
{
	const struct kind kind = {.clock = key->clock, .kernel = key->kernel, .comm = key->comm};
	const uint32_t of[] = {key->clock, key->kernel, key->comm};

	return record_get(&c->kinds, &of, &kind);
}

/* Returns the number of a line; RECORD_NONE without room. */
static uint32_t line_of(struct collectives *c, const struct collective_line *key)
{
	struct line line = {.key = *key};
	uint32_t at = record_find(&c->lines, key);

	if (at != RECORD_NONE)
		return at;
	if (!quota_take(&c->memory, LINE_BYTES))
		return RECORD_NONE;
	line.kind = kind_of(c, key);
	if (line.kind == RECORD_NONE)
		return RECORD_NONE;
	line.slot = c->kinds.list[line.kind].lines++;
	return record_add(&c->lines, key, &line);
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
	if (operation.line == RECORD_NONE || !quota_take(&c->memory, OPERATION_BYTES) ||
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
	return c->lines.list[c->list[operation].line].slot;
}

static bool lasts(const struct collective_operation *o)
{
	return o->start_ns < o->end_ns;
}

static bool is_after(uint64_t start_ns, uint64_t end_ns, uint64_t slack_ns)
{
	return start_ns >= end_ns && start_ns - end_ns >= slack_ns;
}

/* Counts the lines whose operations ended together with an operation, at or before its end. */
static void count_together(const struct collectives *c, struct comparison *x, const uint32_t *order,
			   uint32_t at)
{
	const struct collective_operation *o = &c->list[order[at]];
	uint32_t slot = slot_of(c, order[at]);
	struct slots seen = {{0}};

	if (!lasts(o))
		return;
	x->operations[slot]++;
	for (uint32_t i = at; i-- > 0 && at - i <= c->before_max;) {
		const struct collective_operation *before = &c->list[order[i]];
		uint32_t other = slot_of(c, order[i]);

		x->comparisons++;
		if (o->end_ns - before->end_ns > c->tolerance_ns)
			break;
		if (before->rank == o->rank || !lasts(before) ||
		    is_after(o->start_ns, before->end_ns, c->slack_ns) || has(&seen, other))
			continue;
		include(&seen, other);
		x->together[slot][other]++;
		x->together[other][slot]++;
	}
}

static uint32_t rank_of(const struct collectives *c, const struct comparison *x, uint32_t slot)
{
	return c->lines.list[x->line_of_slot[slot]].key.rank;
}

/* Makes all lines of different ranks peers: they have one communicator. */
static void include_all(const struct collectives *c, struct comparison *x, uint32_t lines)
{
	memset(x->peers, 0, lines * sizeof(*x->peers));
	for (uint32_t i = 0; i < lines; i++)
		for (uint32_t k = 0; k < lines; k++)
			if (rank_of(c, x, i) != rank_of(c, x, k))
				include(&x->peers[i], k);
}

static void find_peers(const struct collectives *c, struct comparison *x, const uint32_t *order,
		       uint32_t count, uint32_t lines)
{
	/* clears only what this kind needs: kinds may be many */
	memset(x->operations, 0, lines * sizeof(*x->operations));
	memset(x->peers, 0, lines * sizeof(*x->peers));
	for (uint32_t i = 0; i < lines; i++)
		memset(x->together[i], 0, lines * sizeof(**x->together));
	x->comparisons = 0;
	for (uint32_t i = 0; i < count && x->comparisons < COMPARISONS_MAX; i++)
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

/* Returns the operation that started last; among equals that of the smallest rank. */
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

static uint64_t error_of(const struct collectives *c, const struct collective_operation *o)
{
	return c->lines.list[o->line].error_ns;
}

static uint64_t less(uint64_t ns, uint64_t error_ns)
{
	return ns > error_ns ? ns - error_ns : 0;
}

/* Returns the earliest possible start. */
static uint64_t earliest(const struct collectives *c, const struct collective_operation *o)
{
	return less(o->start_ns, error_of(c, o));
}

static void set_wait(struct collectives *c, uint32_t number, uint32_t awaited, uint64_t wait_ns)
{
	struct collective_operation *o = &c->list[number];

	o->awaited = awaited;
	o->last = c->list[awaited].rank;
	o->wait_ns = wait_ns;
}

/* Judges with inexact clocks. A wait is the shortest that the errors allow. */
static void judge_inexact(struct collectives *c, const struct open_group *group, uint32_t last)
{
	uint32_t first = group->members[0], second = group->members[1];
	uint8_t verdict = COLLECTIVE_LAST;

	for (uint32_t i = 1; i < group->count; i++) {
		uint32_t number = group->members[i];

		if (earliest(c, &c->list[number]) > earliest(c, &c->list[first])) {
			second = first;
			first = number;
		} else if (i > 1 && earliest(c, &c->list[number]) > earliest(c, &c->list[second])) {
			second = number;
		}
	}
	for (uint32_t i = 0; i < group->count; i++) {
		uint32_t number = group->members[i], other = number == first ? second : first;
		const struct collective_operation *o = &c->list[number];
		uint64_t until = less(earliest(c, &c->list[other]), error_of(c, o));

		if (until > o->start_ns)
			set_wait(c, number, other, until - o->start_ns);
		else
			set_wait(c, number, number, 0);
		if (number != last &&
		    less(earliest(c, &c->list[last]), error_of(c, o)) < o->start_ns)
			verdict = COLLECTIVE_UNDECIDED;
	}
	c->list[last].verdict = verdict;
}

/* Makes a collective of one machine an operation between machines. */
static void add_event(struct collectives *c, const struct comparison *x,
		      const struct open_group *group, uint32_t last)
{
	const struct collective_operation *o = &c->list[group->members[0]];
	const struct line *line = &c->lines.list[o->line];
	uint32_t slot = line->slot;
	struct collective_line between = {.clock = c->clocks[line->key.clock].alignment.reference,
					  .kernel = line->key.kernel,
					  .comm = line->key.comm,
					  .rank = line->key.clock};
	uint64_t start_ns = c->list[last].start_ns, end_ns = group->first_end_ns;

	/* one device for all peers: that of the smallest slot */
	for (uint32_t i = 0; i < slot; i++)
		if (has(&x->peers[slot], i))
			slot = i;
	between.device = x->line_of_slot[slot];
	if (c->between->is_full || start_ns >= end_ns)
		return;
	for (uint32_t i = 0; i < group->count; i++)
		c->list[group->members[i]].event = c->between->count;
	collectives_add(c->between, &between, start_ns, end_ns - start_ns, c->list[last].rank);
}

static void close_first(struct collectives *c, struct comparison *x)
{
	const struct open_group *group = &x->open[x->first_open];
	uint32_t last = last_of(c, group);

	if (c->slack_ns && group->count > 1) {
		judge_inexact(c, group, last);
	} else if (group->count > 1) {
		for (uint32_t i = 0; i < group->count; i++)
			set_wait(c, group->members[i], last,
				 c->list[last].start_ns - c->list[group->members[i]].start_ns);
		c->list[last].verdict = COLLECTIVE_LAST;
	}
	if (c->between)
		add_event(c, x, group, last);
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

/* Adds an operation to the first collective that it fits, or to a new one. */
static void place_operation(struct collectives *c, struct comparison *x, uint32_t number)
{
	const struct collective_operation *o = &c->list[number];
	uint32_t slot = slot_of(c, number), at = 0;
	struct open_group *group;

	if (!lasts(o))
		return;
	while (x->open_count && o->end_ns - x->open[x->first_open].first_end_ns > c->tolerance_ns)
		close_first(c, x);
	for (; at < x->open_count; at++) {
		group = &x->open[(x->first_open + at) % OPEN_MAX];
		if (!is_after(o->start_ns, group->first_end_ns, c->slack_ns) &&
		    is_within(&group->slots, &x->peers[slot]))
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

/* ---- by sequence ---- */

/* Sorts operations by slot. Returns false if slots have unequal numbers, or share a rank. */
static bool sort_by_slot(const struct collectives *c, const struct comparison *x,
			 const uint32_t *order, uint32_t lines, uint32_t each, uint32_t *sorted)
{
	uint32_t filled[COLLECTIVES_LINES_MAX] = {0};

	for (uint32_t i = 0; i < lines * each; i++) {
		uint32_t slot = slot_of(c, order[i]);

		if (filled[slot] == each || !lasts(&c->list[order[i]]))
			return false;
		sorted[slot * each + filled[slot]++] = order[i];
	}
	for (uint32_t i = 0; i < lines; i++)
		for (uint32_t k = i + 1; k < lines; k++)
			if (!has(&x->peers[i], k))
				return false;
	return true;
}

/* Opens a group of operation n of each line. Returns false if these do not overlap. */
static bool open_sequence(const struct collectives *c, struct comparison *x, const uint32_t *sorted,
			  uint32_t lines, uint32_t each, uint32_t n)
{
	uint64_t latest_ns = 0, end_ns = UINT64_MAX;
	struct open_group *group;

	for (uint32_t i = 0; i < lines; i++) {
		const struct collective_operation *o = &c->list[sorted[i * each + n]];

		latest_ns = o->start_ns > latest_ns ? o->start_ns : latest_ns;
		end_ns = o->end_ns < end_ns ? o->end_ns : end_ns;
	}
	if (is_after(latest_ns, end_ns, c->slack_ns))
		return false;
	open_group(x, end_ns);
	group = &x->open[x->first_open];
	for (uint32_t i = 0; i < lines; i++)
		group->members[group->count++] = sorted[i * each + n];
	return true;
}

/*
 * Finds the collectives of a communicator by their numbers in each line. Returns false, with none
 * found, if lines have unequal numbers of operations, or if too few overlap.
 */
static bool find_by_sequence(struct collectives *c, struct comparison *x, const uint32_t *order,
			     uint32_t count, uint32_t lines)
{
	uint32_t each = count / lines, together = 0;
	uint32_t *sorted = lines > 1 && count % lines == 0 ? malloc(count * sizeof(*sorted)) : NULL;
	bool is_found = sorted && sort_by_slot(c, x, order, lines, each, sorted);

	for (uint32_t n = 0; n < each && is_found; n++) {
		together += open_sequence(c, x, sorted, lines, each, n);
		x->open_count = 0;
	}
	is_found = is_found && UINT64_C(4) * together >= UINT64_C(3) * each;
	for (uint32_t n = 0; n < each && is_found; n++)
		if (open_sequence(c, x, sorted, lines, each, n))
			close_first(c, x);
	free(sorted);
	return is_found;
}

static void find_of_kind(struct collectives *c, struct comparison *x, const uint32_t *order,
			 uint32_t count)
{
	const struct kind *kind = &c->kinds.list[c->lines.list[c->list[order[0]].line].kind];
	uint32_t lines = kind->lines;

	if ((lines == 1 && !c->between) || lines > COLLECTIVES_LINES_MAX)
		return;
	for (uint32_t i = 0; i < count; i++)
		x->line_of_slot[slot_of(c, order[i])] = c->list[order[i]].line;
	if (kind->comm)
		include_all(c, x, lines);
	else
		find_peers(c, x, order, count, lines);
	if (kind->comm && find_by_sequence(c, x, order, count, lines))
		return;
	for (uint32_t i = 0; i < count; i++)
		place_operation(c, x, order[i]);
	while (x->open_count)
		close_first(c, x);
}

/* Sorts operations by kind, or by line, and then by end. Returns NULL if out of memory. */
static uint32_t *order_of(const struct collectives *c, bool by_line)
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
		for (uint32_t i = 0; i < c->count; i++) {
			uint32_t line = c->list[order[i]].line;

			keys[i] = by_line ? line : c->lines.list[line].kind;
		}
		is_sorted = is_sorted && radix_sort(&keys, &order, c->count) == 0;
	}
	free(keys);
	if (is_sorted)
		return order;
	free(order);
	return NULL;
}

static bool find_groups(struct collectives *c)
{
	struct comparison *x = c->count ? calloc(1, sizeof(*x)) : NULL;
	uint32_t *order = c->count ? order_of(c, false) : NULL;

	if (c->count && (!x || !order))
		give_up(c);
	for (uint32_t i = 0; i < c->count; i++) {
		c->list[i].last = COLLECTIVES_ALONE;
		c->list[i].wait_ns = 0;
		c->list[i].event = NO_EVENT;
		c->list[i].verdict = COLLECTIVE_NOT_LAST;
	}
	for (uint32_t first = 0, next; first < c->count; first = next) {
		uint32_t kind = c->lines.list[c->list[order[first]].line].kind;

		for (next = first + 1; next < c->count; next++)
			if (c->lines.list[c->list[order[next]].line].kind != kind)
				break;
		find_of_kind(c, x, order + first, next - first);
	}
	free(x);
	free(order);
	return !c->is_full;
}

/* ---- several machines ---- */

/* Makes events of the collectives of each machine. Returns false if the quota is exceeded. */
static bool find_events(struct collectives *c, const struct collective_clock *clocks)
{
	bool is_found;

	c->clocks = clocks;
	c->between = collectives_new(c->memory.outer);
	if (!c->between)
		return false;
	c->between->before_max = BEFORE_BETWEEN_MAX;
	is_found = find_groups(c);
	if (c->between->is_full)
		is_found = false;
	return is_found;
}

static void drop_events(struct collectives *c)
{
	collectives_free(c->between);
	c->between = NULL;
}

/* Adds to an operation its wait for other machines. */
static void apply_event(struct collectives *c, struct collective_operation *o)
{
	const struct collective_operation *event = &c->between->list[o->event];
	uint64_t until_ns = event->start_ns + event->wait_ns, wait_ns;

	if (event->last == COLLECTIVES_ALONE)
		return;
	if (o->last == COLLECTIVES_ALONE) {
		o->last = o->rank;
		o->verdict = COLLECTIVE_LAST;
	}
	if (o->verdict == COLLECTIVE_LAST)
		o->verdict = event->verdict;
	if (event->wait_ns == 0 || until_ns <= o->start_ns)
		return;
	wait_ns = until_ns - o->start_ns;
	o->wait_ns = wait_ns < o->end_ns - o->start_ns ? wait_ns : o->end_ns - o->start_ns - 1;
	o->last = (uint32_t)c->between->list[event->awaited].id;
}

bool collectives_find(struct collectives *c, const struct collective_clock *clocks, uint32_t count)
{
	uint64_t error_ns = 0;
	bool is_shared = false;

	for (uint32_t i = 0; i < count; i++) {
		is_shared |= clocks[i].alignment.reference != i;
		if (clocks[i].alignment.error_ns > error_ns)
			error_ns = clocks[i].alignment.error_ns;
	}
	if (!is_shared)
		return find_groups(c);
	if (find_events(c, clocks)) {
		struct collectives *between = c->between;

		between->tolerance_ns = COLLECTIVES_BETWEEN_NS + 2 * error_ns;
		between->slack_ns = 2 * error_ns + 1;
		for (uint32_t i = 0; i < between->lines.count; i++) {
			struct line *line = &between->lines.list[i];

			line->error_ns = clocks[line->key.rank].alignment.error_ns;
		}
		if (find_groups(between))
			for (uint32_t i = 0; i < c->count; i++)
				if (c->list[i].event != NO_EVENT)
					apply_event(c, &c->list[i]);
	}
	drop_events(c);
	return !c->is_full;
}

/* ---- aligning clocks ---- */

/* Visits by line of events, and lines by clock. */
struct sequences {
	struct clock_visit *visits;
	uint32_t *first, *count;
	uint32_t *lines, *of_clock; /* lines with enough visits; first of them by clock */
	uint64_t steps;
	int64_t span_ns;
};

static void sequences_release(struct sequences *s)
{
	free(s->visits);
	free(s->first);
	free(s->count);
	free(s->lines);
	free(s->of_clock);
}

/* Sorts lines by clock. `of_clock` is all 0 before. */
static void sort_lines(const struct collectives *events, struct sequences *s, uint32_t clocks)
{
	for (uint32_t i = 0; i < events->lines.count; i++)
		if (s->count[i] >= CLOCK_FIT_PAIRS_MIN)
			s->of_clock[events->lines.list[i].key.rank + 2]++;
	for (uint32_t i = 2; i < clocks + 2; i++)
		s->of_clock[i] += s->of_clock[i - 1];
	for (uint32_t i = 0; i < events->lines.count; i++)
		if (s->count[i] >= CLOCK_FIT_PAIRS_MIN)
			s->lines[s->of_clock[events->lines.list[i].key.rank + 1]++] = i;
}

static bool make_sequences(const struct collectives *events, struct sequences *s, uint32_t clocks)
{
	uint32_t *order = order_of(events, true);
	int64_t from = CLOCK_FIT_TIME_MAX, to = 0;

	s->visits = calloc(events->count, sizeof(*s->visits));
	s->first = calloc(events->lines.count, sizeof(*s->first));
	s->count = calloc(events->lines.count, sizeof(*s->count));
	s->lines = calloc(events->lines.count, sizeof(*s->lines));
	s->of_clock = calloc(clocks + (size_t)2, sizeof(*s->of_clock));
	if (!order || !s->visits || !s->first || !s->count || !s->lines || !s->of_clock) {
		free(order);
		return false;
	}
	for (uint32_t i = 0; i < events->count; i++) {
		const struct collective_operation *o = &events->list[order[i]];

		if (i == 0 || events->list[order[i - 1]].line != o->line)
			s->first[o->line] = i;
		if (o->end_ns > CLOCK_FIT_TIME_MAX)
			continue; /* so does the rest of its line */
		s->visits[i] = (struct clock_visit){(int64_t)o->start_ns, (int64_t)o->end_ns};
		s->count[o->line]++;
		if (s->visits[i].left_ns < from)
			from = s->visits[i].left_ns;
		if (s->visits[i].left_ns > to)
			to = s->visits[i].left_ns;
	}
	s->span_ns = to > from ? to - from : 0;
	sort_lines(events, s, clocks);
	free(order);
	return true;
}

/* Returns the error of two wall clocks, with their drift until the end. Returns 0 if unknown. */
static int64_t guess_error(const struct sequences *s, const struct collective_clock *a,
			   const struct collective_clock *b)
{
	uint64_t limit = (uint64_t)CLOCK_FIT_TIME_MAX / 4;

	if (!a->wall_error_ns || !b->wall_error_ns || a->wall_error_ns > limit ||
	    b->wall_error_ns > limit)
		return 0;
	return (int64_t)(a->wall_error_ns + b->wall_error_ns) + s->span_ns / 2000;
}

/* Finds the best fit of a clock with an aligned clock. Returns false if there is none. */
static bool fit_clocks(const struct collectives *events, struct sequences *s,
		       const struct collective_clock *clocks, uint32_t fixed, uint32_t moved,
		       struct clock_fit *best)
{
	uint64_t limit = s->steps < PAIR_STEPS_MAX ? s->steps : PAIR_STEPS_MAX, steps = limit;
	struct clock_pair pair = {.guess_error_ns = guess_error(s, &clocks[fixed], &clocks[moved])};
	bool is_found = false, is_good = false;

	for (uint32_t i = s->of_clock[fixed]; i < s->of_clock[fixed + 1]; i++)
		for (uint32_t k = s->of_clock[moved];
		     k < s->of_clock[moved + 1] && steps > 0 && !is_good; k++) {
			uint32_t a = s->lines[i], b = s->lines[k];
			struct clock_fit fit;

			steps--;
			if (events->lines.list[a].key.kernel != events->lines.list[b].key.kernel ||
			    events->lines.list[a].key.comm != events->lines.list[b].key.comm)
				continue;
			pair.fixed = s->visits + s->first[a];
			pair.fixed_count = s->count[a];
			pair.moved = s->visits + s->first[b];
			pair.moved_count = s->count[b];
			if (!clock_fit(&pair, &steps, &fit))
				continue;
			if (!is_found || fit.error_ns < best->error_ns)
				*best = fit;
			is_found = true;
			is_good = fit.error_ns <= GOOD_ERROR_NS;
		}
	s->steps -= limit - steps;
	return is_found;
}

static void align_with(struct sequences *s, struct collective_clock *clocks, uint32_t reference,
		       uint32_t moved, const struct clock_fit *fit)
{
	const struct clock_alignment *by = &clocks[reference].alignment;

	clocks[moved].fit = *fit;
	clocks[moved].alignment = (struct clock_alignment){.reference = by->reference,
							   .collectives = fit->pairs,
							   .error_ns = by->error_ns + fit->error_ns,
							   .bound_ns = by->bound_ns + fit->bound_ns,
							   .moved_ns = fit->offset_ns,
							   .drift = (int64_t)(fit->drift * 1e9)};
	for (uint32_t i = s->of_clock[moved]; i < s->of_clock[moved + 1]; i++)
		for (uint32_t k = 0; k < s->count[s->lines[i]]; k++) {
			struct clock_visit *v = &s->visits[s->first[s->lines[i]] + k];

			v->came_ns = clock_fit_time(fit, v->came_ns);
			v->left_ns = clock_fit_time(fit, v->left_ns);
		}
}

/* Aligns each clock with the first clock with which it shares collectives, maybe through others. */
static void align_all(const struct collectives *events, struct sequences *s,
		      struct collective_clock *clocks, uint32_t count, uint32_t *queue)
{
	bool *is_done = calloc(count, sizeof(*is_done));

	for (uint32_t root = 0; is_done && root < count; root++) {
		uint32_t head = 0, tail = 0;

		if (is_done[root])
			continue;
		is_done[root] = true;
		queue[tail++] = root;
		while (head < tail) {
			uint32_t by = queue[head++];

			for (uint32_t i = root + 1; i < count && s->steps; i++) {
				struct clock_fit fit;

				if (is_done[i] || !fit_clocks(events, s, clocks, by, i, &fit))
					continue;
				align_with(s, clocks, by, i, &fit);
				is_done[i] = true;
				queue[tail++] = i;
			}
		}
	}
	free(is_done);
}

uint64_t collectives_aligned_time(const struct collective_clock *clock, uint64_t ns)
{
	if (!clock->alignment.collectives || ns > CLOCK_FIT_TIME_MAX)
		return ns;
	return (uint64_t)clock_fit_time(&clock->fit, (int64_t)ns);
}

bool collectives_align(struct collectives *c, struct collective_clock *clocks, uint32_t count)
{
	struct sequences s = {.steps = COLLECTIVES_STEPS_MAX};
	uint32_t *queue = calloc(count + 1u, sizeof(*queue));

	for (uint32_t i = 0; i < count; i++)
		clocks[i].alignment = (struct clock_alignment){.reference = i};
	if (queue && count > 1 && find_events(c, clocks) && c->between->count &&
	    make_sequences(c->between, &s, count))
		align_all(c->between, &s, clocks, count, queue);
	sequences_release(&s);
	free(queue);
	drop_events(c);
	for (uint32_t i = 0; i < c->count; i++) {
		struct collective_operation *o = &c->list[i];
		uint64_t ns = o->end_ns - o->start_ns;

		o->start_ns = collectives_aligned_time(&clocks[c->lines.list[o->line].key.clock],
						       o->start_ns);
		o->end_ns = ns < UINT64_MAX - o->start_ns ? o->start_ns + ns : UINT64_MAX;
	}
	return !c->is_full;
}

const struct collective_operation *collectives_list(const struct collectives *c, uint32_t *count)
{
	*count = c->count;
	return c->list;
}
