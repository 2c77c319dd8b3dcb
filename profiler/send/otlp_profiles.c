// SPDX-License-Identifier: MIT
#include "profiler/send/otlp_profiles.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "profiler/base/version.h"
#include "profiler/shape/grouping.h"
#include "profiler/shape/module_table.h"
#include "profiler/formats/protobuf.h"
#include "profiler/shape/text_table.h"
#include "profiler/formats/value_columns.h"
#include "profiler/formats/writer.h"

enum { PROFILES_DATA_RESOURCE_PROFILES = 1, PROFILES_DATA_DICTIONARY = 2 };
enum { RESOURCE_PROFILES_RESOURCE = 1, RESOURCE_PROFILES_SCOPE_PROFILES = 2 };
enum { RESOURCE_ATTRIBUTES = 1 };
enum { SCOPE_PROFILES_SCOPE = 1, SCOPE_PROFILES_PROFILES = 2 };
enum { SCOPE_NAME = 1, SCOPE_VERSION = 2 };
enum { KEY_VALUE_KEY = 1, KEY_VALUE_VALUE = 2 };
enum { ANY_VALUE_STRING = 1, ANY_VALUE_INT = 3 };
enum {
	PROFILE_SAMPLE_TYPE = 1,
	PROFILE_SAMPLES = 2,
	PROFILE_TIME_UNIX_NANO = 3,
	PROFILE_DURATION_NANO = 4,
	PROFILE_PERIOD_TYPE = 5,
	PROFILE_PERIOD = 6,
};
enum { VALUE_TYPE_TYPE = 1, VALUE_TYPE_UNIT = 2 };
enum { SAMPLE_STACK = 1, SAMPLE_ATTRIBUTES = 2, SAMPLE_VALUES = 4 };
enum {
	DICTIONARY_MAPPINGS = 1,
	DICTIONARY_LOCATIONS = 2,
	DICTIONARY_FUNCTIONS = 3,
	DICTIONARY_LINKS = 4,
	DICTIONARY_STRINGS = 5,
	DICTIONARY_ATTRIBUTES = 6,
	DICTIONARY_STACKS = 7,
};
enum { MAPPING_MEMORY_LIMIT = 2, MAPPING_FILENAME = 4, MAPPING_ATTRIBUTES = 5 };
enum { LOCATION_MAPPING = 1, LOCATION_ADDRESS = 2, LOCATION_LINES = 3, LOCATION_ATTRIBUTES = 4 };
enum { LINE_FUNCTION = 1, LINE_LINE = 2 };
enum { FUNCTION_NAME = 1, FUNCTION_FILENAME = 3 };
enum { STACK_LOCATIONS = 1 };
enum { KEY_VALUE_AND_UNIT_KEY = 1, KEY_VALUE_AND_UNIT_VALUE = 2 };

/* The thread of a place has two attributes, thread.id and thread.name. */
enum { PLACE_ATTRIBUTES = PLACE_PARTS + 1 };
#define ATTRIBUTE_BYTES (GROUPING_TEXT_BYTES + 64)

struct writing {
	const struct engine_profile *profile;
	const struct result *result;
	struct protobuf data;       /* message without the dictionary */
	struct protobuf dictionary; /* fields of the dictionary */
	struct text_table strings;  /* number 0 is "" */
	struct text_table
		attributes; /* key, line feed, value; number + 1 is the attribute's index */
	struct module_table modules; /* number + 1 is the mapping's index */
	uint32_t *stacks;            /* by stack of the result: index; 0: unused or empty */
	uint32_t stack_count;
	uint32_t (*places)[PLACE_ATTRIBUTES]; /* by place: attribute indexes; 0 ends */
	struct value_columns columns;
};

/* ---- the dictionary ---- */

static uint32_t string_number(struct writing *w, const char *text)
{
	uint32_t known = w->strings.count, number = text_table_number(&w->strings, text);

	if (w->strings.count > known)
		protobuf_text(&w->dictionary, DICTIONARY_STRINGS, text);
	return number;
}

static void put_string(struct writing *w, struct protobuf *p, uint32_t field, const char *text)
{
	protobuf_uint(p, field, string_number(w, text));
}

/* Returns the index of an attribute, from 1. `value` is used if `text` is NULL. */
static uint32_t attribute(struct writing *w, const char *key, const char *text, uint64_t value)
{
	struct protobuf *d = &w->dictionary;
	char both[ATTRIBUTE_BYTES];
	uint32_t known = w->attributes.count, number, key_number, entry, any;

	if (text)
		snprintf(both, sizeof(both), "%s\n%s", key, text);
	else
		snprintf(both, sizeof(both), "%s\n%" PRIu64, key, value);
	number = text_table_number(&w->attributes, text_table_keep(&w->attributes, both));
	if (w->attributes.count == known)
		return number + 1;
	key_number = string_number(w, key);
	entry = protobuf_begin(d, DICTIONARY_ATTRIBUTES);
	protobuf_uint(d, KEY_VALUE_AND_UNIT_KEY, key_number);
	any = protobuf_begin(d, KEY_VALUE_AND_UNIT_VALUE);
	if (text)
		protobuf_text(d, ANY_VALUE_STRING, text);
	else
		protobuf_uint(d, ANY_VALUE_INT, value);
	protobuf_end(d, any);
	protobuf_end(d, entry);
	return number + 1;
}

/* Writes the empty first entries: index 0 of a table means "none". */
static void put_zero_entries(struct writing *w)
{
	static const uint32_t tables[] = {DICTIONARY_MAPPINGS,   DICTIONARY_LOCATIONS,
					  DICTIONARY_FUNCTIONS,  DICTIONARY_LINKS,
					  DICTIONARY_ATTRIBUTES, DICTIONARY_STACKS};

	string_number(w, "");
	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++)
		protobuf_end(&w->dictionary, protobuf_begin(&w->dictionary, tables[i]));
}

static void put_mappings(struct writing *w)
{
	struct protobuf *d = &w->dictionary;

	for (uint32_t i = 0; i < w->modules.modules.count; i++) {
		const struct module_entry *module = &w->modules.modules.list[i];
		uint32_t path = string_number(w, text_table_keep(&w->strings, module->path));
		uint32_t build_id = module->build_id
					    ? attribute(w, "process.executable.build_id.gnu",
							module->build_id, 0)
					    : 0;
		uint32_t mapping = protobuf_begin(d, DICTIONARY_MAPPINGS);

		protobuf_uint(d, MAPPING_MEMORY_LIMIT, module_end(module));
		protobuf_uint(d, MAPPING_FILENAME, path);
		if (build_id)
			protobuf_uint(d, MAPPING_ATTRIBUTES, build_id);
		protobuf_end(d, mapping);
	}
}

/*
 * Returns the semantic convention's name for the kind of a frame. Returns NULL if there is none.
 */
static const char *frame_type(const struct frame_info *frame)
{
	switch (frame->class) {
	case CLASS_NATIVE:
	case CLASS_API:
		return "native";
	case CLASS_KERNEL_MODE:
		return "kernel";
	case CLASS_PYTHON:
		return "cpython";
	default:
		return NULL;
	}
}

/* Writes a frame as a function, and as a location with one line. Both have one index. */
static void put_frame(struct writing *w, uint32_t number)
{
	const struct frame_info *frame = &w->result->frames[number];
	uint32_t module = w->modules.of_frame[number], place, line;
	const char *type = frame_type(frame);
	uint32_t type_number = type ? attribute(w, "profile.frame.type", type, 0) : 0;
	uint32_t name = string_number(w, frame->name ? frame->name : "");
	uint32_t file = frame->file ? string_number(w, frame->file) : 0;
	struct protobuf *d = &w->dictionary;

	place = protobuf_begin(d, DICTIONARY_FUNCTIONS);
	protobuf_uint(d, FUNCTION_NAME, name);
	if (file)
		protobuf_uint(d, FUNCTION_FILENAME, file);
	protobuf_end(d, place);
	place = protobuf_begin(d, DICTIONARY_LOCATIONS);
	if (module != NO_MODULE) {
		protobuf_uint(d, LOCATION_MAPPING, module + UINT64_C(1));
		protobuf_uint(d, LOCATION_ADDRESS, frame->offset);
	}
	line = protobuf_begin(d, LOCATION_LINES);
	protobuf_uint(d, LINE_FUNCTION, number + UINT64_C(1));
	if (frame->line)
		protobuf_uint(d, LINE_LINE, frame->line);
	protobuf_end(d, line);
	if (type_number)
		protobuf_uint(d, LOCATION_ATTRIBUTES, type_number);
	protobuf_end(d, place);
}

/* Returns the index of a stack, and writes the stack if needed, innermost frame first. */
static uint32_t stack_number(struct writing *w, uint32_t stack)
{
	const struct stack_info *stacks = w->result->stacks;
	struct protobuf *d = &w->dictionary;
	uint32_t entry, list;

	if (stack == RESULT_ROOT || w->stacks[stack])
		return w->stacks[stack];
	entry = protobuf_begin(d, DICTIONARY_STACKS);
	list = protobuf_begin(d, STACK_LOCATIONS);
	for (uint32_t at = stack; at != RESULT_ROOT; at = stacks[at].outer)
		protobuf_packed(d, stacks[at].frame + UINT64_C(1));
	protobuf_end(d, list);
	protobuf_end(d, entry);
	return w->stacks[stack] = ++w->stack_count;
}

/* ---- where something ran ---- */

static void find_attributes(struct writing *w, uint32_t number)
{
	const struct place *place = &w->result->places[number];
	const uint32_t *part = place->part;
	const struct process_info *process =
		place_names_process(w->result->place_names, part[PLACE_PROCESS]);
	char text[GROUPING_TEXT_BYTES];
	uint32_t *to = w->places[number];

	if (process)
		*to++ = attribute(w, "process.pid", NULL, (uint64_t)process->pid);
	if (part[PLACE_THREAD] != PLACE_UNKNOWN)
		*to++ = attribute(w, "thread.id", NULL, part[PLACE_THREAD]);
	if (grouping_text(w->result->place_names, w->result->device_names, place, PLACE_THREAD,
			  text))
		*to++ = attribute(w, "thread.name", text, 0);
	if (grouping_text(w->result->place_names, w->result->device_names, place, PLACE_DEVICE,
			  text))
		*to++ = attribute(w, "cuda.device", text, 0);
	if (part[PLACE_CONTEXT] != PLACE_UNKNOWN)
		*to++ = attribute(w, "cuda.context", NULL, part[PLACE_CONTEXT]);
	if (part[PLACE_STREAM] != PLACE_UNKNOWN)
		*to++ = attribute(w, "cuda.stream", NULL, part[PLACE_STREAM]);
}

static void put_place(struct writing *w, uint32_t number)
{
	const uint32_t *attributes = w->places[number];
	uint32_t list;

	if (!attributes[0])
		return;
	list = protobuf_begin(&w->data, SAMPLE_ATTRIBUTES);
	for (uint32_t i = 0; i < PLACE_ATTRIBUTES && attributes[i]; i++)
		protobuf_packed(&w->data, attributes[i]);
	protobuf_end(&w->data, list);
}

/* ---- profiles ---- */

static void put_sample(struct writing *w, const struct row *row, uint64_t value)
{
	uint32_t stack = stack_number(w, row->stack);
	uint32_t sample = protobuf_begin(&w->data, PROFILE_SAMPLES), values;

	if (stack)
		protobuf_uint(&w->data, SAMPLE_STACK, stack);
	put_place(w, row->place);
	values = protobuf_begin(&w->data, SAMPLE_VALUES);
	protobuf_packed(&w->data, value);
	protobuf_end(&w->data, values);
	protobuf_end(&w->data, sample);
}

static void put_type(struct writing *w, uint32_t field, int column)
{
	uint32_t type = protobuf_begin(&w->data, field);

	put_string(w, &w->data, VALUE_TYPE_TYPE, value_column_type(&w->columns, column));
	put_string(w, &w->data, VALUE_TYPE_UNIT, value_column_unit(&w->columns, column));
	protobuf_end(&w->data, type);
}

static bool has_values(const struct result *result, int column)
{
	for (uint32_t i = 0; i < result->row_count; i++)
		if (value_column_of(&result->rows[i], column))
			return true;
	return false;
}

static void put_profile(struct writing *w, int column)
{
	const struct totals *totals = &w->result->totals;
	uint32_t profile = protobuf_begin(&w->data, SCOPE_PROFILES_PROFILES);
	uint64_t start_unix_ns, ns;

	put_type(w, PROFILE_SAMPLE_TYPE, column);
	for (uint32_t i = 0; i < w->result->row_count; i++) {
		const struct row *row = &w->result->rows[i];
		uint64_t value = value_column_of(row, column);

		if (value)
			put_sample(w, row, value);
	}
	totals_profiled(totals, &start_unix_ns, &ns);
	if (start_unix_ns)
		protobuf_fixed64(&w->data, PROFILE_TIME_UNIX_NANO, start_unix_ns);
	protobuf_uint(&w->data, PROFILE_DURATION_NANO, ns);
	if (column == ROW_CPU) {
		put_type(w, PROFILE_PERIOD_TYPE, ROW_CPU);
		protobuf_uint(&w->data, PROFILE_PERIOD, totals->sample_ns);
	}
	protobuf_end(&w->data, profile);
}

/* ---- whose they are ---- */

static void put_key_value(struct protobuf *p, const char *key, size_t key_size, const char *value)
{
	uint32_t entry = protobuf_begin(p, RESOURCE_ATTRIBUTES), any;

	protobuf_bytes(p, KEY_VALUE_KEY, key, (uint32_t)key_size);
	any = protobuf_begin(p, KEY_VALUE_VALUE);
	protobuf_text(p, ANY_VALUE_STRING, value);
	protobuf_end(p, any);
	protobuf_end(p, entry);
}

static void put_resource(struct writing *w)
{
	struct protobuf *p = &w->data;
	uint32_t resource = protobuf_begin(p, RESOURCE_PROFILES_RESOURCE);

	put_key_value(p, "service.name", strlen("service.name"), w->profile->service);
	for (uint32_t i = 0; i < w->profile->label_count; i++) {
		const struct engine_label *label = &w->profile->labels[i];

		put_key_value(p, label->name, label->name_size, label->value);
	}
	protobuf_end(p, resource);
}

static void put_profiles(struct writing *w)
{
	struct protobuf *p = &w->data;
	uint32_t outer = protobuf_begin(p, PROFILES_DATA_RESOURCE_PROFILES), inner, scope;

	put_resource(w);
	inner = protobuf_begin(p, RESOURCE_PROFILES_SCOPE_PROFILES);
	scope = protobuf_begin(p, SCOPE_PROFILES_SCOPE);
	protobuf_text(p, SCOPE_NAME, "profile");
	protobuf_text(p, SCOPE_VERSION, PROFILE_VERSION);
	protobuf_end(p, scope);
	/* readers show the first profile by default */
	for (int i = w->columns.count - 1; i >= 0; i--)
		if (has_values(w->result, w->columns.list[i]))
			put_profile(w, w->columns.list[i]);
	protobuf_end(p, inner);
	protobuf_end(p, outer);
}

/* ---- all of it ---- */

static int write_out(struct writing *w, FILE *out)
{
	if (w->strings.failed || w->attributes.failed || w->data.failed || w->dictionary.failed)
		return -ENOMEM;
	protobuf_bytes(&w->data, PROFILES_DATA_DICTIONARY, w->dictionary.bytes, w->dictionary.size);
	if (w->data.failed)
		return -ENOMEM;
	return fwrite(w->data.bytes, 1, w->data.size, out) == w->data.size ? 0 : -EIO;
}

static int prepare(struct writing *w)
{
	int err = module_table_init(&w->modules, w->result);

	if (err)
		return err;
	w->stacks = calloc(w->result->stack_count + 1u, sizeof(*w->stacks));
	w->places = calloc(w->result->place_count + 1u, sizeof(*w->places));
	value_columns_choose(&w->columns, w->result);
	return w->stacks && w->places ? 0 : -ENOMEM;
}

int otlp_profiles_write(const struct engine_profile *profile, FILE *out)
{
	struct writing w = {.profile = profile, .result = profile->result};
	int err = prepare(&w);

	if (!err) {
		put_zero_entries(&w);
		put_mappings(&w);
		for (uint32_t i = 0; i < w.result->frame_count; i++)
			put_frame(&w, i);
		for (uint32_t i = 0; i < w.result->place_count; i++)
			find_attributes(&w, i);
		put_profiles(&w);
		err = write_out(&w, out);
	}
	protobuf_release(&w.data);
	protobuf_release(&w.dictionary);
	text_table_release(&w.strings);
	text_table_release(&w.attributes);
	module_table_release(&w.modules);
	free(w.stacks);
	free(w.places);
	return err;
}

static int write_file(const struct result *result, const struct writer_options *options, FILE *out,
		      struct written *written)
{
	const struct engine_profile profile = {.result = result,
					       .service = options->service ? options->service
									   : "unknown_service"};

	*written = written_in_ns(result);
	written->items = result->row_count;
	return otlp_profiles_write(&profile, out);
}

const struct writer otlp_profiles_writer = {.name = "otlp-profiles",
					    .suffix = ".profiles.pb",
					    .item = "row",
					    .shows_weights = true,
					    .needs = NEEDS_PLACES,
					    .write = write_file};
