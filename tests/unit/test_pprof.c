/* SPDX-License-Identifier: MIT */
/* A small reader, written for the test, decodes the output. */
#include "made_result.h"
#include "protobuf_reader.h"
#include "unpack.h"
#include "profiler/formats/writer.h"
#include "symbolize/util/text.h"

static const struct writer_options no_options = {.unit_ns = 20e6};

/* ---- a reader ---- */

enum { TYPES = 7, LABELS = 10, KEY_BYTES = 16 };

struct read_label {
	char key[KEY_BYTES];
	struct pb text; /* at NULL: a number */
	uint64_t number;
};

struct read_sample {
	uint64_t *locations; /* innermost first */
	uint32_t depth;
	uint64_t values[TYPES];
	struct read_label labels[LABELS];
	uint32_t label_count;
};

struct read_location {
	uint64_t mapping, address, function, line;
};

struct read_function {
	struct pb name, system_name, file;
};

struct read_mapping {
	uint64_t id, start, limit, has_functions;
	struct pb file, build_id;
};

/* Locations and functions are found by their id, which is the position. */
struct profile_read {
	unsigned char *bytes;
	struct pb *texts;
	uint32_t text_count, text_capacity;
	struct read_sample *samples;
	uint32_t sample_count, sample_capacity;
	struct read_location *locations;
	uint32_t location_count, location_capacity;
	struct read_function *functions;
	uint32_t function_count, function_capacity;
	struct read_mapping *mappings;
	uint32_t mapping_count, mapping_capacity;
	struct pb types[TYPES], units[TYPES], comment, default_type, period_type, period_unit;
	uint32_t type_count;
	uint64_t period, time, duration;
};

static bool pb_is(struct pb bytes, const char *text)
{
	return pb_size(bytes) == strlen(text) && memcmp(bytes.at, text, strlen(text)) == 0;
}

#define assert_pb(bytes, text) assert_true(pb_is(bytes, text))

static struct pb text_of(const struct profile_read *r, uint64_t number)
{
	assert_true(number < r->text_count);
	return r->texts[number];
}

/* Returns a field that occurs at most once, or 0 if it is absent. */
static uint64_t number_in(struct pb message, uint32_t number)
{
	struct pb_field field;
	uint64_t value = 0;
	int seen = 0;

	while (pb_next(&message, &field)) {
		if (field.number != number)
			continue;
		assert_false(field.has_bytes);
		assert_int_equal(seen++, 0);
		value = field.value;
	}
	return value;
}

static struct pb text_in(const struct profile_read *r, struct pb message, uint32_t number)
{
	return text_of(r, number_in(message, number));
}

#define ADD(r, what)                                                                          \
	(assert_true(array_make_room(&(r)->what##s, (r)->what##_count, &(r)->what##_capacity, \
				     sizeof(*(r)->what##s))),                                 \
	 memset(&(r)->what##s[(r)->what##_count], 0, sizeof(*(r)->what##s)),                  \
	 &(r)->what##s[(r)->what##_count++])

static void read_label(const struct profile_read *r, struct read_sample *sample, struct pb message)
{
	struct read_label *label = &sample->labels[sample->label_count++];
	struct pb key = text_in(r, message, 1);

	assert_true(sample->label_count <= LABELS && pb_size(key) < KEY_BYTES);
	memcpy(label->key, key.at, pb_size(key));
	if (number_in(message, 2))
		label->text = text_in(r, message, 2);
	label->number = number_in(message, 3);
}

static void read_sample(struct profile_read *r, struct pb message)
{
	struct read_sample *sample = ADD(r, sample);
	struct pb_field field;

	while (pb_next(&message, &field)) {
		uint32_t values = 0;

		assert_true(field.has_bytes);
		switch (field.number) {
		case 1:
			assert_null(sample->locations);
			sample->locations = calloc(pb_size(field.bytes) + 1, sizeof(uint64_t));
			while (field.bytes.at < field.bytes.end)
				sample->locations[sample->depth++] = pb_number(&field.bytes);
			break;
		case 2:
			while (field.bytes.at < field.bytes.end)
				sample->values[values++] = pb_number(&field.bytes);
			assert_int_equal(values, r->type_count);
			break;
		case 3:
			read_label(r, sample, field.bytes);
			break;
		default:
			fail_msg("field %u of a sample", field.number);
		}
	}
}

static void read_location(struct profile_read *r, struct pb message)
{
	struct read_location *location = ADD(r, location);
	struct pb_field field;
	int lines = 0;

	while (pb_next(&message, &field)) {
		switch (field.number) {
		case 1:
			assert_int_equal(field.value, r->location_count);
			break;
		case 2:
			location->mapping = field.value;
			break;
		case 3:
			location->address = field.value;
			break;
		case 4:
			assert_int_equal(lines++, 0);
			location->function = number_in(field.bytes, 1);
			location->line = number_in(field.bytes, 2);
			break;
		default:
			fail_msg("field %u of a location", field.number);
		}
	}
	assert_int_equal(lines, 1);
}

static void read_function(struct profile_read *r, struct pb message)
{
	struct read_function *function = ADD(r, function);

	assert_int_equal(number_in(message, 1), r->function_count);
	function->name = text_in(r, message, 2);
	function->system_name = text_in(r, message, 3);
	function->file = text_in(r, message, 4);
}

static void read_mapping(struct profile_read *r, struct pb message)
{
	*ADD(r, mapping) = (struct read_mapping){.id = number_in(message, 1),
						 .start = number_in(message, 2),
						 .limit = number_in(message, 3),
						 .has_functions = number_in(message, 7),
						 .file = text_in(r, message, 5),
						 .build_id = text_in(r, message, 6)};
}

static void read_field(struct profile_read *r, const struct pb_field *field)
{
	switch (field->number) {
	case 1:
		assert_true(r->type_count < TYPES);
		r->types[r->type_count] = text_in(r, field->bytes, 1);
		r->units[r->type_count++] = text_in(r, field->bytes, 2);
		break;
	case 2:
		read_sample(r, field->bytes);
		break;
	case 3:
		read_mapping(r, field->bytes);
		break;
	case 4:
		read_location(r, field->bytes);
		break;
	case 5:
		read_function(r, field->bytes);
		break;
	case 6: /* read before */
		break;
	case 9:
		r->time = field->value;
		break;
	case 10:
		r->duration = field->value;
		break;
	case 11:
		r->period_type = text_in(r, field->bytes, 1);
		r->period_unit = text_in(r, field->bytes, 2);
		break;
	case 12:
		r->period = field->value;
		break;
	case 13:
		r->comment = text_of(r, field->value);
		break;
	case 14:
		r->default_type = text_of(r, field->value);
		break;
	default:
		fail_msg("field %u of a profile", field->number);
	}
}

static void check_text(struct pb text)
{
	unsigned char copy[8] = {0};

	for (size_t n; text.at < text.end; text.at += n) {
		assert_true(*text.at != '\0');
		memcpy(copy, text.at, pb_size(text) < 4 ? pb_size(text) : 4);
		copy[pb_size(text) < 4 ? pb_size(text) : 4] = '\0';
		n = count_utf8_bytes(copy);
		assert_true(n > 0);
	}
}

static void check_references(const struct profile_read *r)
{
	assert_int_equal(r->location_count, r->function_count);
	for (uint32_t i = 0; i < r->location_count; i++) {
		assert_in_range(r->locations[i].function, 1, r->function_count);
		assert_in_range(r->locations[i].mapping, 0, r->mapping_count);
	}
	for (uint32_t i = 0; i < r->sample_count; i++)
		for (uint32_t k = 0; k < r->samples[i].depth; k++)
			assert_in_range(r->samples[i].locations[k], 1, r->location_count);
	for (uint32_t i = 0; i < r->mapping_count; i++) {
		assert_in_range(r->mappings[i].id, 1, r->mapping_count);
		for (uint32_t k = 0; k < i; k++)
			assert_int_not_equal(r->mappings[i].id, r->mappings[k].id);
	}
}

static struct profile_read read_profile(const void *packed, size_t packed_size)
{
	struct profile_read r = {0};
	struct pb_field field;
	struct pb all, again;
	size_t size;

	r.bytes = gunzip(packed, packed_size, &size);
	all = again = pb_of(r.bytes, size);
	while (pb_next(&all, &field)) {
		if (field.number == 6) {
			*ADD(&r, text) = field.bytes;
			check_text(field.bytes);
		}
	}
	assert_true(r.text_count > 0);
	assert_pb(r.texts[0], "");
	while (pb_next(&again, &field))
		read_field(&r, &field);
	check_references(&r);
	return r;
}

static void forget(struct profile_read *r)
{
	for (uint32_t i = 0; i < r->sample_count; i++)
		free(r->samples[i].locations);
	free(r->texts);
	free(r->samples);
	free(r->locations);
	free(r->functions);
	free(r->mappings);
	free(r->bytes);
}

/* ---- helpers ---- */

static struct profile_read write_and_read(const struct made_result *m, struct written *written)
{
	struct profile_read r;
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(out);
	memset(written, 0xff, sizeof(*written)); /* says nothing yet */
	assert_int_equal(pprof_writer.write(&m->result, &no_options, out, written), 0);
	fclose(out);
	r = read_profile(text, size);
	free(text);
	assert_int_equal(written->items, m->result.row_count);
	assert_int_equal(r.sample_count, m->result.row_count);
	return r;
}

/* Returns the index of the value with this type, or -1. */
static int column(const struct profile_read *r, const char *type)
{
	for (uint32_t i = 0; i < r->type_count; i++)
		if (pb_is(r->types[i], type))
			return (int)i;
	return -1;
}

static uint64_t sum(const struct profile_read *r, const char *type)
{
	int at = column(r, type);
	uint64_t total = 0;

	assert_true(at >= 0);
	for (uint32_t i = 0; i < r->sample_count; i++)
		total += r->samples[i].values[at];
	return total;
}

static const struct read_label *label(const struct read_sample *sample, const char *key)
{
	const struct read_label *found = NULL;

	for (uint32_t i = 0; i < sample->label_count; i++) {
		if (strcmp(sample->labels[i].key, key) == 0) {
			assert_null(found);
			found = &sample->labels[i];
		}
	}
	return found;
}

static bool has_text(const struct read_sample *sample, const char *key, const char *text)
{
	const struct read_label *found = label(sample, key);

	return found && found->text.at && pb_is(found->text, text);
}

static bool has_number(const struct read_sample *sample, const char *key, uint64_t number)
{
	const struct read_label *found = label(sample, key);

	return found && !found->text.at && found->number == number;
}

/* Returns true if a sample's frames are these, the outermost first. */
static bool has_path(const struct profile_read *r, uint32_t sample, const char *const *names)
{
	const struct read_sample *s = &r->samples[sample];

	for (uint32_t i = s->depth; i-- > 0; names++)
		if (!*names || !pb_is(r->functions[s->locations[i] - 1].name, *names))
			return false;
	return !*names;
}

#define assert_path(r, sample, ...) \
	assert_true(has_path(r, sample, (const char *const[]){__VA_ARGS__, NULL}))

/* ---- tests ---- */

static void the_format_is_known_by_its_name(void **state)
{
	(void)state;
	assert_string_equal(pprof_writer.name, "pprof");
	assert_string_equal(pprof_writer.suffix, ".pb.gz");
	assert_int_equal(pprof_writer.needs, NEEDS_PLACES);
	assert_false(pprof_writer.has_units);
}

static void rows_are_samples(void **state)
{
	struct made_result m;
	struct written written;
	struct profile_read r;

	(void)state;
	made_begin(&m);
	m.result.totals = (struct totals){.command = "./app -x \xff",
					  .start_unix_ns = 1700000000123456789,
					  .elapsed_ns = 123456789012,
					  .sample_ns = 20000000};
	made_add(&m, MADE_STACK(&m, "main", "work"), ROW_CPU, 40000000);
	made_add_at(
		&m,
		&(struct row){.kind = ROW_GPU,
			      .stack = MADE_STACK(&m, "main", "cudaMemcpy", "[GPU_Memcpy HtoD]"),
			      .count = 3,
			      .ns = 7,
			      .bytes = 1 << 30},
		place_unknown());
	made_add_at(&m, /* takes no time: an allocation */
		    &(struct row){.kind = ROW_GPU,
				  .stack = MADE_STACK(&m, "main", "cudaMalloc"),
				  .count = 5,
				  .bytes = 9},
		    place_unknown());
	r = write_and_read(&m, &written);
	assert_int_equal(r.type_count, 4);
	for (uint32_t i = 0; i < 4; i++)
		assert_pb(r.units[i], i == 0 ? "count" : i == 1 ? "bytes" : "nanoseconds");
	assert_pb(r.types[3], "gpu"); /* readers without a default take the last type */
	assert_pb(r.default_type, "gpu");
	assert_int_equal(sum(&r, "cpu"), 40000000);
	assert_int_equal(sum(&r, "gpu"), 7);
	assert_int_equal(sum(&r, "operations"), 8);
	assert_int_equal(sum(&r, "copied"), (1 << 30) + 9);
	assert_path(&r, 0, "main", "work");
	assert_path(&r, 1, "main", "cudaMemcpy", "[GPU_Memcpy HtoD]");
	assert_path(&r, 2, "main", "cudaMalloc");
	assert_true(has_text(&r.samples[0], "kind", "cpu"));
	assert_true(has_text(&r.samples[1], "kind", "gpu"));
	assert_int_equal(r.samples[0].label_count, 1); /* nothing is known of its place */
	assert_pb(r.comment, "./app -x ?");
	assert_pb(r.period_type, "cpu");
	assert_pb(r.period_unit, "nanoseconds");
	assert_int_equal(r.period, 20000000);
	assert_int_equal(r.time, 1700000000123456789);
	assert_int_equal(r.duration, 123456789012);
	assert_int_equal(written.total[ROW_CPU], 40000000);
	assert_int_equal(written.total[ROW_GPU], 7);
	assert_true(written.exact_ns == 40000007);
	forget(&r);
	made_end(&m);
}

static void other_kinds_have_columns_if_there_are_any(void **state)
{
	struct made_result m;
	struct written written;
	struct profile_read r;
	uint32_t stack;

	(void)state;
	made_begin(&m);
	stack = MADE_STACK(&m, "main");
	made_add(&m, stack, ROW_CPU, 1);
	r = write_and_read(&m, &written);
	assert_int_equal(column(&r, "waiting"), -1);
	assert_int_equal(column(&r, "cuda_calls"), -1);
	assert_pb(r.default_type, "cpu");
	assert_pb(r.types[r.type_count - 1], "cpu");
	forget(&r);
	made_add(&m, stack, ROW_WAIT, 2);
	made_add(&m, stack, ROW_CALL, 4);
	made_add(&m, stack, ROW_GPU, 0); /* no GPU time */
	r = write_and_read(&m, &written);
	assert_int_equal(sum(&r, "cpu"), 1);
	assert_int_equal(sum(&r, "waiting"), 2);
	assert_int_equal(sum(&r, "cuda_calls"), 4);
	assert_int_equal(sum(&r, "gpu"), 0);
	assert_int_equal(sum(&r, "operations"), 1);
	assert_pb(r.default_type, "cpu");
	assert_true(has_text(&r.samples[1], "kind", "waiting"));
	assert_true(has_text(&r.samples[2], "kind", "call"));
	forget(&r);
	made_end(&m);
}

static void places_are_labels(void **state)
{
	struct place on_gpu = {{1, 12, 3, 1, 7}}, on_cpu = place_unknown(),
		     unnamed = {{2, 5, 0, 0, 0}};
	struct gpu_event_device device = {.id = 3, .name = "Some GPU"};
	struct row row = {.kind = ROW_GPU, .count = 1, .ns = 1};
	struct written written;
	struct profile_read r;
	struct made_result m;

	(void)state;
	made_begin(&m);
	place_names_add_process(&m.place_names,
				&(struct process_info){.id = 1, .pid = 4711, .name = "app 4711"});
	place_names_add_thread(&m.place_names,
			       &(struct thread_info){.process = 1, .tid = 12, .name = "main 12"});
	assert_int_equal(devices_describe(&m.devices, 1, &device), 0);
	row.stack = MADE_STACK(&m, "main");
	made_add_at(&m, &row, on_gpu);
	on_cpu.part[PLACE_PROCESS] = 1;
	on_cpu.part[PLACE_THREAD] = 12;
	row.kind = ROW_CPU;
	made_add_at(&m, &row, on_cpu);
	row.kind = ROW_GPU;
	made_add_at(&m, &row, unnamed);
	r = write_and_read(&m, &written);
	assert_int_equal(r.samples[0].label_count, 8);
	assert_true(has_text(&r.samples[0], "process", "app 4711"));
	assert_true(has_number(&r.samples[0], "pid", 4711));
	assert_true(has_text(&r.samples[0], "thread", "main 12"));
	assert_true(has_number(&r.samples[0], "tid", 12));
	assert_true(has_text(&r.samples[0], "device", "GPU 3"));
	assert_true(has_number(&r.samples[0], "context", 1));
	assert_true(has_number(&r.samples[0], "stream", 7));
	assert_true(has_text(&r.samples[0], "kind", "gpu"));
	assert_int_equal(r.samples[1].label_count, 5);
	assert_true(has_number(&r.samples[1], "pid", 4711));
	assert_true(has_text(&r.samples[2], "thread", "[thread 5]"));
	assert_true(has_text(&r.samples[2], "device", "GPU 0"));
	assert_true(has_number(&r.samples[2], "stream", 0));
	assert_null(label(&r.samples[2], "process"));
	assert_null(label(&r.samples[2], "pid"));
	forget(&r);
	made_end(&m);
}

static void frames_have_files(void **state)
{
	static const char library[] = "/lib/libx.so.6", program[] = "/bin/app", odd[] = "/a\nb\xff";
	const char *build_id = "00fedcba";
	struct written written;
	struct profile_read r;
	struct made_result m;
	uint32_t stack;

	(void)state;
	made_begin(&m);
	stack = MADE_STACK(&m, "start_thread", "main", "open", "forward (model.py:42)", "odd", "k");
	m.frames[1].module = library;
	m.frames[1].offset = 0x1000;
	m.frames[2].module = program;
	m.frames[2].build_id = build_id;
	m.frames[2].offset = 0x1fff;
	m.frames[3].module = library;
	m.frames[3].offset = 0x20ff;
	m.frames[4].file = "model.py";
	m.frames[4].line = 42;
	m.frames[5].module = odd;
	m.frames[5].offset = UINT64_MAX;
	made_add(&m, stack, ROW_CPU, 1);
	r = write_and_read(&m, &written);
	assert_int_equal(r.mapping_count, 3);
	assert_pb(r.mappings[0].file, "/bin/app"); /* the program is first, and named in reports */
	assert_pb(r.mappings[0].build_id, "00fedcba");
	assert_int_equal(r.mappings[0].limit, 0x2000);
	assert_pb(r.mappings[1].file, "/lib/libx.so.6");
	assert_pb(r.mappings[1].build_id, "");
	assert_int_equal(r.mappings[1].limit, 0x3000);
	assert_pb(r.mappings[2].file, "/a?b?");
	assert_int_equal(r.mappings[2].limit, UINT64_MAX);
	for (uint32_t i = 0; i < 3; i++) {
		assert_int_equal(r.mappings[i].start, 0);
		assert_true(r.mappings[i].has_functions);
	}
	assert_int_equal(r.locations[1].mapping, r.mappings[1].id);
	assert_int_equal(r.locations[1].address, 0x1000);
	assert_int_equal(r.locations[2].mapping, r.mappings[0].id);
	assert_int_equal(r.locations[3].mapping, r.mappings[1].id);
	assert_int_equal(r.locations[4].mapping, 0);
	assert_int_equal(r.locations[4].line, 42);
	assert_pb(r.functions[1].file, "/lib/libx.so.6");
	assert_pb(r.functions[4].file, "model.py");
	assert_pb(r.functions[4].name, "forward (model.py:42)");
	assert_pb(r.functions[4].system_name, ""); /* otherwise pprof would shorten the name */
	assert_pb(r.functions[6].file, "");
	assert_path(&r, 0, "start_thread", "main", "open", "forward (model.py:42)", "odd", "k");
	forget(&r);
	made_end(&m);
}

static void an_empty_profile(void **state)
{
	struct written written;
	struct profile_read r;
	struct made_result m;

	(void)state;
	made_begin(&m);
	r = write_and_read(&m, &written);
	assert_int_equal(r.type_count, 4);
	assert_pb(r.default_type, "cpu");
	for (int kind = 0; kind < ROW_KINDS; kind++)
		assert_int_equal(written.total[kind], 0);
	assert_true(written.exact_ns == 0);
	forget(&r);
	made_end(&m);
}

static void hostile_names(void **state)
{
	enum { SIZE = 1 << 20 };
	char *huge = malloc(SIZE + 1);
	struct written written;
	struct profile_read r;
	struct made_result m;

	(void)state;
	assert_non_null(huge);
	memset(huge, '\xe2', SIZE);
	huge[SIZE] = '\0';
	made_begin(&m);
	made_add(&m, MADE_STACK(&m, "", "a\nb", "\xff\xc3", "\xe2\x80\xa8\"", huge), ROW_CPU, 1);
	r = write_and_read(&m, &written);
	memset(huge, '?', SIZE);
	assert_path(&r, 0, "", "a\nb", "??", "\xe2\x80\xa8\"", huge);
	forget(&r);
	made_end(&m);
	free(huge);
}

static void a_path_may_be_very_deep(void **state)
{
	enum { DEPTH = 100000 };
	uint32_t stack = RESULT_ROOT;
	struct written written;
	struct profile_read r;
	struct made_result m;

	(void)state;
	made_begin(&m);
	for (int i = 0; i < DEPTH; i++)
		stack = made_push(&m, stack, "recursive");
	made_add(&m, stack, ROW_CPU, 1);
	made_add(&m, stack, ROW_GPU, 2);
	r = write_and_read(&m, &written);
	assert_int_equal(r.samples[0].depth, DEPTH);
	assert_int_equal(r.samples[1].depth, DEPTH);
	assert_int_equal(r.samples[0].locations[0], DEPTH + 1);
	assert_int_equal(r.samples[0].locations[DEPTH - 1], 2);
	assert_true(r.text_count < 30); /* one text for all of them */
	forget(&r);
	made_end(&m);
}

static bool has_path_of(const struct profile_read *r, uint32_t sample, const struct result *result,
			uint32_t stack)
{
	const struct read_sample *s = &r->samples[sample];
	uint32_t depth = 0;

	for (; stack != RESULT_ROOT; stack = result->stacks[stack].outer) {
		const char *name = result->frames[result->stacks[stack].frame].name;

		if (depth == s->depth || !pb_is(r->functions[s->locations[depth] - 1].name, name))
			return false;
		depth++;
	}
	return depth == s->depth;
}

static void random_rows_are_all_there(void **state)
{
	static const char *const names[] = {"a", "b", "c", "longer name", "x;y", "[k]", "d"};
	static const char *const types[ROW_KINDS] = {"cpu", "gpu", "waiting", "cuda_calls",
						     "gpu_idle"};

	(void)state;
	for (uint64_t round = 0; round < unit_rounds(100); round++) {
		struct prng p = prng_round(round);
		uint64_t ns[ROW_KINDS] = {0}, bytes = 0, operations = 0;
		struct written written;
		struct profile_read r;
		struct made_result m;

		made_begin(&m);
		for (uint64_t n = prng_below(&p, 200); n > 0; n--) {
			struct row row = {.kind = (uint32_t)prng_below(&p, ROW_KINDS),
					  .ns = prng_bits(&p, 50),
					  .count = prng_bits(&p, 40)};
			struct place place = place_unknown();

			for (uint64_t depth = 1 + prng_below(&p, 8); depth > 0; depth--)
				row.stack = made_push(&m, row.stack, names[prng_below(&p, 7)]);
			row.bytes = row.kind == ROW_GPU ? prng_bits(&p, 50) : 0;
			for (uint32_t i = 0; i < PLACE_PARTS; i++)
				if (prng_chance(&p, 50))
					place.part[i] = (uint32_t)prng_bits(&p, 32);
			made_add_at(&m, &row, place);
			ns[row.kind] += row.ns;
			bytes += row.bytes;
			operations += row.kind == ROW_GPU ? row.count : 0;
		}
		r = write_and_read(&m, &written);
		for (int kind = 0; kind < ROW_KINDS; kind++) {
			int at = column(&r, types[kind]);

			EXPECT(&p, at < 0 ? ns[kind] == 0 : sum(&r, types[kind]) == ns[kind]);
			EXPECT(&p, written.total[kind] == ns[kind]);
		}
		EXPECT(&p, sum(&r, "copied") == bytes && sum(&r, "operations") == operations);
		for (uint32_t i = 0; i < m.result.row_count; i++)
			EXPECT(&p, has_path_of(&r, i, &m.result, m.rows[i].stack));
		forget(&r);
		made_end(&m);
	}
}

static void a_full_disk_is_an_error(void **state)
{
	FILE *full = fopen("/dev/full", "w");
	struct prng p = prng_round(0);
	struct written written;
	struct made_result m;
	static char names[20000][24];

	(void)state;
	if (!full)
		SKIP("no /dev/full here");
	made_begin(&m);
	for (int i = 0; i < 20000; i++) {
		snprintf(names[i], sizeof(names[i]), "%016" PRIx64, prng_u64(&p));
		made_add(&m, made_push(&m, RESULT_ROOT, names[i]), ROW_CPU, 1);
	}
	assert_int_equal(pprof_writer.write(&m.result, &no_options, full, &written), -EIO);
	fclose(full);
	made_end(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_format_is_known_by_its_name),
		cmocka_unit_test(rows_are_samples),
		cmocka_unit_test(other_kinds_have_columns_if_there_are_any),
		cmocka_unit_test(places_are_labels),
		cmocka_unit_test(frames_have_files),
		cmocka_unit_test(an_empty_profile),
		cmocka_unit_test(hostile_names),
		cmocka_unit_test(a_path_may_be_very_deep),
		cmocka_unit_test(random_rows_are_all_there),
		cmocka_unit_test(a_full_disk_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
