// SPDX-License-Identifier: MIT
#include "profiler/addons/pc_samples.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "profiler/model/pseudo_frames.h"
#include "symbolize/cubin.h"
#include "symbolize/util/array.h"
#include "symbolize/util/saturate.h"
#include "symbolize/util/sorted.h"
#include "symbolize/util/text.h"

struct pc_sample {
	const char *function; /* interned */
	const char *reason;   /* interned text of the frame */
	uint64_t cubin_crc;
	union {
		uint32_t pc;
		struct stack_id below; /* in `sums`, once named: the stack below the kernel */
	};
	struct stack_id stack; /* launch with its kernel; STACK_EMPTY: unknown */
	uint64_t samples;      /* not part of the key */
};
typedef char sample_key[offsetof(struct pc_sample, samples)];

/* Samples of a launch that has not been found yet. */
struct held_samples {
	const char *function; /* interned */
	uint64_t cubin_crc;
	uint32_t process, count;
	struct gpu_pc_count *counts; /* NULL: unused entry */
	uint32_t next_free;          /* unused entry: index + 1 of the next one, or 0 */
};

struct piece {
	uint32_t offset, count;
	uint8_t *bytes;
};

/* Line table of a cubin, from the first process that sends it. */
struct cubin_pieces {
	uint64_t crc;
	uint32_t process, size;
	struct piece *list;
	uint32_t count, capacity;
	bool is_incomplete;
};

static uint32_t bound(uint32_t chosen, uint32_t otherwise)
{
	return chosen ? chosen : otherwise;
}

void pc_samples_release(struct pc_samples *s)
{
	for (uint32_t i = 0; i < s->cubins.count; i++) {
		for (uint32_t j = 0; j < s->cubins.list[i].count; j++)
			free(s->cubins.list[i].list[j].bytes);
		free(s->cubins.list[i].list);
	}
	record_set_release(&s->cubins.set);
	for (uint32_t i = 0; i < s->held_count; i++)
		free(s->held[i].counts);
	free(s->held);
	record_set_release(&s->sums.set);
	record_set_release(&s->offsets.set);
	id_map_release(&s->reasons);
	memset(s, 0, sizeof(*s));
}

/* ---- line tables ---- */

/* Returns RECORD_NONE if there is no room. */
static uint32_t new_cubin(struct pc_samples *s, uint32_t process, const struct gpu_event_cubin *e)
{
	const struct cubin_pieces cubin = {.crc = e->crc, .process = process, .size = e->size};

	if (s->cubins.count == PC_SAMPLES_CUBINS ||
	    !quota_take(s->memory, sizeof(cubin) + HASH_INDEX_ENTRY_BYTES))
		return RECORD_NONE;
	return record_add(&s->cubins, &cubin.crc, &cubin);
}

int pc_samples_add_cubin(struct pc_samples *s, uint32_t process, const struct gpu_event_cubin *e)
{
	uint32_t at = record_find(&s->cubins, &e->crc);
	struct cubin_pieces *c;
	uint8_t *bytes;

	if (at == RECORD_NONE)
		at = new_cubin(s, process, e);
	if (at == RECORD_NONE) {
		s->ledger->cubins_left_out++;
		return 0;
	}
	c = &s->cubins.list[at];
	if (c->process != process || c->size != e->size)
		return 0;
	if (!quota_take(s->memory, e->count + sizeof(struct piece))) {
		s->ledger->cubins_left_out++;
		c->is_incomplete = true;
		return 0;
	}
	bytes = malloc(e->count);
	if (!bytes || !array_make_room(&c->list, c->count, &c->capacity, sizeof(*c->list))) {
		free(bytes);
		return -ENOMEM;
	}
	memcpy(bytes, e->bytes, e->count);
	c->list[c->count++] = (struct piece){e->offset, e->count, bytes};
	return 0;
}

/* Opens a cubin, whose bytes are in `*image`. Returns NULL if it is missing or unreadable. */
static struct cubin *open_cubin(struct pc_samples *s, uint64_t crc, char **image)
{
	uint32_t at = record_find(&s->cubins, &crc);
	const struct cubin_pieces *c = at == RECORD_NONE ? NULL : &s->cubins.list[at];
	struct cubin *cubin = NULL;

	*image = c && !c->is_incomplete ? calloc(1, c->size + 1u) : NULL;
	if (!*image)
		return NULL;
	for (uint32_t i = 0; i < c->count; i++)
		memcpy(*image + c->list[i].offset, c->list[i].bytes, c->list[i].count);
	if (cubin_open(&cubin, *image, c->size) != 0)
		s->ledger->cubins_left_out++;
	return cubin;
}

/* ---- samples ---- */

static uint32_t reason_key(uint32_t process, uint32_t id)
{
	return process * GPU_STALL_MAX_ID + id;
}

/* Converts "smsp__pcsamp_warps_issue_stalled_long_scoreboard" to "[stall: long scoreboard]". */
static const char *reason_text(const struct pc_samples *s, const char *name)
{
	static const char start[] = "smsp__pcsamp_warps_issue_stalled_";
	char text[160];

	if (starts_with(name, start))
		name += sizeof(start) - 1;
	if (strcmp(name, "selected") == 0)
		return s->keep(s->context, PSEUDO_SELECTED);
	snprintf(text, sizeof(text), PSEUDO_STALL "%.120s]", name);
	for (char *at = text; *at; at++)
		if (*at == '_' || *at == ';')
			*at = ' ';
	clean_text(text);
	return s->keep(s->context, text);
}

int pc_samples_add_reason(struct pc_samples *s, uint32_t process, const struct gpu_event_stall *e)
{
	const char *text = reason_text(s, e->name);
	uint64_t *value = NULL;

	if (text && (id_map_find(&s->reasons, reason_key(process, e->id)) ||
		     quota_take(s->memory, 2 * sizeof(uint64_t) * 2)))
		value = id_map_get(&s->reasons, reason_key(process, e->id));
	if (value)
		*value = (uint64_t)(uintptr_t)text;
	return 0;
}

/* Returns false if there is no room. */
static bool add_sample(struct pc_sample_sums *s, uint32_t most, struct quota *memory,
		       const struct pc_sample *sample)
{
	const sample_key *key = (const sample_key *)sample;
	uint32_t at = record_find(s, key);

	if (at == RECORD_NONE)
		return s->count < most &&
		       quota_take(memory, sizeof(*sample) + HASH_INDEX_ENTRY_BYTES) &&
		       record_add(s, key, sample) != RECORD_NONE;
	saturated_add(&s->list[at].samples, sample->samples);
	return true;
}

/* Adds to the sums that split time. Without room for the launch, adds to the kernel. */
static void add_to_sums(struct pc_samples *s, struct pc_sample sample)
{
	if (add_sample(&s->sums, bound(s->max, PC_SAMPLES_MAX), s->memory, &sample))
		return;
	if (!same_id(sample.stack, STACK_EMPTY)) {
		sample.stack = STACK_EMPTY;
		if (add_sample(&s->sums, bound(s->max, PC_SAMPLES_MAX), s->memory, &sample))
			return;
	}
	saturated_add(&s->ledger->lost, sample.samples);
}

/* Adds to the sums by instruction, over all launches and versions of a kernel. */
static void add_to_offsets(struct pc_samples *s, struct pc_sample sample)
{
	sample.stack = STACK_EMPTY;
	sample.cubin_crc = 0;
	if (!add_sample(&s->offsets, bound(s->offsets_max, PC_SAMPLES_OFFSETS), s->memory, &sample))
		saturated_add(&s->ledger->unlocated, sample.samples);
}

/*
 * Passes samples through the sink. In notes `graph_node` is the function, and `shape` and
 * `correlation` are the halves of the cubin's crc. `work` is the PC, `device` the key of the
 * reason, and `bytes` the number of samples.
 */
static void add_counts(struct pc_samples *s, const struct held_samples *h, struct stack_id stack)
{
	struct profile_item note = {.record = {.kind = NOTE_PC_SAMPLES,
					       .stack = stack,
					       .graph_node = (uint64_t)(uintptr_t)h->function,
					       .shape = (uint32_t)h->cubin_crc,
					       .correlation = (uint32_t)(h->cubin_crc >> 32)},
				    .flags = ITEM_BAD_TIME};

	for (uint32_t i = 0; i < h->count; i++) {
		note.device = reason_key(h->process, h->counts[i].stall);
		note.record.work = h->counts[i].pc;
		note.record.bytes = h->counts[i].samples;
		profile_sink_add(s->sink, &note);
	}
}

void pc_samples_note(void *addon, const struct profile_item *note)
{
	struct pc_samples *s = addon;
	const struct timeline_record *r = &note->record;
	const uint64_t *reason = id_map_find(&s->reasons, note->device);
	struct pc_sample sample = {.function = (const char *)(uintptr_t)r->graph_node,
				   .reason = reason ? (const char *)(uintptr_t)*reason
						    : PSEUDO_OTHER_STALLS,
				   .cubin_crc = (uint64_t)r->correlation << 32 | r->shape,
				   .pc = r->work,
				   .stack = r->stack,
				   .samples = r->bytes};

	add_to_offsets(s, sample);
	/* without a line table, all PCs of a function look alike */
	if (record_find(&s->cubins, &sample.cubin_crc) == RECORD_NONE)
		sample.pc = 0;
	add_to_sums(s, sample);
}

int pc_samples_add(struct pc_samples *s, uint32_t process, const struct gpu_event_pcs *e,
		   const char *function)
{
	const struct held_samples all = {.function = function,
					 .cubin_crc = e->cubin_crc,
					 .process = process,
					 .count = e->count,
					 .counts = (struct gpu_pc_count *)e->counts};

	add_counts(s, &all, STACK_EMPTY);
	return 0;
}

/* ---- samples of launches ---- */

/* Returns an index, or PC_SAMPLES_NONE if there is no room. */
static uint32_t new_held(struct pc_samples *s)
{
	uint32_t number = s->held_free;

	if (number) {
		s->held_free = s->held[number - 1].next_free;
		return number - 1;
	}
	if (s->held_count == bound(s->max, PC_SAMPLES_MAX) ||
	    !quota_take(s->memory, sizeof(*s->held)) ||
	    !array_make_room(&s->held, s->held_count, &s->held_capacity, sizeof(*s->held)))
		return PC_SAMPLES_NONE;
	return s->held_count++;
}

static size_t counts_bytes(uint32_t count)
{
	return count * sizeof(struct gpu_pc_count);
}

static void free_held(struct pc_samples *s, uint32_t number)
{
	struct held_samples *h = &s->held[number];

	free(h->counts);
	*h = (struct held_samples){.next_free = s->held_free};
	s->held_free = number + 1;
}

uint32_t pc_samples_hold(struct pc_samples *s, uint32_t process, const struct gpu_event_pcs *e,
			 const char *function)
{
	uint32_t number = new_held(s);
	struct held_samples *h = number == PC_SAMPLES_NONE ? NULL : &s->held[number];

	if (!h)
		return number;
	*h = (struct held_samples){.function = function,
				   .cubin_crc = e->cubin_crc,
				   .process = process,
				   .count = e->count};
	if (quota_take(s->memory, counts_bytes(e->count))) {
		h->counts = malloc(counts_bytes(e->count));
		if (h->counts) {
			memcpy(h->counts, e->counts, counts_bytes(e->count));
			return number;
		}
		quota_return(s->memory, counts_bytes(e->count));
	}
	free_held(s, number);
	return PC_SAMPLES_NONE;
}

const char *pc_samples_function(const struct pc_samples *s, uint32_t number)
{
	return s->held[number].function;
}

void pc_samples_place(struct pc_samples *s, uint32_t number, struct stack_id stack)
{
	const struct held_samples *h = &s->held[number];

	add_counts(s, h, same_id(stack, STACK_NOT_KEPT) ? STACK_EMPTY : stack);
	quota_return(s->memory, counts_bytes(h->count));
	free_held(s, number);
}

/* ---- totals ---- */

void pc_samples_add_totals(struct pc_samples *s, const struct gpu_event_pc_totals *e)
{
	struct ledger_stalls *l = s->ledger;

	l->period = e->period;
	/* a line table is only sent once, at any time of the run */
	saturated_add(&l->cubins_left_out, e->cubins_left_out);
	profile_sink_count(s->sink, &l->taken, e->taken);
	profile_sink_count(s->sink, &l->dropped, e->dropped);
	profile_sink_count(s->sink, &l->other, e->other);
	profile_sink_count(s->sink, &l->lost, e->lost);
	profile_sink_count(s->sink, &l->overflows, e->overflows);
}

/* ---- splitting time ---- */

/* A stack below the kernel, and its samples. */
struct part {
	struct stack_id below;
	uint64_t samples;
};

/* Samples of a function: all of them (STACK_EMPTY), or those at one launch stack. */
struct group {
	const char *function;
	struct stack_id stack;
	uint32_t first, count; /* range in the parts */
	uint32_t rows;         /* rows split by these samples */
	uint64_t samples;
};

struct split {
	struct pc_samples *from;
	struct stack_table *stacks;
	struct profile *profile;
	struct group *groups; /* sorted by function and stack */
	uint32_t group_count, group_capacity;
	struct part *parts;
	uint32_t part_count, part_capacity;
	bool failed; /* out of memory: nothing is split */
};

/* Sorts by cubin, function, PC, reason and stack. */
static int by_cubin(const void *a, const void *b)
{
	const struct pc_sample *x = a, *y = b;

	if (x->cubin_crc != y->cubin_crc)
		return x->cubin_crc < y->cubin_crc ? -1 : 1;
	if (x->function != y->function)
		return strcmp(x->function, y->function);
	if (x->pc != y->pc)
		return x->pc < y->pc ? -1 : 1;
	if (x->reason != y->reason)
		return strcmp(x->reason, y->reason);
	return x->stack.number < y->stack.number ? -1 : x->stack.number > y->stack.number;
}

static int by_function_and_stack(const void *a, const void *b)
{
	const struct pc_sample *x = a, *y = b;

	if (x->function != y->function)
		return strcmp(x->function, y->function);
	return x->stack.number < y->stack.number ? -1 : x->stack.number > y->stack.number;
}

static void sort(struct pc_sample_sums *s, int (*by)(const void *, const void *))
{
	if (s->count)
		qsort(s->list, s->count, sizeof(*s->list), by);
}

static struct stack_id push_function(struct split *p, struct stack_id stack, const char *name)
{
	const char *kept = p->from->keep(p->from->context, name);

	if (!kept)
		return stack;
	return stack_table_push_text(p->stacks, stack, FRAME_GPU_FUNCTION, kept);
}

/* Returns the stack of a PC below its kernel, without the reason. */
static struct stack_id stack_of_place(struct split *p, struct cubin *cubin,
				      const struct pc_sample *sample)
{
	struct frame frame = {.kind = FRAME_GPU_LINE};
	struct cubin_place place;
	struct stack_id stack = STACK_EMPTY;

	if (!cubin || !cubin_find(cubin, sample->function, sample->pc, &place))
		return stack;
	for (uint32_t i = 0; i < place.function_count; i++)
		stack = push_function(p, stack, place.functions[i]);
	frame.text = place.file ? p->from->keep(p->from->context, place.file) : NULL;
	frame.line = place.line;
	if (!frame.text || !frame.line)
		return stack;
	frame.file = frame.text;
	return stack_table_push(p->stacks, stack, &frame);
}

static void add_part(struct split *p, struct stack_id below, uint64_t samples)
{
	if (!array_make_room(&p->parts, p->part_count, &p->part_capacity, sizeof(*p->parts))) {
		p->failed = true;
		return;
	}
	p->parts[p->part_count++] = (struct part){below, samples};
}

/* Sorts by samples, largest first. */
static int compare_parts(const void *a, const void *b)
{
	const struct part *x = a, *y = b;
	int order = compare_numbers(y->samples, x->samples);

	return order ? order : sorted_compare_32(a, b);
}

/* Merges parts with one stack. Returns the number of parts left. */
static uint32_t merge(struct part *parts, uint32_t count)
{
	uint32_t kept = 0;

	if (count == 0)
		return 0;
	qsort(parts, count, sizeof(*parts), sorted_compare_32);
	for (uint32_t i = 1; i < count; i++) {
		if (same_id(parts[i].below, parts[kept].below))
			saturated_add(&parts[kept].samples, parts[i].samples);
		else
			parts[++kept] = parts[i];
	}
	qsort(parts, kept + 1, sizeof(*parts), compare_parts);
	return kept + 1;
}

static int compare_groups(const void *a, const void *b)
{
	const struct group *x = a, *y = b;
	int order = strcmp(x->function, y->function);

	return order ? order : compare_numbers(x->stack.number, y->stack.number);
}

/* Names the samples of one cubin, the first `count` of the list. */
static void name_samples(struct split *p, struct pc_sample *list, uint32_t count)
{
	struct stack_id place = STACK_EMPTY;
	char *image;
	struct cubin *cubin = open_cubin(p->from, list->cubin_crc, &image);
	const char *function = NULL;
	uint32_t pc = 0;

	for (struct pc_sample *sample = list; sample < list + count; sample++) {
		if (function != sample->function || pc != sample->pc)
			place = stack_of_place(p, cubin, sample);
		function = sample->function;
		pc = sample->pc;
		if (!same_id(place, STACK_EMPTY) &&
		    stack_table_frame(p->stacks, place)->kind == FRAME_GPU_LINE)
			saturated_add(&p->from->ledger->with_lines, sample->samples);
		sample->below =
			stack_table_push_text(p->stacks, place, FRAME_STALL, sample->reason);
	}
	cubin_close(cubin);
	free(image);
}

/* Adds a group of samples. */
static void add_group(struct split *p, struct stack_id stack, const struct pc_sample *list,
		      uint32_t count)
{
	struct group g = {.function = list->function, .stack = stack, .first = p->part_count};

	for (uint32_t i = 0; i < count; i++) {
		add_part(p, list[i].below, list[i].samples);
		saturated_add(&g.samples, list[i].samples);
	}
	p->failed |= !array_make_room(&p->groups, p->group_count, &p->group_capacity, sizeof(g));
	if (p->failed)
		return;
	g.count = merge(p->parts + g.first, count);
	p->groups[p->group_count++] = g;
}

/* Adds the groups of a function: one of all its samples, and one for each launch stack. */
static void add_groups(struct split *p, const struct pc_sample *list, uint32_t count)
{
	add_group(p, STACK_EMPTY, list, count);
	for (uint32_t i = 0, end; i < count && !p->failed; i = end) {
		for (end = i + 1; end < count && same_id(list[end].stack, list[i].stack);)
			end++;
		if (!same_id(list[i].stack, STACK_EMPTY))
			add_group(p, list[i].stack, list + i, end - i);
	}
}

/* Names all samples, and makes the groups of all functions, sorted by name. */
static void make_groups(struct split *p)
{
	struct pc_sample_sums *sums = &p->from->sums;
	struct pc_sample *list = sums->list;

	sort(sums, by_cubin);
	for (uint32_t i = 0, end; i < sums->count; i = end) {
		for (end = i + 1; end < sums->count && list[end].cubin_crc == list[i].cubin_crc;)
			end++;
		name_samples(p, list + i, end - i);
	}
	sort(sums, by_function_and_stack);
	for (uint32_t i = 0, end; i < sums->count && !p->failed; i = end) {
		for (end = i + 1; end < sums->count && list[end].function == list[i].function;)
			end++;
		add_groups(p, list + i, end - i);
	}
}

/* Reduces a group to `most` parts, the last of which gets the rest. */
static void limit_parts(struct split *p, struct group *g, uint32_t most)
{
	struct part *parts = p->parts + g->first;

	if (g->count <= most)
		return;
	parts[most - 1].below =
		stack_table_push_text(p->stacks, STACK_EMPTY, FRAME_STALL, PSEUDO_OTHER_STALLS);
	for (uint32_t i = most; i < g->count; i++)
		saturated_add(&parts[most - 1].samples, parts[i].samples);
	g->count = most;
}

static struct group *find_group(const struct split *p, const char *function, struct stack_id stack)
{
	const struct group key = {.function = function, .stack = stack};

	if (!p->group_count)
		return NULL;
	return bsearch(&key, p->groups, p->group_count, sizeof(key), compare_groups);
}

/* Returns the samples that split a row: those of its launch stack, or of its kernel, or NULL. */
static struct group *group_of(const struct split *p, const struct profile_row *row)
{
	const struct frame *frame = stack_table_frame(p->stacks, row->stack);
	struct group *own;

	if (row->kind != ROW_GPU || !row->ns || !frame || frame->kind != FRAME_GPU_KERNEL)
		return NULL;
	own = find_group(p, frame->text, row->stack);
	return own && own->samples ? own : find_group(p, frame->text, STACK_EMPTY);
}

static void count_rows(struct split *p)
{
	uint32_t count;
	const struct profile_row *rows = profile_rows(p->profile, &count);

	for (uint32_t i = 0; i < count; i++) {
		struct group *g = group_of(p, &rows[i]);

		if (g)
			g->rows++;
	}
}

/* Limits the parts of each group, so that all rows together stay within the bound. */
static void limit_all(struct split *p)
{
	uint32_t most = PC_SAMPLES_PARTS_OF_ROW;
	uint32_t all = bound(p->from->parts_max, PC_SAMPLES_PARTS);
	uint64_t parts;

	do {
		parts = 0;
		for (uint32_t i = 0; i < p->group_count; i++) {
			const struct group *g = &p->groups[i];

			parts += (uint64_t)g->rows * (g->count < most ? g->count : most);
		}
		most /= parts > all ? 2 : 1;
	} while (parts > all && most > 1);
	for (uint32_t i = 0; i < p->group_count; i++)
		limit_parts(p, &p->groups[i], most);
}

/*
 * Moves the time of a row below its kernel. The parts are differences of a cumulative sum, so
 * rounding adds no time.
 */
static void split_row(struct split *p, struct profile_row row, const struct group *g)
{
	struct ledger_stalls *l = p->from->ledger;
	uint64_t before = 0, moved_ns = 0;

	saturated_add(&l->split_ns, row.ns);
	if (p->from->is_exact && same_id(g->stack, STACK_EMPTY))
		saturated_add(&l->mean_ns, row.ns);
	for (uint32_t i = 0; i < g->count; i++) {
		const struct part *part = &p->parts[g->first + i];
		__extension__ unsigned __int128 product = row.ns;
		struct profile_row amounts = {.ns = 0};
		struct stack_id stack;

		saturated_add(&before, part->samples);
		if (before > g->samples)
			before = g->samples;
		product *= before;
		amounts.ns = (uint64_t)(product / g->samples) - moved_ns;
		moved_ns += amounts.ns;
		if (!amounts.ns)
			continue;
		stack = stack_table_append(p->stacks, row.stack, part->below);
		if (!same_id(stack, STACK_NOT_KEPT))
			profile_move(p->profile, ROW_GPU, row.place, row.stack, stack, &amounts);
	}
}

static void split_rows(struct split *p)
{
	uint32_t count;

	profile_rows(p->profile, &count);
	for (uint32_t i = 0; i < count; i++) {
		/* adding rows moves the array */
		uint32_t now;
		struct profile_row row = profile_rows(p->profile, &now)[i];
		const struct group *g = group_of(p, &row);

		if (g && g->samples)
			split_row(p, row, g);
	}
}

static void count_samples(struct split *p)
{
	struct ledger_stalls *l = p->from->ledger;

	for (uint32_t i = 0, next; i < p->group_count; i = next) {
		const struct group *all = &p->groups[i];
		bool has_rows = all->rows > 0;

		for (next = i + 1;
		     next < p->group_count && !same_id(p->groups[next].stack, STACK_EMPTY);
		     next++) {
			has_rows |= p->groups[next].rows > 0;
			if (p->groups[next].rows)
				saturated_add(&l->placed, p->groups[next].samples);
		}
		saturated_add(has_rows ? &l->samples : &l->unmatched, all->samples);
	}
}

/* ---- sampled instructions ---- */

/* Sorts by function and reason, then by samples, largest first. */
static int by_function_and_reason(const void *a, const void *b)
{
	const struct pc_sample *x = a, *y = b;

	if (x->function != y->function)
		return strcmp(x->function, y->function);
	if (x->reason != y->reason)
		return strcmp(x->reason, y->reason);
	if (x->samples != y->samples)
		return x->samples < y->samples ? 1 : -1;
	return x->pc < y->pc ? -1 : x->pc > y->pc;
}

/* Returns false if there is no room. */
static bool add_place(struct result_tables *tables, const struct pc_sample *sample, uint32_t offset,
		      uint64_t samples)
{
	const struct stall_place place = {sample->function, sample->reason, offset, samples};

	return result_tables_add(tables, &stall_places_table, &place, NULL) == TABLE_OK;
}

/* Lists the samples of a function and reason: their sum, and the PCs with the most samples. */
static void list_group(const struct split *p, struct result_tables *tables,
		       const struct pc_sample *samples, uint32_t count)
{
	uint64_t sum = 0;
	bool has_room;

	for (uint32_t i = 0; i < count; i++)
		saturated_add(&sum, samples[i].samples);
	has_room = add_place(tables, samples, STALL_PLACE_ALL, sum);
	for (uint32_t i = 0; i < count && i < STALL_PLACES_OF && has_room; i++)
		if (samples[i].pc != STALL_PLACE_ALL)
			has_room =
				add_place(tables, &samples[i], samples[i].pc, samples[i].samples);
	if (!has_room)
		saturated_add(&p->from->ledger->unlocated, sum);
}

static bool is_kernel(const struct split *p, const char *function)
{
	const struct group *g = find_group(p, function, STACK_EMPTY);
	const struct group *end = p->groups + p->group_count;
	bool has_rows = false;

	for (; g && g < end && g->function == function && !has_rows; g++)
		has_rows = g->rows > 0;
	return has_rows;
}

static void list_places(const struct split *p, struct result_tables *tables)
{
	struct pc_sample_sums *offsets = &p->from->offsets;
	struct pc_sample *list = offsets->list;

	sort(offsets, by_function_and_reason);
	for (uint32_t i = 0, end; i < offsets->count; i = end) {
		for (end = i + 1; end < offsets->count && list[end].function == list[i].function &&
				  list[end].reason == list[i].reason;)
			end++;
		if (is_kernel(p, list[i].function))
			list_group(p, tables, list + i, end - i);
	}
}

void pc_samples_split(struct pc_samples *s, struct stack_table *stacks, struct profile *profile,
		      struct result_tables *tables)
{
	struct split p = {.from = s, .stacks = stacks, .profile = profile};

	make_groups(&p);
	if (!p.failed) {
		count_rows(&p);
		limit_all(&p);
		count_samples(&p);
		split_rows(&p);
		list_places(&p, tables);
	}
	free(p.groups);
	free(p.parts);
}

/* ---- as an add-on ---- */

static bool is_wanted(const struct addon_parts *parts)
{
	return parts->measure->stall_period != 0;
}

static void *begin(const struct addon_parts *parts)
{
	struct pc_samples *s = calloc(1, sizeof(*s));

	if (s)
		*s = (struct pc_samples){.parts = parts,
					 .memory = parts->passing,
					 .ledger = &parts->sink->ledger->stalls,
					 .sink = parts->sink,
					 .keep = parts->keep,
					 .context = parts->context,
					 .is_exact = parts->measure->exact_stalls};
	return s;
}

static void release(void *addon)
{
	pc_samples_release(addon);
	free(addon);
}

/* Adds samples. Samples with a launch's id are held until the launch is found. */
static int add_samples(struct pc_samples *s, uint32_t process, const struct gpu_event_pcs *e,
		       const char *kernel)
{
	uint32_t number = s->is_exact && e->correlation_id ? pc_samples_hold(s, process, e, kernel)
							   : PC_SAMPLES_NONE;

	if (number == PC_SAMPLES_NONE)
		return pc_samples_add(s, process, e, kernel);
	return s->parts->find_launch(s->parts->context, process, e->correlation_id, number);
}

static int take_event(void *addon, uint32_t process, const struct gpu_event *event,
		      const char *kernel)
{
	switch (event->type) {
	case GPU_EVENT_CUBIN:
		return pc_samples_add_cubin(addon, process, &event->cubin);
	case GPU_EVENT_STALL:
		return pc_samples_add_reason(addon, process, &event->stall);
	case GPU_EVENT_PCS:
		return add_samples(addon, process, &event->pcs, kernel);
	case GPU_EVENT_PC_TOTALS:
		pc_samples_add_totals(addon, &event->pc_totals);
		return 0;
	default:
		return 0;
	}
}

/*
 * Releases held samples, with the stack that the kernel's record has. Kernels in graphs have other
 * stacks: their capture stacks. So no row has this stack.
 */
static void place_samples(void *addon, struct launch_stack launch, uint64_t remark)
{
	struct pc_samples *s = addon;
	struct stack_id stack = STACK_EMPTY;
	uint32_t number = (uint32_t)remark;
	struct gpu_work_origin origin;

	memset(&origin, 0, sizeof(origin));
	origin.launch = launch;
	origin.capture = CAPTURE_NONE;
	origin.work = GPU_WORK_KERNEL;
	origin.name = pc_samples_function(s, number);
	if (!same_id(launch, LAUNCH_UNKNOWN))
		stack = gpu_stack_work(s->parts->gpu_stacks, &origin);
	pc_samples_place(s, number, stack);
}

static void complete(void *addon, uint64_t from_ns, uint64_t to_ns)
{
	struct pc_samples *s = addon;
	const struct addon_parts *parts = s->parts;

	(void)from_ns;
	(void)to_ns;
	pc_samples_split(s, parts->stacks, parts->sink->profile, parts->tables);
	pc_samples_release(s);
}

const struct addon addon_pc_samples = {
	.is_wanted = is_wanted,
	.begin = begin,
	.release = release,
	.event = take_event,
	.remark = place_samples,
	.notes = ADDON_NOTE(NOTE_PC_SAMPLES),
	.note = pc_samples_note,
	.complete = complete,
};
