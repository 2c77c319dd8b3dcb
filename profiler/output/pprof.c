// SPDX-License-Identifier: MIT
/*
 * The format of pprof: the message Profile of proto/profile.proto in github.com/google/pprof,
 * compressed by gzip. The numbers below are those of its fields.
 *
 * A row is a sample; its kind, and where it ran, are labels. A frame is a location with one line,
 * and a function with the same number. Locations have offsets in their files for addresses: what
 * is named needs no more precise ones. A mapping is a file, from its first byte to the last page
 * in which a function was seen.
 *
 * Protocol buffers do not prescribe an order of fields, so everything is written when it comes up,
 * a text when it is first referred to.
 */
#include "profiler/output/writer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "profiler/output/grouping.h"
#include "profiler/output/gzip.h"
#include "profiler/output/protobuf.h"
#include "symbolize/array.h"
#include "symbolize/intern.h"
#include "symbolize/text.h"

enum {
	PROFILE_SAMPLE_TYPE = 1,
	PROFILE_SAMPLE = 2,
	PROFILE_MAPPING = 3,
	PROFILE_LOCATION = 4,
	PROFILE_FUNCTION = 5,
	PROFILE_STRING_TABLE = 6,
	PROFILE_TIME_NANOS = 9,
	PROFILE_DURATION_NANOS = 10,
	PROFILE_PERIOD_TYPE = 11,
	PROFILE_PERIOD = 12,
	PROFILE_COMMENT = 13,
	PROFILE_DEFAULT_SAMPLE_TYPE = 14,
};
enum { VALUE_TYPE_TYPE = 1, VALUE_TYPE_UNIT = 2 };
enum { SAMPLE_LOCATION_ID = 1, SAMPLE_VALUE = 2, SAMPLE_LABEL = 3 };
enum { LABEL_KEY = 1, LABEL_STR = 2, LABEL_NUM = 3 };
enum {
	MAPPING_ID = 1,
	MAPPING_MEMORY_LIMIT = 3,
	MAPPING_FILENAME = 5,
	MAPPING_BUILD_ID = 6,
	MAPPING_HAS_FUNCTIONS = 7,
};
enum { LOCATION_ID = 1, LOCATION_MAPPING_ID = 2, LOCATION_ADDRESS = 3, LOCATION_LINE = 4 };
enum { LINE_FUNCTION_ID = 1, LINE_LINE = 2 };
/* No system name, 3: pprof takes an equal one for a mangled name, and drops what is in brackets. */
enum { FUNCTION_ID = 1, FUNCTION_NAME = 2, FUNCTION_FILENAME = 4 };

#define FLUSHED_BYTES (64u << 10)
#define PAGE UINT64_C(4096)

/* What a sample has values of: the time of each kind of row, and two more of GPU work. */
enum { COLUMN_OPERATIONS = ROW_KINDS, COLUMN_BYTES, COLUMNS };

static const struct {
	const char *type, *unit;
} columns[COLUMNS] = {[ROW_CPU] = {"cpu", "nanoseconds"},
		      [ROW_GPU] = {"gpu", "nanoseconds"},
		      [ROW_WAIT] = {"waiting", "nanoseconds"},
		      [ROW_CALL] = {"cuda_calls", "nanoseconds"},
		      [COLUMN_OPERATIONS] = {"operations", "count"},
		      [COLUMN_BYTES] = {"copied", "bytes"}};

struct mapping {
	const char *module, *build_id; /* as in frames */
	const char *path;              /* the same without control characters */
	uint64_t last;                 /* offset seen in it */
	uint64_t ns;                   /* of rows for which it is the program */
	bool is_library;
};

#define NO_MAPPING UINT32_MAX

struct pprof {
	const struct result *result;
	struct gzip *gzip;
	struct protobuf fields; /* of the Profile, not yet compressed */
	struct protobuf texts;  /* the same: of the string table */
	bool failed;            /* out of memory */

	const char **strings; /* by number */
	uint32_t string_count, string_capacity;
	struct hash_index string_index;
	struct intern made; /* texts of places and paths */

	uint32_t *mapping_of;     /* by frame: its mapping, or NO_MAPPING */
	struct mapping *mappings; /* a mapping's id is its position + 1 */
	uint32_t mapping_count, mapping_capacity;
	struct hash_index mapping_index;

	int columns[COLUMNS]; /* that there are; the last one is the default */
	int column_count;
};

/* ---- texts ---- */

static bool string_equal(const void *records, uint32_t position, const void *key)
{
	const char *const *strings = records;

	return strcmp(strings[position], key) == 0;
}

/* The number of a text, which stays where it is until the end. */
static uint32_t number_of(struct pprof *p, const char *text)
{
	uint32_t hash = hash_bytes(text, strlen(text));
	uint32_t at = hash_index_find(&p->string_index, hash, string_equal, p->strings, text);

	if (at != HASH_INDEX_NONE)
		return at;
	if (!array_make_room(&p->strings, p->string_count, &p->string_capacity,
			     sizeof(*p->strings)) ||
	    hash_index_add(&p->string_index, hash, p->string_count) != 0) {
		p->failed = true;
		return 0;
	}
	protobuf_text(&p->texts, PROFILE_STRING_TABLE, text);
	p->strings[p->string_count] = text;
	return p->string_count++;
}

/* A text of which a copy is kept. */
static const char *keep(struct pprof *p, const char *text)
{
	const char *kept = intern_string(&p->made, text);

	p->failed |= !kept;
	return kept ? kept : "";
}

static void put_text(struct pprof *p, uint32_t field, const char *text)
{
	protobuf_uint(&p->fields, field, number_of(p, text));
}

/* ---- what is compressed ---- */

static int flush(struct pprof *p, uint32_t beyond)
{
	struct protobuf *const all[] = {&p->fields, &p->texts};
	int err = 0;

	for (int i = 0; i < 2 && !err; i++) {
		if (all[i]->size <= beyond)
			continue;
		err = gzip_write(p->gzip, all[i]->bytes, all[i]->size);
		protobuf_clear(all[i]);
	}
	if (p->failed || p->fields.failed || p->texts.failed)
		return -ENOMEM;
	return err;
}

/* ---- files ---- */

static bool mapping_equal(const void *records, uint32_t position, const void *key)
{
	return ((const struct mapping *)records)[position].module == key;
}

/* "libc.so.6", "libcuda.so" */
static bool is_library(const char *path)
{
	for (const char *name = base_name(path); (name = strstr(name, ".so")); name++)
		if (name[3] == '\0' || name[3] == '.')
			return true;
	return false;
}

/* The mapping of the frame's file. */
static uint32_t find_mapping(struct pprof *p, const struct frame_info *frame)
{
	uint32_t hash, at;

	if (!frame->module)
		return NO_MAPPING;
	hash = hash_number((uintptr_t)frame->module);
	at = hash_index_find(&p->mapping_index, hash, mapping_equal, p->mappings, frame->module);
	if (at != HASH_INDEX_NONE)
		return at;
	if (!array_make_room(&p->mappings, p->mapping_count, &p->mapping_capacity,
			     sizeof(*p->mappings)) ||
	    hash_index_add(&p->mapping_index, hash, p->mapping_count) != 0) {
		p->failed = true;
		return NO_MAPPING;
	}
	p->mappings[p->mapping_count] = (struct mapping){.module = frame->module,
							 .build_id = frame->build_id,
							 .path = keep(p, frame->module),
							 .is_library = is_library(frame->module)};
	return p->mapping_count++;
}

static void find_mappings(struct pprof *p)
{
	p->mapping_of = calloc(p->result->frame_count + 1u, sizeof(*p->mapping_of));
	p->failed |= !p->mapping_of;
	for (uint32_t i = 0; i < p->result->frame_count && !p->failed; i++) {
		const struct frame_info *frame = &p->result->frames[i];
		uint32_t at = p->mapping_of[i] = find_mapping(p, frame);

		if (at != NO_MAPPING && p->mappings[at].last < frame->offset)
			p->mappings[at].last = frame->offset;
	}
}

/*
 * The first mapping is the program's: pprof shows its name above each report. Of several programs,
 * the one with the most time.
 */
static uint32_t find_program(const struct pprof *p)
{
	uint32_t program = 0;

	for (uint32_t i = 0; i < p->mapping_count; i++)
		if (p->mappings[i].ns > p->mappings[program].ns)
			program = i;
	return program;
}

static int put_mapping(struct pprof *p, uint32_t number)
{
	const struct mapping *mapping = &p->mappings[number];
	uint64_t limit = (mapping->last | (PAGE - 1)) + 1;
	uint32_t place = protobuf_begin(&p->fields, PROFILE_MAPPING);

	protobuf_uint(&p->fields, MAPPING_ID, number + UINT64_C(1));
	protobuf_uint(&p->fields, MAPPING_MEMORY_LIMIT, limit ? limit : UINT64_MAX);
	put_text(p, MAPPING_FILENAME, mapping->path);
	if (mapping->build_id)
		put_text(p, MAPPING_BUILD_ID, mapping->build_id);
	/* otherwise pprof would look for names itself */
	protobuf_uint(&p->fields, MAPPING_HAS_FUNCTIONS, true);
	protobuf_end(&p->fields, place);
	return flush(p, FLUSHED_BYTES);
}

static int put_mappings(struct pprof *p)
{
	uint32_t program = find_program(p);
	int err = p->mapping_count ? put_mapping(p, program) : 0;

	for (uint32_t i = 0; i < p->mapping_count && !err; i++)
		if (i != program)
			err = put_mapping(p, i);
	return err;
}

/* ---- samples ---- */

static void put_type(struct pprof *p, uint32_t field, int column)
{
	uint32_t place = protobuf_begin(&p->fields, field);

	put_text(p, VALUE_TYPE_TYPE, columns[column].type);
	put_text(p, VALUE_TYPE_UNIT, columns[column].unit);
	protobuf_end(&p->fields, place);
}

static void put_text_label(struct pprof *p, const char *key, const char *text)
{
	uint32_t place = protobuf_begin(&p->fields, SAMPLE_LABEL);

	put_text(p, LABEL_KEY, key);
	put_text(p, LABEL_STR, text);
	protobuf_end(&p->fields, place);
}

static void put_number_label(struct pprof *p, const char *key, int64_t number)
{
	uint32_t place = protobuf_begin(&p->fields, SAMPLE_LABEL);

	put_text(p, LABEL_KEY, key);
	protobuf_int(&p->fields, LABEL_NUM, number);
	protobuf_end(&p->fields, place);
}

/* "GPU 0", as --by would show it */
static void put_part(struct pprof *p, const char *key, const struct place *place,
		     enum place_part part)
{
	char text[GROUPING_TEXT_BYTES];

	if (grouping_text(p->result->place_names, p->result->device_names, place, part, text))
		put_text_label(p, key, keep(p, text));
}

static void put_number_of(struct pprof *p, const char *key, uint32_t number)
{
	if (number != PLACE_UNKNOWN)
		put_number_label(p, key, number);
}

static void put_labels(struct pprof *p, const struct row *row)
{
	static const char *const kinds[ROW_KINDS] = {
		[ROW_CPU] = "cpu", [ROW_GPU] = "gpu", [ROW_WAIT] = "waiting", [ROW_CALL] = "call"};
	const struct place *place = &p->result->places[row->place];
	uint32_t process = place->part[PLACE_PROCESS];
	const struct process_info *info = NULL;

	if (process != PLACE_UNKNOWN)
		info = place_names_process(p->result->place_names, process);
	put_text_label(p, "kind", kinds[row->kind]);
	put_part(p, "process", place, PLACE_PROCESS);
	if (info)
		put_number_label(p, "pid", info->pid);
	put_part(p, "thread", place, PLACE_THREAD);
	put_number_of(p, "tid", place->part[PLACE_THREAD]);
	put_part(p, "device", place, PLACE_DEVICE);
	put_number_of(p, "context", place->part[PLACE_CONTEXT]);
	put_number_of(p, "stream", place->part[PLACE_STREAM]);
}

static uint64_t value_of(const struct row *row, int column)
{
	switch (column) {
	case COLUMN_OPERATIONS:
		return row->kind == ROW_GPU ? row->count : 0;
	case COLUMN_BYTES:
		return row->bytes;
	default:
		return row->kind == (uint32_t)column ? row->ns : 0;
	}
}

/* The innermost frame first. Notes which program's time the row is. */
static void put_stack(struct pprof *p, const struct row *row)
{
	const struct stack_info *stacks = p->result->stacks;
	uint32_t list = protobuf_begin(&p->fields, SAMPLE_LOCATION_ID);
	struct mapping *program = NULL;

	for (uint32_t at = row->stack; at != RESULT_ROOT; at = stacks[at].outer) {
		uint32_t frame = stacks[at].frame, mapping = p->mapping_of[frame];

		protobuf_packed(&p->fields, frame + UINT64_C(1));
		if (mapping != NO_MAPPING && !p->mappings[mapping].is_library)
			program = &p->mappings[mapping];
	}
	protobuf_end(&p->fields, list);
	if (program)
		program->ns += row->ns;
}

static void put_sample(struct pprof *p, const struct row *row)
{
	uint32_t sample = protobuf_begin(&p->fields, PROFILE_SAMPLE), list;

	put_stack(p, row);
	list = protobuf_begin(&p->fields, SAMPLE_VALUE);
	for (int i = 0; i < p->column_count; i++)
		protobuf_packed(&p->fields, value_of(row, p->columns[i]));
	protobuf_end(&p->fields, list);
	put_labels(p, row);
	protobuf_end(&p->fields, sample);
}

static int put_samples(struct pprof *p)
{
	int err = 0;

	for (uint32_t i = 0; i < p->result->row_count && !err; i++) {
		put_sample(p, &p->result->rows[i]);
		err = flush(p, FLUSHED_BYTES);
	}
	return err;
}

/* ---- frames ---- */

static void put_location(struct pprof *p, const struct frame_info *frame, uint32_t number,
			 uint32_t mapping)
{
	uint32_t location = protobuf_begin(&p->fields, PROFILE_LOCATION), line;

	protobuf_uint(&p->fields, LOCATION_ID, number);
	if (mapping != NO_MAPPING) {
		protobuf_uint(&p->fields, LOCATION_MAPPING_ID, mapping + UINT64_C(1));
		protobuf_uint(&p->fields, LOCATION_ADDRESS, frame->offset);
	}
	line = protobuf_begin(&p->fields, LOCATION_LINE);
	protobuf_uint(&p->fields, LINE_FUNCTION_ID, number);
	if (frame->line)
		protobuf_uint(&p->fields, LINE_LINE, frame->line);
	protobuf_end(&p->fields, line);
	protobuf_end(&p->fields, location);
}

static void put_function(struct pprof *p, const struct frame_info *frame, uint32_t number,
			 uint32_t mapping)
{
	uint32_t function = protobuf_begin(&p->fields, PROFILE_FUNCTION);
	const char *name = frame->name ? frame->name : "";

	protobuf_uint(&p->fields, FUNCTION_ID, number);
	put_text(p, FUNCTION_NAME, name);
	if (frame->file)
		put_text(p, FUNCTION_FILENAME, frame->file);
	else if (mapping != NO_MAPPING)
		put_text(p, FUNCTION_FILENAME, p->mappings[mapping].path);
	protobuf_end(&p->fields, function);
}

static int put_frames(struct pprof *p)
{
	int err = 0;

	for (uint32_t i = 0; i < p->result->frame_count && !err; i++) {
		const struct frame_info *frame = &p->result->frames[i];

		put_location(p, frame, i + 1, p->mapping_of[i]);
		put_function(p, frame, i + 1, p->mapping_of[i]);
		err = flush(p, FLUSHED_BYTES);
	}
	return err;
}

/* ---- all of it ---- */

/* The default comes last: readers that know of no default take the last one. */
static void choose_columns(struct pprof *p)
{
	static const int order[] = {COLUMN_OPERATIONS, COLUMN_BYTES, ROW_CALL, ROW_WAIT};
	bool has[COLUMNS] = {[COLUMN_OPERATIONS] = true, [COLUMN_BYTES] = true};
	bool has_gpu_time = false;

	for (uint32_t i = 0; i < p->result->row_count; i++) {
		const struct row *row = &p->result->rows[i];

		has[row->kind] = true;
		has_gpu_time |= row->kind == ROW_GPU && row->ns > 0;
	}
	for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++)
		if (has[order[i]])
			p->columns[p->column_count++] = order[i];
	p->columns[p->column_count++] = has_gpu_time ? ROW_CPU : ROW_GPU;
	p->columns[p->column_count++] = has_gpu_time ? ROW_GPU : ROW_CPU;
}

static void put_head(struct pprof *p)
{
	const struct totals *totals = &p->result->totals;

	number_of(p, ""); /* text 0 */
	choose_columns(p);
	for (int i = 0; i < p->column_count; i++)
		put_type(p, PROFILE_SAMPLE_TYPE, p->columns[i]);
	put_text(p, PROFILE_DEFAULT_SAMPLE_TYPE, columns[p->columns[p->column_count - 1]].type);
	put_type(p, PROFILE_PERIOD_TYPE, ROW_CPU);
	protobuf_uint(&p->fields, PROFILE_PERIOD, totals->sample_ns);
	if (totals->start_unix_ns)
		protobuf_uint(&p->fields, PROFILE_TIME_NANOS, totals->start_unix_ns);
	protobuf_uint(&p->fields, PROFILE_DURATION_NANOS, totals->elapsed_ns);
	if (totals->command)
		put_text(p, PROFILE_COMMENT, keep(p, totals->command));
	if (totals->shown)
		put_text(p, PROFILE_COMMENT, keep(p, totals->shown));
}

static int write_all(struct pprof *p)
{
	int err;

	find_mappings(p);
	put_head(p);
	err = p->failed ? -ENOMEM : put_samples(p);
	if (!err)
		err = put_frames(p);
	if (!err)
		err = put_mappings(p);
	if (err)
		return err;
	err = flush(p, 0);
	return err ? err : gzip_finish(p->gzip);
}

static int write_pprof(const struct result *result, const struct writer_options *options, FILE *out,
		       struct written *written)
{
	struct pprof p = {.result = result, .gzip = gzip_new(out)};
	int err = p.gzip ? 0 : -ENOMEM;

	(void)options;
	*written = written_in_ns(result);
	written->items = result->row_count;
	if (!err)
		err = write_all(&p);
	gzip_free(p.gzip);
	protobuf_release(&p.fields);
	protobuf_release(&p.texts);
	free(p.strings);
	hash_index_release(&p.string_index);
	intern_release(&p.made);
	free(p.mapping_of);
	free(p.mappings);
	hash_index_release(&p.mapping_index);
	return err;
}

const struct writer pprof_writer = {.name = "pprof",
				    .suffix = ".pb.gz",
				    .item = "sample",
				    .needs = NEEDS_PLACES,
				    .write = write_pprof};
