// SPDX-License-Identifier: MIT
/*
 * Writes the format of pprof: the message Profile of proto/profile.proto in
 * github.com/google/pprof, compressed by gzip. The numbers below are those of its fields.
 *
 * A row is a sample. Its kind, and where it ran, are labels. A frame is a location with one line,
 * and a function with that location's number. The address of a location is its offset in the
 * file: frames have names, so that readers need no more. A mapping is a file, from its first byte
 * to the last page in which a function was seen.
 *
 * Protocol buffers prescribe no order of fields. A text is written when it is first referred to.
 */
#include "profiler/formats/writer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "profiler/shape/grouping.h"
#include "profiler/formats/gzip.h"
#include "profiler/shape/module_table.h"
#include "profiler/formats/protobuf.h"
#include "profiler/shape/text_table.h"
#include "profiler/formats/value_columns.h"

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
/* No system name, 3: pprof takes one equal to the name for mangled, and drops what is in brackets.
 */
enum { FUNCTION_ID = 1, FUNCTION_NAME = 2, FUNCTION_FILENAME = 4 };

#define FLUSHED_BYTES (64u << 10)

struct pprof {
	const struct result *result;
	struct gzip *gzip;
	struct protobuf fields; /* fields of the Profile that are not compressed yet */
	struct protobuf texts;  /* fields of its string table that are not compressed yet */

	struct text_table strings;
	struct module_table mappings; /* a mapping's id is its module's number + 1 */
	uint64_t *program_ns;         /* by module: time of the rows whose program it is */
	bool has_few_labels;

	struct value_columns columns; /* last one: the default, also for readers that
				       * know no default */
};

/* ---- texts ---- */

/* Returns the number of a text, which is written if it is new. The text is borrowed. */
static uint32_t number_of(struct pprof *p, const char *text)
{
	uint32_t known = p->strings.count, number = text_table_number(&p->strings, text);

	if (p->strings.count > known)
		protobuf_text(&p->texts, PROFILE_STRING_TABLE, text);
	return number;
}

static void put_text(struct pprof *p, uint32_t field, const char *text)
{
	protobuf_uint(&p->fields, field, number_of(p, text));
}

/* ---- compression ---- */

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
	if (p->strings.failed || p->fields.failed || p->texts.failed)
		return -ENOMEM;
	return err;
}

/* ---- files ---- */

/*
 * Returns the mapping to be written first: pprof shows its name above each report. Of several
 * programs, it is the one with the most time.
 */
static uint32_t find_program(const struct pprof *p)
{
	uint32_t program = 0;

	for (uint32_t i = 0; i < p->mappings.modules.count; i++)
		if (p->program_ns[i] > p->program_ns[program])
			program = i;
	return program;
}

static int put_mapping(struct pprof *p, uint32_t number)
{
	const struct module_entry *module = &p->mappings.modules.list[number];
	uint32_t place = protobuf_begin(&p->fields, PROFILE_MAPPING);

	protobuf_uint(&p->fields, MAPPING_ID, number + UINT64_C(1));
	protobuf_uint(&p->fields, MAPPING_MEMORY_LIMIT, module_end(module));
	put_text(p, MAPPING_FILENAME, text_table_keep(&p->strings, module->path));
	if (module->build_id)
		put_text(p, MAPPING_BUILD_ID, module->build_id);
	/* keeps pprof from looking up names itself */
	protobuf_uint(&p->fields, MAPPING_HAS_FUNCTIONS, true);
	protobuf_end(&p->fields, place);
	return flush(p, FLUSHED_BYTES);
}

static int put_mappings(struct pprof *p)
{
	uint32_t program = find_program(p);
	int err = p->mappings.modules.count ? put_mapping(p, program) : 0;

	for (uint32_t i = 0; i < p->mappings.modules.count && !err; i++)
		if (i != program)
			err = put_mapping(p, i);
	return err;
}

/* ---- samples ---- */

static void put_type(struct pprof *p, uint32_t field, int column)
{
	uint32_t place = protobuf_begin(&p->fields, field);

	put_text(p, VALUE_TYPE_TYPE, value_column_type(&p->columns, column));
	put_text(p, VALUE_TYPE_UNIT, value_column_unit(&p->columns, column));
	protobuf_end(&p->fields, place);
}

/* Writes a label with a text, or with a number if there is no text. */
static void put_label(struct pprof *p, const char *key, const char *text, int64_t number)
{
	uint32_t place = protobuf_begin(&p->fields, SAMPLE_LABEL);

	put_text(p, LABEL_KEY, key);
	if (text)
		put_text(p, LABEL_STR, text);
	else
		protobuf_int(&p->fields, LABEL_NUM, number);
	protobuf_end(&p->fields, place);
}

/* Writes a part of a place as --by shows it: "GPU 0". */
static void put_part(struct pprof *p, const char *key, const struct place *place,
		     enum place_part part)
{
	char text[GROUPING_TEXT_BYTES];

	if (grouping_text(p->result->place_names, p->result->device_names, place, part, text))
		put_label(p, key, text_table_keep(&p->strings, text), 0);
}

static void put_number_of(struct pprof *p, const char *key, uint32_t number)
{
	if (number != PLACE_UNKNOWN)
		put_label(p, key, NULL, number);
}

static void put_labels(struct pprof *p, const struct row *row)
{
	static const char *const kinds[ROW_KINDS] = {[ROW_CPU] = "cpu",
						     [ROW_GPU] = "gpu",
						     [ROW_WAIT] = "waiting",
						     [ROW_CALL] = "call",
						     [ROW_IDLE] = "idle"};
	const struct place *place = &p->result->places[row->place];
	const struct process_info *info =
		place_names_process(p->result->place_names, place->part[PLACE_PROCESS]);

	put_label(p, "kind", kinds[row->kind], 0);
	if (p->has_few_labels) {
		put_part(p, "device", place, PLACE_DEVICE);
		return;
	}
	put_part(p, "process", place, PLACE_PROCESS);
	if (info)
		put_label(p, "pid", NULL, info->pid);
	put_part(p, "thread", place, PLACE_THREAD);
	put_number_of(p, "tid", place->part[PLACE_THREAD]);
	put_part(p, "device", place, PLACE_DEVICE);
	put_number_of(p, "context", place->part[PLACE_CONTEXT]);
	put_number_of(p, "stream", place->part[PLACE_STREAM]);
}

/* Writes the stack, the innermost frame first. Adds the row's time to its program. */
static void put_stack(struct pprof *p, const struct row *row)
{
	const struct stack_info *stacks = p->result->stacks;
	uint32_t list = protobuf_begin(&p->fields, SAMPLE_LOCATION_ID);
	uint32_t program = NO_MODULE;

	for (uint32_t at = row->stack; at != RESULT_ROOT; at = stacks[at].outer) {
		uint32_t frame = stacks[at].frame, mapping = p->mappings.of_frame[frame];

		protobuf_packed(&p->fields, frame + UINT64_C(1));
		if (mapping != NO_MODULE && !p->mappings.modules.list[mapping].is_library)
			program = mapping;
	}
	protobuf_end(&p->fields, list);
	if (program != NO_MODULE)
		p->program_ns[program] += row->ns;
}

static void put_sample(struct pprof *p, const struct row *row)
{
	uint32_t sample = protobuf_begin(&p->fields, PROFILE_SAMPLE), list;

	put_stack(p, row);
	list = protobuf_begin(&p->fields, SAMPLE_VALUE);
	for (int i = 0; i < p->columns.count; i++)
		protobuf_packed(&p->fields, value_column_of(row, p->columns.list[i]));
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
	if (mapping != NO_MODULE) {
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
	else if (mapping != NO_MODULE)
		put_text(p, FUNCTION_FILENAME,
			 text_table_keep(&p->strings, p->mappings.modules.list[mapping].path));
	protobuf_end(&p->fields, function);
}

static int put_frames(struct pprof *p)
{
	int err = 0;

	for (uint32_t i = 0; i < p->result->frame_count && !err; i++) {
		const struct frame_info *frame = &p->result->frames[i];

		put_location(p, frame, i + 1, p->mappings.of_frame[i]);
		put_function(p, frame, i + 1, p->mappings.of_frame[i]);
		err = flush(p, FLUSHED_BYTES);
	}
	return err;
}

/* ---- all of it ---- */

static void put_head(struct pprof *p)
{
	const struct totals *totals = &p->result->totals;
	uint64_t start_unix_ns, ns;

	number_of(p, ""); /* text 0 */
	value_columns_choose(&p->columns, p->result);
	for (int i = 0; i < p->columns.count; i++)
		put_type(p, PROFILE_SAMPLE_TYPE, p->columns.list[i]);
	put_text(p, PROFILE_DEFAULT_SAMPLE_TYPE,
		 value_column_type(&p->columns, p->columns.list[p->columns.count - 1]));
	put_type(p, PROFILE_PERIOD_TYPE, ROW_CPU);
	protobuf_uint(&p->fields, PROFILE_PERIOD, totals->sample_ns);
	totals_profiled(totals, &start_unix_ns, &ns);
	if (start_unix_ns)
		protobuf_uint(&p->fields, PROFILE_TIME_NANOS, start_unix_ns);
	protobuf_uint(&p->fields, PROFILE_DURATION_NANOS, ns);
	if (totals->command)
		put_text(p, PROFILE_COMMENT, text_table_keep(&p->strings, totals->command));
	if (totals->shown)
		put_text(p, PROFILE_COMMENT, text_table_keep(&p->strings, totals->shown));
}

static int write_all(struct pprof *p)
{
	int err = module_table_init(&p->mappings, p->result);

	if (err)
		return err;
	p->program_ns = calloc(p->mappings.modules.count + 1u, sizeof(*p->program_ns));
	if (!p->program_ns)
		return -ENOMEM;
	put_head(p);
	err = put_samples(p);
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
	struct pprof p = {
		.result = result, .gzip = gzip_new(out), .has_few_labels = options->has_few_labels};
	int err = p.gzip ? 0 : -ENOMEM;

	*written = written_in_ns(result);
	written->items = result->row_count;
	if (!err)
		err = write_all(&p);
	gzip_free(p.gzip);
	protobuf_release(&p.fields);
	protobuf_release(&p.texts);
	text_table_release(&p.strings);
	module_table_release(&p.mappings);
	free(p.program_ns);
	return err;
}

const struct writer pprof_writer = {.name = "pprof",
				    .suffix = ".pb.gz",
				    .other_suffix = ".pprof",
				    .item = "row",
				    .shows_weights = true,
				    .needs = NEEDS_PLACES,
				    .write = write_pprof};
