/* SPDX-License-Identifier: MIT */
/* A capture holds all of a result, and what is no capture is refused. */
#include "random_tables.h"
#include "unpack.h"
#include "profiler/formats/capture.h"
#include "profiler/formats/capture_format.h"
#include "profiler/formats/gzip.h"
#include "profiler/formats/protobuf.h"
#include "profiler/formats/writer.h"
#include "profiler/model/memory_use.h"
#include "profiler/model/stall_places.h"
#include "profiler/output/writers.h"

static char *text_from(const struct writer *writer, const struct result *result, size_t *size)
{
	static const struct writer_options options = {.unit_ns = 1};
	struct written written;
	char *text = NULL;
	FILE *out = open_memstream(&text, size);

	assert_non_null(out);
	assert_int_equal(writer->write(result, &options, out, &written), 0);
	assert_int_equal(fclose(out), 0);
	return text;
}

static struct profile_capture *read_text(const char *text, size_t size, bool has_timeline,
					 struct quota *memory, enum capture_error *error)
{
	FILE *in = size ? fmemopen((char *)(uintptr_t)text, size, "r") : fopen("/dev/null", "r");
	struct profile_capture *capture;

	assert_non_null(in);
	capture = capture_read(in, has_timeline ? folder : NULL, true, memory, error);
	fclose(in);
	assert_true(!capture == (*error != CAPTURE_OK));
	return capture;
}

/* ---- all of it is there ---- */

static bool equal_texts(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

static void check_frames(const struct result *a, const struct result *b)
{
	assert_int_equal(a->frame_count, b->frame_count);
	for (uint32_t i = 1; i < a->frame_count; i++) {
		const struct frame_info *x = &a->frames[i], *y = &b->frames[i];

		assert_int_equal(x->class, y->class);
		assert_int_equal(x->line, y->line);
		assert_int_equal(x->offset, y->offset);
		assert_true(equal_texts(x->name, y->name) && equal_texts(x->file, y->file));
		assert_true(equal_texts(x->short_name, y->short_name));
		assert_true(equal_texts(x->module, y->module));
		assert_true(equal_texts(x->build_id, y->build_id));
		for (uint32_t j = 1; j < i; j++) /* equal pointers are one module */
			assert_true((a->frames[j].module == x->module) ==
				    (b->frames[j].module == y->module));
	}
	assert_int_equal(a->stack_count, b->stack_count);
	for (uint32_t i = 1; i < a->stack_count; i++)
		assert_memory_equal(&a->stacks[i], &b->stacks[i], sizeof(a->stacks[i]));
}

static void check_places(const struct result *a, const struct result *b)
{
	assert_int_equal(a->place_count, b->place_count);
	assert_memory_equal(a->places, b->places, a->place_count * sizeof(*a->places));
	assert_int_equal(a->process_count, b->process_count);
	for (uint32_t i = 0; i < a->process_count; i++) {
		const struct process_info *p =
			place_names_process(b->place_names, a->processes[i].id);

		assert_int_equal(p->pid, a->processes[i].pid);
		assert_string_equal(p->name, a->processes[i].name);
	}
	assert_int_equal(a->thread_count, b->thread_count);
	for (uint32_t i = 0; i < a->thread_count; i++)
		assert_string_equal(
			place_names_thread(b->place_names, a->threads[i].process, a->threads[i].tid)
				->name,
			a->threads[i].name);
	assert_int_equal(a->device_count, b->device_count);
	for (uint32_t i = 0; i < a->device_count; i++)
		assert_memory_equal(&a->devices[i], &b->devices[i], sizeof(a->devices[i]));
}

static void check_timelines(const struct random_result *r, const struct result *b)
{
	assert_int_equal(timeline_stats(b->timeline).records, r->record_count);
	for (uint32_t i = 0; i < r->record_count; i++) {
		struct timeline_record record, want = r->records[i];

		assert_int_equal(timeline_read(b->timeline, i, 1, &record), 0);
		assert_int_equal(result_record_stack(b, &record), want.stack.number);
		assert_memory_equal(&record, &want, sizeof(record));
		if (want.shape)
			assert_memory_equal(timeline_shape(b->timeline, want.shape),
					    timeline_shape(r->timeline, want.shape),
					    sizeof(struct timeline_shape));
	}
}

/* Values of some of the launches, which the formats of timelines show. */
static void add_values(struct prng *p, struct random_result *r, struct counter_table *counters)
{
	struct result *result = &r->made.result;

	*counters = (struct counter_table){.metrics = {{"dram__bytes.sum", "byte"}, {"x", ""}},
					   .metric_count = 2};
	result->counters = counters;
	result->counters_result = result;
	result->totals.measure.counters = true;
	for (uint32_t i = 0; i < r->record_count; i++) {
		const struct timeline_record *record = &r->records[i];
		struct counter_value value = {
			result->places[record->place.number].part[PLACE_PROCESS],
			record->correlation, (uint32_t)prng_below(p, 2),
			(double)prng_bits(p, 30) / 7};

		if (prng_below(p, 4) || !counters_make_room(counters, 1))
			continue;
		counters_add_value(counters, &value);
	}
}

static void check_values(const struct counter_table *a, const struct counter_table *b)
{
	assert_int_equal(a->value_count, b->value_count);
	for (uint32_t i = 0; i < a->value_count; i++) {
		assert_int_equal(a->values[i].process, b->values[i].process);
		assert_int_equal(a->values[i].correlation, b->values[i].correlation);
		assert_int_equal(a->values[i].metric, b->values[i].metric);
		assert_true(a->values[i].value == b->values[i].value);
	}
}

static void check_round(struct prng *p)
{
	struct random_result r;
	struct counter_table counters;
	struct profile_capture *capture;
	enum capture_error error;
	struct quota memory = {.limit = SIZE_MAX};
	size_t size, again_size;
	char *text, *again;

	random_begin(p, &r);
	add_values(p, &r, &counters);
	text = text_from(&capture_writer, &r.made.result, &size);
	capture = read_text(text, size, false, &memory, &error);
	EXPECT(p, capture); /* values are for the timeline alone */
	assert_int_equal(capture_result(capture)->counters->value_count, 0);
	capture_free(capture);
	capture = read_text(text, size, true, &memory, &error);
	EXPECT(p, capture);
	check_values(&counters, capture_result(capture)->counters);
	check_frames(&r.made.result, capture_result(capture));
	check_places(&r.made.result, capture_result(capture));
	check_timelines(&r, capture_result(capture));
	assert_int_equal(r.made.result.row_count, capture_result(capture)->row_count);
	for (uint32_t i = 0; i < r.made.result.row_count; i++)
		assert_memory_equal(&r.made.result.rows[i], &capture_result(capture)->rows[i],
				    sizeof(struct row));
	for (const struct writer *const *w = writers; *w; w++) {
		char *first = text_from(*w, &r.made.result, &size);

		again = text_from(*w, capture_result(capture), &again_size);
		EXPECT(p, size == again_size && memcmp(first, again, size) == 0);
		free(first);
		free(again);
	}
	capture_free(capture);
	assert_int_equal(memory.used, 0);
	free(text);
	counters_release(&counters);
	random_end(&r);
}

static void random_results_are_read_again(void **state)
{
	(void)state;
	for (uint64_t round = 0; round < unit_rounds(30); round++) {
		struct prng p = prng_round(round);

		check_round(&p);
	}
}

static void paths_that_are_no_text_are_cleaned(void **state)
{
	struct made_result m;
	struct ledger ledger = {.cpu.samples = 0};
	struct profile_capture *capture;
	enum capture_error error;
	size_t size;
	char *text;

	(void)state;
	made_begin(&m);
	made_add(&m, made_push(&m, RESULT_ROOT, "f"), ROW_CPU, 5);
	m.frames[0].name = m.frames[0].short_name = "";
	m.frames[1].module = "/lib/\xff\n.so";
	m.result.totals = (struct totals){.ledger = &ledger, .sample_ns = 1};
	text = text_from(&capture_writer, &m.result, &size);
	capture = read_text(text, size, false, NULL, &error);
	assert_non_null(capture);
	assert_string_equal(capture_result(capture)->frames[1].module, "/lib/??.so");
	capture_free(capture);
	free(text);
	made_end(&m);
}

/* Members of struct run_numbers that captures keep in another way, or do not keep. */
#define KEPT(member)                                                                            \
	{                                                                                       \
		offsetof(struct run_numbers, member), sizeof(((struct run_numbers *)0)->member) \
	}
static const struct {
	size_t offset, size;
} kept_elsewhere[] = {
	KEPT(totals.ledger),
	KEPT(totals.command),
	KEPT(totals.program),
	KEPT(totals.folder),
	KEPT(totals.links),
	KEPT(totals.shown),
	KEPT(totals.host),
	KEPT(totals.measure.errors), /* only for --prometheus, during a run */
	KEPT(totals.measure.ranges),
	KEPT(ledger.gpu.rows),
	KEPT(ledger.gpu.row_count),
	KEPT(ledger.gpu.row_capacity),
	KEPT(ledger.gpu.last_row),
	KEPT(ledger.gpu.row_index),
	KEPT(ledger.api),
	KEPT(ledger.pipe.first_malformed),
	KEPT(ledger.pipe.first_refused),
	KEPT(ledger.python.first_file),
	KEPT(ledger.outside.entered_by),
	KEPT(ledger.outside.other_ranges),
	KEPT(unnamed.unreadable_path),
	KEPT(unnamed.unread_path),
};

/* Clears the bytes of each member that captures have. Checks that no two members share bytes. */
static void clear_kept(unsigned char *bytes)
{
	for (uint32_t i = 0; i < run_number_count; i++)
		for (uint32_t j = 0; j < run_numbers[i].size; j++) {
			assert_int_equal(bytes[run_numbers[i].offset + j], 0xff);
			bytes[run_numbers[i].offset + j] = 0;
		}
	for (size_t i = 0; i < sizeof(kept_elsewhere) / sizeof(kept_elsewhere[0]); i++)
		memset(bytes + kept_elsewhere[i].offset, 0, kept_elsewhere[i].size);
}

/* Fails: at this offset is a member that captures lack. */
static void fail_for(size_t offset)
{
	bool is_ledger = offset >= offsetof(struct run_numbers, ledger) &&
			 offset < offsetof(struct run_numbers, unnamed);

	fail_msg("captures lack what is at byte %zu of struct run_numbers: it needs a row in %s",
		 offset, is_ledger ? "ledger_counts.h" : "run_numbers.c");
}

/* Fails when a member is added to a struct but not to the capture. */
static void all_numbers_of_a_run_are_in_the_table(void **state)
{
	static struct run_numbers numbers;
	unsigned char *bytes = (unsigned char *)&numbers;

	(void)state;
	memset(bytes, 0xff, sizeof(numbers));
	clear_kept(bytes);
#if __has_builtin(__builtin_clear_padding)
	__builtin_clear_padding(&numbers);
	for (size_t i = 0; i < sizeof(numbers); i++)
		if (bytes[i])
			fail_for(i);
#else
	(void)fail_for;
	print_message("the compiler does not say which bytes are padding\n");
	skip();
#endif
}

static const char *keep_name_as_it_is(void *context, const char *name)
{
	(void)context;
	return name;
}

/* Adds two CUDA functions, one of them with errors and durations. */
static void add_calls(struct api_calls *calls)
{
	const struct gpu_call_error errors[] = {{600, 4}, {GPU_CALL_OTHER_ERROR, 2}};
	const struct gpu_call_bucket buckets[] = {{3, 1}, {GPU_CALL_BUCKETS - 1, 8}};
	const struct gpu_event_calls query = {.function = "cudaEventQuery",
					      .family = GPU_LAUNCH_RUNTIME,
					      .calls = 9,
					      .ns = UINT64_C(1) << 60,
					      .bytes = 6,
					      .nested = 5,
					      .nested_ns = 4,
					      .shortest_ns = 3,
					      .longest_ns = 1u << 30,
					      .error_count = 2,
					      .errors = errors,
					      .bucket_count = 2,
					      .buckets = buckets};
	const struct gpu_event_calls copy = {
		.function = "cudaMemcpy", .family = GPU_LAUNCH_DRIVER, .kind = 3, .calls = 1};

	api_call_add(api_calls_get(calls, &query, NULL, keep_name_as_it_is, NULL), &query);
	api_call_add(api_calls_get(calls, &copy, NULL, keep_name_as_it_is, NULL), &copy);
}

static void assert_same_calls(const struct api_calls *a, const struct api_calls *b)
{
	assert_int_equal(a->count, b->count);
	for (uint32_t i = 0; i < a->count; i++) {
		struct api_call x = *a->list[i], y = *b->list[i];

		assert_string_equal(x.name, y.name);
		x.name = y.name = NULL;
		assert_memory_equal(&x, &y, sizeof(x));
	}
}

/* Numbers are where they were, whatever they are. */
static void numbers_are_read_again(void **state)
{
	static struct ledger ledger;
	struct random_result r;
	struct prng p = prng_round(1);
	struct profile_capture *capture;
	enum capture_error error;
	const struct result *got;
	struct run_numbers a = {.totals = {.command = NULL}}, b;
	struct memory_total totals[] = {{1, 2, MEMORY_MANAGED, 3, 4, 5, 6, 7, 8, 9, 10, 11, 0, 0},
					{.kind = MEMORY_OF_HOST, .peak_bytes = UINT64_C(1) << 50}};
	struct memory_row rows[] = {{0, 1, 2, 3, 4, 5, 6, 7, 0, 0, 0},
				    {.total = 1, .left_bytes = 70}};
	struct memory_pool pools[] = {
		{.address = UINT64_MAX, .device = 7, .keeps = UINT64_MAX},
		{1, 2, 3, MEMORY_MANAGED, 0, 4, 5, 6, 7, 8, 9, 10, 11, 0, 0, 0}};
	struct memory_use memory = {.totals = totals,
				    .rows = rows,
				    .pools = pools,
				    .total_count = 2,
				    .row_count = 2,
				    .pool_count = 2};
	struct counter_row read[] = {{0, 1, 3, 1e300, -0.1, 5e-324}, {.metric = 0, .count = 1}};
	struct counter_table counters = {.metrics = {{"dram__bytes.sum", "byte"}, {"x", ""}},
					 .rows = {.list = read, .count = 2},
					 .metric_count = 2,
					 .not_kept = 70};
	struct stall_place stalled[] = {{"k", "[stall: wait]", STALL_PLACE_ALL, 7},
					{"k", "[stall: wait]", 0xa0, LEDGER_TOTAL_MAX}};
	const struct result_table *places;
	size_t size;
	char *text;

	(void)state;
	random_begin(&p, &r);
	for (uint32_t i = 0; i < run_number_count; i++)
		assert_true(number_store(&a, run_numbers[i].offset, run_numbers[i].size,
					 run_numbers[i].size == 1   ? prng_below(&p, 2)
					 : run_numbers[i].size == 4 ? prng_bits(&p, 32)
								    : prng_bits(&p, 60)));
	a.command = a.shown = a.unreadable_path = a.unread_path = a.first_malformed =
		a.first_refused = 0;
	a.first_python = a.folder = a.host = a.links = 0;
	a.counters_not_kept = 0; /* the table has its own count */
	a.totals.sample_ns = 1;
	a.totals.start_ns = 2;
	a.totals.job.is_known = true;
	a.totals.job.rank = JOB_RANK_MAX;
	ledger = a.ledger;
	snprintf(ledger.pipe.first_malformed, sizeof(ledger.pipe.first_malformed), "{\"x");
	snprintf(ledger.pipe.first_refused, sizeof(ledger.pipe.first_refused), "y");
	snprintf(ledger.python.first_file, sizeof(ledger.python.first_file), "/bin/p");
	ledger.gpu.rows = (struct gpu_row[]){
		{.device = 1, .work = 2, .count = 3, .ns = 4, .after_ns = 5}, {.device = 2}};
	ledger.gpu.row_count = 2;
	add_calls(&ledger.api);
	a.totals.measure.memory = true;
	rows[1].stack = r.made.result.stack_count - 1;
	memory_use_show(&memory, &r.made.tables);
	a.totals.measure.counters = true;
	read[1].stack = r.made.result.stack_count - 1;
	r.made.result.counters = &counters;
	a.totals.measure.stall_period = 14;
	made_table(&r.made, &stall_places_table, stalled, 2);
	r.made.result.totals = a.totals;
	r.made.result.totals.command = "x y";
	r.made.result.totals.shown = "--time 1..";
	r.made.result.totals.folder = "/home/x";
	r.made.result.totals.host = "node7";
	r.made.result.totals.links = "/a///b//";
	r.made.result.totals.ledger = &ledger;
	r.made.result.unnamed = a.unnamed;
	r.made.result.unnamed.unreadable_path = "/x";
	r.made.result.unnamed.unread_path = "/y.debug";
	text = text_from(&capture_writer, &r.made.result, &size);
	capture = read_text(text, size, false, NULL, &error);
	assert_non_null(capture);
	got = capture_result(capture);
	assert_null(got->timeline);
	b = (struct run_numbers){
		.totals = got->totals, .ledger = *got->totals.ledger, .unnamed = got->unnamed};
	assert_true(memory_use_of(got->tables, &memory));
	assert_int_equal(memory.total_count, 2);
	assert_memory_equal(memory.totals, totals, sizeof(totals));
	assert_int_equal(memory.row_count, 2);
	assert_memory_equal(memory.rows, rows, sizeof(rows));
	assert_int_equal(memory.pool_count, 2);
	assert_memory_equal(memory.pools, pools, sizeof(pools));
	assert_same_calls(&got->totals.ledger->api, &ledger.api);
	assert_int_equal(got->counters->metric_count, 2);
	assert_string_equal(got->counters->metrics[0].name, "dram__bytes.sum");
	assert_string_equal(got->counters->metrics[0].unit, "byte");
	assert_int_equal(got->counters->rows.count, 2);
	assert_memory_equal(got->counters->rows.list, read, sizeof(read));
	assert_int_equal(got->counters->not_kept, 70);
	places = result_tables_find(got->tables, &stall_places_table);
	assert_int_equal(places->count, 2);
	for (uint32_t i = 0; i < 2; i++) {
		const struct stall_place *place = result_table_row(places, &stall_places_table, i);

		assert_string_equal(place->kernel, "k");
		assert_string_equal(place->reason, "[stall: wait]");
		assert_int_equal(place->offset, stalled[i].offset);
		assert_int_equal(place->samples, stalled[i].samples);
	}
	for (uint32_t i = 0; i < run_number_count; i++) {
		const struct run_number *n = &run_numbers[i];

		assert_int_equal(number_load(&a, n->offset, n->size),
				 n->offset >= offsetof(struct run_numbers, command)
					 ? 0
					 : number_load(&b, n->offset, n->size));
	}
	assert_string_equal(got->totals.command, "x y");
	assert_string_equal(got->totals.shown, "--time 1..");
	assert_string_equal(got->totals.folder, "/home/x");
	assert_string_equal(got->totals.host, "node7");
	assert_string_equal(got->totals.links, "/a///b//");
	assert_string_equal(got->unnamed.unreadable_path, "/x");
	assert_string_equal(got->unnamed.unread_path, "/y.debug");
	assert_string_equal(got->totals.ledger->pipe.first_malformed, "{\"x");
	assert_string_equal(got->totals.ledger->pipe.first_refused, "y");
	assert_string_equal(got->totals.ledger->python.first_file, "/bin/p");
	assert_int_equal(got->totals.ledger->gpu.row_count, 2);
	for (uint32_t i = 0; i < 2; i++) {
		struct gpu_row row = got->totals.ledger->gpu.rows[i], want = ledger.gpu.rows[i];

		assert_int_equal(devices_of_key(got->device_names, row.device)->id, want.device);
		row.device = want.device;
		assert_memory_equal(&row, &want, sizeof(row));
	}
	api_calls_release(&ledger.api);
	capture_free(capture);
	free(text);
	random_end(&r);
}

/* ---- what is no capture ---- */

static void assert_refused(const char *text, size_t size, enum capture_error want)
{
	enum capture_error error;

	assert_null(read_text(text, size, true, NULL, &error));
	assert_int_equal(error, want);
}

/* Packs a message as gzip does. */
static char *pack(const struct protobuf *message, size_t *size)
{
	char *text = NULL;
	FILE *out = open_memstream(&text, size);
	struct gzip *gzip = gzip_new(out);

	assert_int_equal(gzip_write(gzip, message->bytes, message->size), 0);
	assert_int_equal(gzip_finish(gzip), 0);
	gzip_free(gzip);
	fclose(out);
	return text;
}

static void other_files_are_no_captures(void **state)
{
	struct protobuf message = {0};
	size_t size;
	char *text;

	(void)state;
	assert_refused("", 0, CAPTURE_CUT);
	assert_refused("main;work 7\n", 12, CAPTURE_NO_CAPTURE);
	protobuf_text(&message, 1, "a pprof file, say");
	text = pack(&message, &size);
	assert_refused(text, size, CAPTURE_NO_CAPTURE);
	free(text);
	protobuf_release(&message);
}

static void other_versions_are_named(void **state)
{
	struct protobuf message = {0};
	uint32_t place = protobuf_begin(&message, CAPTURE_HEADER);
	size_t size;
	char *text;

	(void)state;
	protobuf_text(&message, HEADER_FORMAT, CAPTURE_FORMAT);
	protobuf_uint(&message, HEADER_VERSION, CAPTURE_VERSION + 1);
	protobuf_end(&message, place);
	protobuf_text(&message, 99, "what nobody knows yet");
	text = pack(&message, &size);
	assert_refused(text, size, CAPTURE_VERSION_UNKNOWN);
	free(text);
	protobuf_release(&message);
}

/* A capture has at most as many clocks as ranks, because tables are sized by clocks. */
static void clocks_of_ranks_are_bounded(void **state)
{
	struct rank_info ranks[] = {{.rank = 1, .clock = 0}, {.rank = 5, .clock = 2}};
	struct random_result r;
	struct prng p = prng_round(10);
	size_t size;
	char *text;

	(void)state;
	random_begin(&p, &r);
	r.made.result.ranks = ranks;
	r.made.result.rank_count = 2;
	text = text_from(&capture_writer, &r.made.result, &size);
	assert_refused(text, size, CAPTURE_DAMAGED);
	free(text);
	random_end(&r);
}

static void a_part_of_a_capture_is_none(void **state)
{
	struct random_result r;
	struct prng p = prng_round(7);
	size_t size;
	char *text;

	(void)state;
	random_begin(&p, &r);
	text = text_from(&capture_writer, &r.made.result, &size);
	for (size_t part = 0; part < size; part += unit_stride())
		assert_refused(text, part, CAPTURE_CUT);
	text = realloc(text, size + 1);
	assert_non_null(text);
	text[size] = 'x';
	assert_refused(text, size + 1, CAPTURE_DAMAGED);
	free(text);
	random_end(&r);
}

static void assert_equal_capture(const struct result *result, const char *whole, size_t size)
{
	size_t again_size;
	char *again = text_from(&capture_writer, result, &again_size);

	assert_int_equal(again_size, size);
	assert_memory_equal(again, whole, size);
	free(again);
}

static void each_flipped_bit_is_noticed(void **state)
{
	struct random_result r;
	struct prng p = prng_round(8);
	enum capture_error error;
	size_t size;
	char *text, *whole;

	(void)state;
	random_begin(&p, &r);
	whole = text_from(&capture_writer, &r.made.result, &size);
	text = malloc(size);
	assert_non_null(text);
	memcpy(text, whole, size);
	for (size_t i = 0; i < size; i += unit_stride()) {
		struct profile_capture *capture;

		text[i] ^= (char)(1 << prng_below(&p, 8));
		capture = read_text(text, size, true, NULL, &error);
		if (capture) /* a bit without meaning, like that of the file system */
			assert_equal_capture(capture_result(capture), whole, size);
		capture_free(capture);
		memcpy(text, whole, size);
	}
	free(text);
	free(whole);
	random_end(&r);
}

#define LATER 48u /* a field that no table has */

/* Fields, rows and counts of a later version are as if they were not there. */
static void tables_of_a_later_version_are_ignored(void **state)
{
	struct prng p = prng_round(4);
	struct protobuf message = {0};
	struct protobuf_reader reader;
	struct protobuf_field field;
	struct random_result r;
	struct profile_capture *capture;
	enum capture_error error;
	size_t size, plain_size;
	unsigned char *plain;
	char *text, *longer;

	(void)state;
	assert_null(capture_table(LATER));
	random_tables(&p, &r);
	text = text_from(&capture_writer, &r.made.result, &size);
	plain = gunzip(text, size, &plain_size);
	reader = (struct protobuf_reader){plain, plain + plain_size, false};
	while (protobuf_next(&reader, &field)) {
		struct protobuf_reader counts = protobuf_inside(&field);
		uint32_t place;

		if (field.number != CAPTURE_END) {
			protobuf_bytes(&message, field.number, field.bytes, field.size);
			continue;
		}
		place = protobuf_begin(&message, LATER);
		protobuf_uint(&message, BLOCK_COUNT, 1);
		protobuf_end(&message, place);
		place = protobuf_begin(&message, CAPTURE_END);
		while (protobuf_next(&counts, &field))
			protobuf_uint(&message, field.number, field.value);
		protobuf_uint(&message, capture_table_number(LATER) + 1, 1);
		protobuf_end(&message, place);
	}
	assert_false(reader.failed);
	longer = pack(&message, &plain_size);
	capture = read_text(longer, plain_size, true, NULL, &error);
	assert_non_null(capture);
	assert_equal_capture(capture_result(capture), text, size);
	capture_free(capture);
	free(longer);
	free(plain);
	free(text);
	protobuf_release(&message);
	random_end(&r);
}

/* Random bytes with a right checksum: numbers that refer to nothing, for example. */
static void random_bytes_do_no_harm(void **state)
{
	struct random_result r;
	struct prng p = prng_round(9);
	size_t size, plain_size, packed_size;
	char *text;
	unsigned char *plain;
	uint32_t refused = 0;

	(void)state;
	random_tables(&p, &r);
	text = text_from(&capture_writer, &r.made.result, &size);
	plain = gunzip(text, size, &plain_size);
	free(text);
	for (uint64_t round = 0; round < unit_rounds(500); round++) {
		struct protobuf message = {plain, (uint32_t)plain_size, 0, false};
		size_t at = prng_below(&p, plain_size);
		unsigned char old = plain[at];
		struct profile_capture *capture;
		enum capture_error error;

		plain[at] = (unsigned char)prng_u64(&p);
		text = pack(&message, &packed_size);
		capture = read_text(text, packed_size, true, NULL, &error);
		refused += !capture;
		if (capture)
			free(text_from(&html_writer, capture_result(capture), &size));
		capture_free(capture);
		free(text);
		plain[at] = old;
	}
	assert_true(refused > 0);
	free(plain);
	random_end(&r);
}

static void memory_is_bounded(void **state)
{
	struct random_result r;
	struct prng p = prng_round(10);
	struct quota memory = {.limit = 2000};
	enum capture_error error;
	size_t size;
	char *text;

	(void)state;
	random_begin(&p, &r);
	text = text_from(&capture_writer, &r.made.result, &size);
	assert_null(read_text(text, size, false, &memory, &error));
	assert_int_equal(error, CAPTURE_TOO_LARGE);
	assert_int_equal(memory.used, 0);
	free(text);
	random_end(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_results_are_read_again),
		cmocka_unit_test(paths_that_are_no_text_are_cleaned),
		cmocka_unit_test(all_numbers_of_a_run_are_in_the_table),
		cmocka_unit_test(numbers_are_read_again),
		cmocka_unit_test(other_files_are_no_captures),
		cmocka_unit_test(other_versions_are_named),
		cmocka_unit_test(clocks_of_ranks_are_bounded),
		cmocka_unit_test(a_part_of_a_capture_is_none),
		cmocka_unit_test(each_flipped_bit_is_noticed),
		cmocka_unit_test(random_bytes_do_no_harm),
		cmocka_unit_test(tables_of_a_later_version_are_ignored),
		cmocka_unit_test(memory_is_bounded),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
