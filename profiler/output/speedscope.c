// SPDX-License-Identifier: MIT
/*
 * The format of speedscope: www.speedscope.app/file-format-schema.json. Frames are shared by
 * several profiles: the first one has all rows; then comes one for each kind and thread, and for
 * each stream of a device.
 *
 * A profile lists stacks and, apart from them, their weights in ns. Equal stacks are one, and all
 * are in the order of a walk through the tree of stacks: speedscope first draws them in the order
 * of the list, so that this is a flame graph already.
 */
#include "profiler/output/writer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "profiler/output/grouping.h"
#include "profiler/output/json.h"
#include "symbolize/array.h"

#define SCHEMA "https://www.speedscope.app/file-format-schema.json"

/* A row, and what it is sorted by. */
struct entry {
	uint32_t track[1 + PLACE_PARTS]; /* its kind, and those parts of its place that matter */
	uint32_t rank;                   /* of its stack */
	uint32_t row;
};

struct walk {
	const struct result *result;
	struct json json;
	struct entry *entries;
	uint32_t *path; /* frames of a stack, the innermost first */
	uint32_t path_capacity;
	bool failed; /* out of memory */
};

/* ---- order ---- */

/*
 * Where each stack comes in a walk through the tree, each before those inside it. NULL: out of
 * memory. Without recursion: outer stacks have smaller numbers.
 */
static uint32_t *rank_stacks(const struct result *result)
{
	const struct stack_info *stacks = result->stacks;
	uint32_t *size = calloc(result->stack_count + 1u, sizeof(*size));
	uint32_t *next = calloc(result->stack_count + 1u, sizeof(*next));

	for (uint32_t i = result->stack_count; size && next && i-- > 0;) {
		size[i]++;
		if (i != RESULT_ROOT)
			size[stacks[i].outer] += size[i];
	}
	/* from here on `size` is the rank, and `next` that of the next stack inside */
	for (uint32_t i = 0; size && next && i < result->stack_count; i++) {
		uint32_t own = size[i], *rank = &size[i];

		*rank = 0;
		if (i != RESULT_ROOT) {
			*rank = next[stacks[i].outer];
			next[stacks[i].outer] += own;
		}
		next[i] = *rank + 1;
	}
	free(next);
	if (!next) {
		free(size);
		return NULL;
	}
	return size;
}

static int compare_ranks(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	return x->row < y->row ? -1 : x->row > y->row;
}

static int compare_tracks(const struct entry *x, const struct entry *y)
{
	for (size_t i = 0; i < sizeof(x->track) / sizeof(x->track[0]); i++)
		if (x->track[i] != y->track[i])
			return x->track[i] < y->track[i] ? -1 : 1;
	return 0;
}

static int compare_entries(const void *a, const void *b)
{
	int order = compare_tracks(a, b);

	return order ? order : compare_ranks(a, b);
}

/* Whether profiles are distinguished by this part of a row's place. */
static bool part_matters(uint32_t kind, enum place_part part)
{
	switch (part) {
	case PLACE_PROCESS:
		return true;
	case PLACE_THREAD:
		return kind != ROW_GPU;
	default:
		return kind == ROW_GPU;
	}
}

static struct entry *new_entries(const struct result *result)
{
	struct entry *entries = calloc(result->row_count + 1u, sizeof(*entries));
	uint32_t *ranks = rank_stacks(result);

	for (uint32_t i = 0; entries && ranks && i < result->row_count; i++) {
		const struct row *row = &result->rows[i];
		struct entry *entry = &entries[i];

		entry->track[0] = row->kind;
		for (uint32_t k = 0; k < PLACE_PARTS; k++)
			entry->track[1 + k] = part_matters(row->kind, (enum place_part)k)
						      ? result->places[row->place].part[k]
						      : PLACE_UNKNOWN;
		entry->rank = ranks[row->stack];
		entry->row = i;
	}
	if (!ranks) {
		free(entries);
		entries = NULL;
	}
	free(ranks);
	return entries;
}

/* ---- one profile ---- */

/* The weight of the entries with the stack of the one at `*at`, which moves behind them. */
static uint64_t next_stack(const struct walk *w, uint32_t *at, uint32_t end)
{
	uint32_t first = *at;
	uint64_t ns = 0;

	for (; *at < end && w->entries[*at].rank == w->entries[first].rank; ++*at)
		ns += w->result->rows[w->entries[*at].row].ns;
	return ns;
}

static void put_stack(struct walk *w, uint32_t stack)
{
	uint32_t depth = 0;

	for (; stack != RESULT_ROOT; stack = w->result->stacks[stack].outer) {
		if (!array_make_room(&w->path, depth, &w->path_capacity, sizeof(*w->path))) {
			w->failed = true;
			return;
		}
		w->path[depth++] = w->result->stacks[stack].frame;
	}
	json_open_array(&w->json);
	while (depth-- > 0)
		json_uint(&w->json, w->path[depth]);
	json_close_array(&w->json);
}

/* The stacks of the entries from `first` on that weigh something; how many. */
static uint64_t put_stacks(struct walk *w, uint32_t first, uint32_t end)
{
	uint64_t count = 0;

	json_key(&w->json, "samples");
	json_open_array(&w->json);
	for (uint32_t at = first; at < end && !w->failed;) {
		uint32_t stack = w->result->rows[w->entries[at].row].stack;

		if (next_stack(w, &at, end) == 0)
			continue;
		json_break_line(&w->json);
		put_stack(w, stack);
		count++;
	}
	json_close_array(&w->json);
	return count;
}

static void put_weights(struct walk *w, uint32_t first, uint32_t end)
{
	json_key(&w->json, "weights");
	json_open_array(&w->json);
	for (uint32_t at = first; at < end;) {
		uint64_t ns = next_stack(w, &at, end);

		if (ns)
			json_uint(&w->json, ns);
	}
	json_close_array(&w->json);
}

/* One of those that the format has. */
static const char *unit_of(const struct result *r)
{
	if (!r->weight || strcmp(r->weight->unit, WEIGHT_NS) == 0)
		return "nanoseconds";
	return strcmp(r->weight->unit, WEIGHT_BYTES) == 0 ? "bytes" : "none";
}

static uint64_t put_profile(struct walk *w, const char *name, uint32_t first, uint32_t end)
{
	uint64_t total = 0, count;

	for (uint32_t i = first; i < end; i++)
		total += w->result->rows[w->entries[i].row].ns;
	json_break_line(&w->json);
	json_open_object(&w->json);
	json_key(&w->json, "type");
	json_text(&w->json, "sampled");
	json_key(&w->json, "name");
	json_text(&w->json, name);
	json_key(&w->json, "unit");
	json_text(&w->json, unit_of(w->result));
	json_key(&w->json, "startValue");
	json_uint(&w->json, 0);
	json_key(&w->json, "endValue");
	json_uint(&w->json, total);
	count = put_stacks(w, first, end);
	put_weights(w, first, end);
	json_close_object(&w->json);
	return count;
}

/* ---- all of it ---- */

/* "GPU: train.py 4711, GPU 0, context 1, stream 7" */
static void name_track(const struct walk *w, const struct entry *entry, char *text, size_t size)
{
	static const char *const kinds[ROW_KINDS] = {[ROW_CPU] = "CPU",
						     [ROW_GPU] = "GPU",
						     [ROW_WAIT] = "Waiting",
						     [ROW_CALL] = "CUDA calls",
						     [ROW_IDLE] = "Idle"};
	struct place place;
	size_t length = strlen(kinds[entry->track[0]]);
	bool is_first = true;

	memcpy(place.part, entry->track + 1, sizeof(place.part));
	memcpy(text, kinds[entry->track[0]], length + 1);
	for (uint32_t i = 0; i < PLACE_PARTS; i++) {
		char part[GROUPING_TEXT_BYTES];

		if (!grouping_text(w->result->place_names, w->result->device_names, &place,
				   (enum place_part)i, part))
			continue;
		length += (size_t)snprintf(text + length, size - length, "%s%s",
					   is_first ? ": " : ", ", part);
		is_first = false;
	}
}

static void put_tracks(struct walk *w)
{
	uint32_t count = w->result->row_count;

	for (uint32_t first = 0, end; first < count && !w->failed; first = end) {
		char name[(PLACE_PARTS + 1) * GROUPING_TEXT_BYTES];

		end = first + 1;
		while (end < count && compare_tracks(&w->entries[first], &w->entries[end]) == 0)
			end++;
		name_track(w, &w->entries[first], name, sizeof(name));
		put_profile(w, name, first, end);
	}
}

static void put_frame(struct json *j, const struct frame_info *frame)
{
	const char *file = frame->file ? frame->file : frame->module;

	json_break_line(j);
	json_open_object(j);
	json_key(j, "name");
	json_text(j, frame->name ? frame->name : "");
	if (file) {
		json_key(j, "file");
		json_text(j, file);
	}
	if (frame->line) {
		json_key(j, "line");
		json_uint(j, frame->line);
	}
	json_close_object(j);
}

static void put_frames(struct walk *w)
{
	json_key(&w->json, "shared");
	json_open_object(&w->json);
	json_key(&w->json, "frames");
	json_open_array(&w->json);
	for (uint32_t i = 0; i < w->result->frame_count; i++)
		put_frame(&w->json, &w->result->frames[i]);
	json_close_array(&w->json);
	json_close_object(&w->json);
}

static void put_document(struct walk *w, struct written *written)
{
	const char *command = w->result->totals.command;
	uint32_t count = w->result->row_count;
	struct json *j = &w->json;

	json_open_object(j);
	json_key(j, "$schema");
	json_text(j, SCHEMA);
	json_key(j, "exporter");
	json_text(j, "profile");
	json_key(j, "name");
	json_text(j, command ? command : "");
	if (w->result->totals.shown) { /* no field of theirs */
		json_key(j, "shown");
		json_text(j, w->result->totals.shown);
	}
	put_frames(w);
	json_key(j, "profiles");
	json_open_array(j);
	qsort(w->entries, count, sizeof(*w->entries), compare_ranks);
	written->items = put_profile(w, "All", 0, count);
	qsort(w->entries, count, sizeof(*w->entries), compare_entries);
	put_tracks(w);
	json_close_array(j);
	json_close_object(j);
	json_end(j);
}

static int write_speedscope(const struct result *result, const struct writer_options *options,
			    FILE *out, struct written *written)
{
	struct walk w = {.result = result, .json = json_begin(out), .entries = new_entries(result)};

	(void)options;
	*written = written_in_ns(result);
	w.failed = !w.entries;
	if (!w.failed)
		put_document(&w, written);
	free(w.entries);
	free(w.path);
	if (w.failed)
		return -ENOMEM;
	return ferror(out) ? -EIO : 0;
}

const struct writer speedscope_writer = {.name = "speedscope",
					 .suffix = ".speedscope.json",
					 .shows_weights = true,
					 .item = "stack",
					 .needs = NEEDS_PLACES,
					 .write = write_speedscope};
