// SPDX-License-Identifier: MIT
/*
 * Writes the format of speedscope: www.speedscope.app/file-format-schema.json. Frames are shared
 * by several profiles: one of all rows, then one for each kind and thread, and for each stream of
 * a device.
 *
 * A profile lists stacks, and separately their weights in ns. Speedscope first draws them in the
 * order of the list, as "Time Order". If the timeline has all moments of a row, its records are
 * listed one by one in order of time: samples, operations or calls. Equal neighbours are merged.
 *
 * Rows without all moments have a profile of their own, whose name says "by stack". Equal stacks
 * are merged there, in depth-first order of the tree of stacks. Waits have no moments: what ran
 * meanwhile is known by sums. With more than MOMENTS_MAX records no row has moments: browsers
 * could not read the file.
 */
#include "profiler/formats/writer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "profiler/shape/grouping.h"
#include "profiler/formats/json.h"
#include "symbolize/util/array.h"
#include "symbolize/util/hash.h"
#include "symbolize/util/record_set.h"
#include "symbolize/util/sorted.h"
#include "symbolize/util/text.h"

#define SCHEMA "https://www.speedscope.app/file-format-schema.json"

#define MOMENTS_MAX (1u << 18)
#define BY_STACK ", by stack"

/* A row, or a record of a row, with its sort keys. */
struct entry {
	uint32_t track[1 +
		       PLACE_PARTS]; /* kind, and the parts of the place that tell profiles apart */
	uint32_t rank;               /* its stack's */
	uint32_t stack;
	uint32_t number; /* position of the row or the record */
	bool is_timed;   /* the row has all its moments */
	uint64_t ns, start_ns;
};

/* Members by which records find their row. */
struct row_key {
	uint64_t path; /* hash of the stack, without the root frames of --by */
	uint32_t kind, place;
};

struct keyed_row {
	struct row_key key;
	uint32_t row;
};

struct walk {
	const struct result *result;
	struct json json;
	struct entry *rows;
	struct entry *moments; /* records of rows that are timed */
	uint32_t moment_count, moment_capacity;
	uint32_t *ranks;     /* by stack */
	uint64_t *paths;     /* by stack: as in struct row_key */
	uint64_t *record_ns; /* by row: sum of its records */
	RECORD_SET(struct keyed_row) index;
	uint32_t *path; /* frames of a stack, the innermost first */
	uint32_t path_capacity;
	bool failed; /* out of memory, or the timeline cannot be read */
};

/* ---- order ---- */

/*
 * Returns the position of each stack in a depth-first walk through the tree, or NULL if out of
 * memory. Outer stacks have smaller numbers, so no recursion is needed.
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
	/* now `size` becomes the rank, and `next` the rank of the next stack inside */
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
	int order = compare_numbers(x->rank, y->rank);

	return order ? order : compare_numbers(x->number, y->number);
}

static int compare_times(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;
	int order = compare_numbers(x->start_ns, y->start_ns);

	return order ? order : compare_numbers(x->number, y->number);
}

static int compare_tracks(const struct entry *x, const struct entry *y)
{
	return compare_words(x->track, y->track, sizeof(x->track) / sizeof(x->track[0]));
}

/* Orders rows by track. Timed rows come last in each track. */
static int compare_rows(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;
	int order = compare_tracks(x, y);

	if (!order)
		order = (int)x->is_timed - (int)y->is_timed;
	return order ? order : compare_ranks(a, b);
}

static int compare_moments(const void *a, const void *b)
{
	int order = compare_tracks(a, b);

	return order ? order : compare_times(a, b);
}

/* Returns whether rows of the kind are in different profiles if this part of their place differs.
 */
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

static void set_track(const struct walk *w, struct entry *entry, uint32_t kind, uint32_t place)
{
	entry->track[0] = kind;
	for (uint32_t k = 0; k < PLACE_PARTS; k++)
		entry->track[1 + k] = part_matters(kind, (enum place_part)k)
					      ? w->result->places[place].part[k]
					      : PLACE_UNKNOWN;
}

static void make_rows(struct walk *w)
{
	const struct result *r = w->result;

	w->rows = calloc(r->row_count + 1u, sizeof(*w->rows));
	w->ranks = rank_stacks(r);
	w->failed = !w->rows || !w->ranks;
	for (uint32_t i = 0; !w->failed && i < r->row_count; i++) {
		const struct row *row = &r->rows[i];

		set_track(w, &w->rows[i], row->kind, row->place);
		w->rows[i].rank = w->ranks[row->stack];
		w->rows[i].stack = row->stack;
		w->rows[i].number = i;
		w->rows[i].ns = row->ns;
	}
}

/* ---- moments ---- */

/* Hashes stacks without root frames of --by, which the stacks of records do not have. */
static bool hash_paths(struct walk *w)
{
	const struct result *r = w->result;

	w->paths = calloc(r->stack_count + 1u, sizeof(*w->paths));
	if (!w->paths)
		return false;
	for (uint32_t i = 1; i < r->stack_count; i++) {
		const struct stack_info *s = &r->stacks[i];

		if (r->frames[s->frame].class != CLASS_PLACE || w->paths[s->outer])
			w->paths[i] = hash_step(w->paths[s->outer], s->frame, 1) | 1;
	}
	return true;
}

static bool index_rows(struct walk *w)
{
	const struct result *r = w->result;

	w->record_ns = calloc(r->row_count + 1u, sizeof(*w->record_ns));
	if (!w->record_ns)
		return false;
	for (uint32_t i = 0; i < r->row_count; i++) {
		const struct row *row = &r->rows[i];
		const struct keyed_row keyed = {{w->paths[row->stack], row->kind, row->place}, i};

		/* if records cannot tell two rows apart, neither row adds up */
		if (row->place < r->place_count &&
		    record_get(&w->index, &keyed.key, &keyed) == RECORD_NONE)
			return false;
	}
	return true;
}

/* Returns the row that a record is part of, or RECORD_NONE. */
static uint32_t find_row(const struct walk *w, const struct timeline_record *record)
{
	static const uint32_t kinds[TIMELINE_KINDS] = {
		[TIMELINE_CPU_SAMPLE] = ROW_CPU,    [TIMELINE_LAUNCH] = ROW_KINDS,
		[TIMELINE_GPU_OPERATION] = ROW_GPU, [TIMELINE_WAIT] = ROW_KINDS,
		[TIMELINE_CALL] = ROW_CALL,         [TIMELINE_OFF_CPU] = ROW_KINDS};
	uint32_t stack = result_record_stack(w->result, record);
	struct row_key key = {.kind = kinds[record->kind], .place = record->place.number};
	uint32_t at;

	if (key.kind == ROW_KINDS || stack >= w->result->stack_count || !record->duration_ns)
		return RECORD_NONE;
	key.path = w->paths[stack];
	at = record_find(&w->index, &key);
	return at != RECORD_NONE ? w->index.list[at].row : RECORD_NONE;
}

static bool keep_moment(struct walk *w, const struct timeline_record *record, uint32_t row)
{
	struct entry *moment;

	if (!array_make_room(&w->moments, w->moment_count, &w->moment_capacity,
			     sizeof(*w->moments)))
		return false;
	moment = &w->moments[w->moment_count++];
	*moment = w->rows[row];
	moment->number = row; /* until drop_incomplete */
	moment->ns = record->duration_ns;
	moment->start_ns = record->start_ns;
	w->record_ns[row] += record->duration_ns;
	return true;
}

static void read_moments(struct walk *w)
{
	struct timeline_reader *reader = timeline_reader_new(w->result->timeline);
	const struct timeline_record *record;
	int more = -ENOMEM;

	while (reader && (more = timeline_reader_next(reader, &record)) == 1) {
		uint32_t row = find_row(w, record);

		if (row == RECORD_NONE)
			continue;
		if (w->moment_count == MOMENTS_MAX) {
			w->moment_count = 0;
			more = 0;
			break;
		}
		if (!keep_moment(w, record, row)) {
			more = -ENOMEM;
			break;
		}
	}
	timeline_reader_free(reader);
	w->failed |= more == -ENOMEM;
	if (more < 0) /* unreadable records make all rows incomplete */
		w->moment_count = 0;
}

/* Drops the moments of rows that lack some, and numbers the others. */
static void drop_incomplete(struct walk *w)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < w->moment_count; i++) {
		uint32_t row = w->moments[i].number;

		if (w->record_ns[row] != w->rows[row].ns)
			continue;
		w->rows[row].is_timed = true;
		w->moments[kept] = w->moments[i];
		w->moments[kept].number = kept;
		kept++;
	}
	w->moment_count = kept;
}

static void make_moments(struct walk *w)
{
	if (!w->result->timeline || w->result->weight || w->failed)
		return;
	w->failed = !hash_paths(w) || !index_rows(w);
	if (!w->failed)
		read_moments(w);
	if (!w->failed)
		drop_incomplete(w);
}

/* ---- one profile ---- */

/* A part of the entries, in the order of a profile. */
struct part {
	const struct entry *entries;
	uint32_t count;
};

/* Returns the weight of the entries from `*at` on that have one stack. Moves `*at` behind them. */
static uint64_t next_stack(const struct part *part, uint32_t *at)
{
	uint32_t first = *at;
	uint64_t ns = 0;

	for (; *at < part->count && part->entries[*at].rank == part->entries[first].rank; ++*at)
		ns += part->entries[*at].ns;
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
	json_open_array(&w->json, NULL);
	while (depth-- > 0)
		json_uint(&w->json, NULL, w->path[depth]);
	json_close_array(&w->json);
}

/* Writes the stacks of entries with a weight. */
static void put_stacks(struct walk *w, const struct part *part)
{
	json_open_array(&w->json, "samples");
	for (uint32_t at = 0; at < part->count && !w->failed;) {
		uint32_t stack = part->entries[at].stack;

		if (next_stack(part, &at) == 0)
			continue;
		json_break_line(&w->json);
		put_stack(w, stack);
	}
	json_close_array(&w->json);
}

static void put_weights(struct walk *w, const struct part *part)
{
	json_open_array(&w->json, "weights");
	for (uint32_t at = 0; at < part->count;) {
		uint64_t ns = next_stack(part, &at);

		if (ns)
			json_uint(&w->json, NULL, ns);
	}
	json_close_array(&w->json);
}

/* Returns one of the units that the format has. */
static const char *unit_of(const struct result *r)
{
	if (!r->weight || strcmp(r->weight->unit, WEIGHT_NS) == 0)
		return "nanoseconds";
	return strcmp(r->weight->unit, WEIGHT_BYTES) == 0 ? "bytes" : "none";
}

static uint64_t weight_of(const struct part *part)
{
	uint64_t total = 0;

	for (uint32_t i = 0; i < part->count; i++)
		total += part->entries[i].ns;
	return total;
}

static void put_profile(struct walk *w, const char *name, const struct part *part)
{
	json_open_line(&w->json, NULL);
	json_text(&w->json, "type", "sampled");
	json_text(&w->json, "name", name);
	json_text(&w->json, "unit", unit_of(w->result));
	json_uint(&w->json, "startValue", 0);
	json_uint(&w->json, "endValue", weight_of(part));
	put_stacks(w, part);
	put_weights(w, part);
	json_close_object(&w->json);
}

/* ---- all of it ---- */

/* Gives the name of a track: "GPU: train.py 4711, GPU 0, context 1, stream 7". */
static void name_track(const struct walk *w, const struct entry *entry, char *text, size_t size)
{
	static const char *const kinds[ROW_KINDS] = {[ROW_CPU] = "CPU",
						     [ROW_GPU] = "GPU",
						     [ROW_WAIT] = "Waiting",
						     [ROW_CALL] = "CUDA calls",
						     [ROW_IDLE] = "Idle"};
	struct place place;
	const char *before = ": ";

	memcpy(place.part, entry->track + 1, sizeof(place.part));
	snprintf(text, size, "%s", kinds[entry->track[0]]);
	for (uint32_t i = 0; i < PLACE_PARTS; i++) {
		char part[GROUPING_TEXT_BYTES];

		if (!grouping_text(w->result->place_names, w->result->device_names, &place,
				   (enum place_part)i, part))
			continue;
		append_text(text, size, "%s%s", before, part);
		before = ", ";
	}
}

/* Returns the number of entries from `first` on with one track and one is_timed. */
static uint32_t length_of(const struct entry *entries, uint32_t first, uint32_t count)
{
	uint32_t end = first + 1;

	while (end < count && compare_tracks(&entries[first], &entries[end]) == 0 &&
	       entries[first].is_timed == entries[end].is_timed)
		end++;
	return end - first;
}

static void put_tracks(struct walk *w)
{
	uint32_t count = w->result->row_count, moment = 0;

	for (uint32_t first = 0, length; first < count && !w->failed; first += length) {
		const struct entry *row = &w->rows[first];
		char name[(PLACE_PARTS + 1) * GROUPING_TEXT_BYTES + sizeof(BY_STACK)];
		struct part part = {row, length = length_of(w->rows, first, count)};

		if (!row->is_timed && weight_of(&part) == 0)
			continue; /* operations without usable times, for example */
		name_track(w, row, name, sizeof(name) - sizeof(BY_STACK));
		if (row->is_timed) { /* moments are in the order of the rows' tracks */
			part.entries = &w->moments[moment];
			part.count = length_of(w->moments, moment, w->moment_count);
			moment += part.count;
		} else {
			memcpy(name + strlen(name), BY_STACK, sizeof(BY_STACK));
		}
		put_profile(w, name, &part);
	}
}

/*
 * Writes the profile of all rows, in order of time if all have moments; else by stack, and then
 * the moments. Returns the number of stacks.
 */
static uint64_t put_all(struct walk *w)
{
	uint32_t count = w->result->row_count;
	struct part rows = {w->rows, count}, moments = {w->moments, w->moment_count};
	uint64_t stacks = 0;
	bool is_timed = count > 0;

	for (uint32_t i = 0; i < count; i++)
		is_timed &= w->rows[i].is_timed || w->rows[i].ns == 0;
	qsort(w->rows, count, sizeof(*w->rows), compare_ranks);
	for (uint32_t at = 0; at < count;)
		stacks += next_stack(&rows, &at) != 0;
	if (w->moment_count > 0)
		qsort(w->moments, w->moment_count, sizeof(*w->moments), compare_times);
	if (is_timed && w->moment_count > 0) {
		put_profile(w, "All", &moments);
		return stacks;
	}
	put_profile(w, "All" BY_STACK, &rows);
	if (w->moment_count > 0)
		put_profile(w, "All with a time", &moments);
	return stacks;
}

static void put_frame(struct json *j, const struct frame_info *frame)
{
	const char *file = frame->file ? frame->file : frame->module;

	json_open_line(j, NULL);
	json_text(j, "name", frame->name ? frame->name : "");
	json_text(j, "file", file);
	if (frame->line)
		json_uint(j, "line", frame->line);
	json_close_object(j);
}

static void put_frames(struct walk *w)
{
	json_open_object(&w->json, "shared");
	json_open_array(&w->json, "frames");
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

	json_open_object(j, NULL);
	json_text(j, "$schema", SCHEMA);
	json_text(j, "exporter", "profile");
	json_text(j, "name", command ? command : "");
	json_text(j, "shown", w->result->totals.shown); /* an extension of the format */
	put_frames(w);
	json_open_array(j, "profiles");
	written->items = put_all(w);
	qsort(w->rows, count, sizeof(*w->rows), compare_rows);
	if (w->moment_count > 0)
		qsort(w->moments, w->moment_count, sizeof(*w->moments), compare_moments);
	put_tracks(w);
	json_close_array(j);
	json_close_object(j);
	json_end(j);
}

static int write_speedscope(const struct result *result, const struct writer_options *options,
			    FILE *out, struct written *written)
{
	struct walk w = {.result = result, .json = json_begin(out)};

	(void)options;
	*written = written_in_ns(result);
	make_rows(&w);
	make_moments(&w);
	if (!w.failed)
		put_document(&w, written);
	free(w.rows);
	free(w.moments);
	free(w.ranks);
	free(w.paths);
	free(w.record_ns);
	record_set_release(&w.index.set);
	free(w.path);
	if (w.failed)
		return -ENOMEM;
	return ferror(out) ? -EIO : 0;
}

const struct writer speedscope_writer = {.name = "speedscope",
					 .suffix = ".speedscope.json",
					 .shows_weights = true,
					 .item = "stack",
					 .needs = NEEDS_TIMELINE,
					 .write = write_speedscope};
