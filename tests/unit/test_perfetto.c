// SPDX-License-Identifier: MIT
/*
 * Reads the written trace again, field by field. tests/cli/formats.bats has protoc read the trace,
 * and checks all references. test_trace_model.c tests the events.
 */
#include "made_timeline.h"
#include "protobuf_reader.h"
#include "profiler/output/writers.h"

/* The trace, and where one is in it. */
struct trace {
	char *bytes;
	size_t size;
};

static struct trace write_trace(struct made_timeline *m, struct written *written)
{
	struct trace t = {NULL, 0};
	FILE *out = open_memstream(&t.bytes, &t.size);

	assert_non_null(out);
	assert_int_equal(made_write(m, &perfetto_writer, out, written), 0);
	fclose(out);
	return t;
}

/* Finds field number `n` of this number; false: there are fewer. */
static bool find(struct pb message, uint32_t number, int n, struct pb_field *field)
{
	while (pb_next(&message, field))
		if (field->number == number && n-- == 0)
			return true;
	return false;
}

/* Returns the number in this field. Fails if there is none. */
static uint64_t number_in(struct pb message, uint32_t number)
{
	struct pb_field field;

	assert_true(find(message, number, 0, &field));
	assert_false(field.has_bytes);
	return field.value;
}

static bool text_is(struct pb message, uint32_t number, const char *text)
{
	struct pb_field field;

	return find(message, number, 0, &field) && pb_size(field.bytes) == strlen(text) &&
	       memcmp(field.bytes.at, text, strlen(text)) == 0;
}

/* Finds number `n` of the packets with this field. Returns its contents. */
static bool packet_with(const struct trace *t, uint32_t number, int n, struct pb *packet,
			struct pb *contents)
{
	struct pb all = pb_of(t->bytes, t->size);
	struct pb_field field, found;

	while (pb_next(&all, &field)) {
		assert_int_equal(field.number, 1);
		if (find(field.bytes, number, 0, &found) && n-- == 0) {
			*packet = field.bytes;
			*contents = found.bytes;
			return true;
		}
	}
	return false;
}

enum { EVENT = 11, INTERNED = 12, TRACK = 60, SAMPLE = 66 };

static struct pb event(const struct trace *t, int n, struct pb *packet)
{
	struct pb contents;

	assert_true(packet_with(t, EVENT, n, packet, &contents));
	return contents;
}

/* Returns true if this kind's interned text with `iid` is `text`. */
static bool is_interned(const struct trace *t, uint32_t kind, uint64_t iid, const char *text)
{
	struct pb packet, data;
	struct pb_field entry;

	for (int n = 0; packet_with(t, INTERNED, n, &packet, &data); n++)
		for (int k = 0; find(data, kind, k, &entry); k++)
			if (number_in(entry.bytes, 1) == iid)
				return text_is(entry.bytes, 2, text);
	return false;
}

static void the_format_is_known_by_its_name(void **state)
{
	(void)state;
	assert_string_equal(perfetto_writer.name, "perfetto");
	assert_int_equal(perfetto_writer.needs, NEEDS_TIMELINE);
	assert_ptr_equal(writer_for_path("a.perfetto-trace"), &perfetto_writer);
}

static void a_launch_and_its_kernel(void **state)
{
	struct made_timeline m;
	struct written written;
	struct pb launch, kernel, packet;
	struct pb_field note;
	struct trace t;

	(void)state;
	made_timeline_begin(&m);
	made_kernel(&m, "[GPU_Kernel]void short<float>(float*)");
	t = write_trace(&m, &written);
	assert_int_equal(written.items, 2);
	assert_int_equal(written.total[ROW_GPU], 2345);
	/* event 0 is the run, then: launch, queued, its end, kernel, counters, its end */
	launch = event(&t, 1, &packet);
	assert_int_equal(number_in(packet, 8), 2000);
	assert_int_equal(number_in(launch, 9), 1);
	assert_true(is_interned(&t, 2, number_in(launch, 10), "cudaLaunchKernel"));
	assert_int_equal(number_in(launch, 47), 1);
	assert_int_equal(number_in(event(&t, 3, &packet), 9), 2);
	assert_int_equal(number_in(packet, 8), 3500);
	kernel = event(&t, 4, &packet);
	assert_int_equal(number_in(packet, 8), 4001);
	assert_true(is_interned(&t, 2, number_in(kernel, 10), "short"));
	assert_int_equal(number_in(kernel, 48), 1);
	assert_false(find(kernel, 47, 0, &note));
	assert_true(find(kernel, 4, 0, &note));
	assert_true(is_interned(&t, 29, number_in(note.bytes, 17),
				"[GPU_Kernel]void short<float>(float*)"));
	assert_true(find(kernel, 4, 1, &note));
	assert_true(is_interned(&t, 3, number_in(note.bytes, 1), "grid"));
	assert_true(is_interned(&t, 29, number_in(note.bytes, 17), "4, 2, 1"));
	assert_true(find(kernel, 4, 2, &note));
	assert_true(is_interned(&t, 29, number_in(note.bytes, 17), "128, 1, 1"));
	assert_true(number_in(kernel, 11) != number_in(launch, 11));
	for (int n = 0; find(kernel, 4, n, &note); n++) /* nothing is known of the device */
		assert_false(
			is_interned(&t, 3, number_in(note.bytes, 1), "theoretical occupancy %"));
	free(t.bytes);
	made_timeline_end(&m);
}

/* Returns the event's annotation with this name. */
static struct pb note_of(const struct trace *t, struct pb event, const char *name)
{
	struct pb_field note;

	for (int n = 0; find(event, 4, n, &note); n++)
		if (is_interned(t, 3, number_in(note.bytes, 1), name))
			return note.bytes;
	fail_msg("no annotation '%s'", name);
	return event;
}

static double real_in(struct pb message)
{
	struct pb_field field;
	double value;

	assert_true(find(message, 5, 0, &field));
	memcpy(&value, &field.value, sizeof(value));
	return value;
}

static void a_kernel_says_what_its_launch_was(void **state)
{
	const struct gpu_event_device device = {
		.id = 0, .name = "GPU", .limits = {132, 64, 32, 65536, 228u << 10, 9, 0}};
	struct counter_value value = {1, 9, 1, -0.1};
	struct counter_table counters = {.metrics = {{"x", ""}, {"dram__bytes.sum", "byte"}},
					 .metric_count = 2,
					 .values = &value,
					 .value_count = 1};
	struct made_timeline m;
	struct written written;
	struct pb kernel, packet;
	struct pb_field note;
	struct trace t;

	(void)state;
	made_timeline_begin(&m);
	assert_int_equal(devices_describe(&m.made.devices, 1, &device), 0);
	m.made.result.counters = &counters;
	made_kernel_of(&m, "k", 0);
	t = write_trace(&m, &written);
	kernel = event(&t, 4, &packet);
	assert_int_equal(number_in(note_of(&t, kernel, "registers per thread"), 3), 32);
	assert_int_equal(number_in(note_of(&t, kernel, "dynamic shared memory"), 3), 8);
	assert_true(real_in(note_of(&t, kernel, "theoretical occupancy %")) == 100);
	assert_true(real_in(note_of(&t, kernel, "waves per SM")) == 0.003788);
	assert_true(is_interned(&t, 29, number_in(note_of(&t, kernel, "occupancy limited by"), 17),
				"warps, registers"));
	assert_true(real_in(note_of(&t, kernel, "dram__bytes.sum (byte)")) == -0.1);
	for (int n = 0; find(kernel, 4, n, &note); n++)
		assert_false(is_interned(&t, 3, number_in(note.bytes, 1), "x"));
	free(t.bytes);
	made_timeline_end(&m);
}

static void samples_have_stacks_with_files(void **state)
{
	static const char module[] = "/lib/libx.so";
	struct made_timeline m;
	struct written written;
	struct pb packet, data, sample;
	struct pb_field field;
	struct trace t;
	uint32_t stack;

	(void)state;
	made_timeline_begin(&m);
	made_kernel(&m, "k");
	stack = MADE_STACK(&m.made, "main", "work");
	m.made.frames[m.made.stacks[stack].frame].module = module;
	m.made.frames[m.made.stacks[stack].frame].build_id = "00feDC";
	m.made.frames[m.made.stacks[stack].frame].offset = 0x1234;
	for (uint32_t i = 0; i < 2; i++)
		made_record(&m, (struct timeline_record){.kind = TIMELINE_CPU_SAMPLE,
							 .start_ns = 1500 + i,
							 .duration_ns = 20,
							 .place = made_place(&m, 1, 12, NOT, NOT),
							 .stack = {stack}});
	/* an impossible thread id: no perf sample */
	made_record(&m, (struct timeline_record){.kind = TIMELINE_CPU_SAMPLE,
						 .start_ns = 1600,
						 .duration_ns = 20,
						 .place = made_place(&m, 1, 1u << 31, NOT, NOT),
						 .stack = {stack}});
	t = write_trace(&m, &written);
	assert_true(packet_with(&t, SAMPLE, 0, &packet, &sample));
	assert_int_equal(number_in(packet, 8), 1500);
	assert_int_equal(number_in(sample, 2), 4711);
	assert_int_equal(number_in(sample, 3), 12);
	assert_true(find(packet, INTERNED, 0, &field));
	data = field.bytes;
	assert_true(find(data, 7, 0, &field));
	assert_int_equal(number_in(field.bytes, 1), number_in(sample, 4));
	assert_true(find(data, 16, 0, &field));
	assert_true(text_is(field.bytes, 2, "") == false);
	assert_true(find(field.bytes, 2, 0, &field));
	assert_memory_equal(field.bytes.at, "\0\xfe\xdc", 3);
	assert_true(find(data, 17, 0, &field));
	assert_true(text_is(field.bytes, 2, "lib/libx.so"));
	assert_true(packet_with(&t, SAMPLE, 1, &packet, &sample));
	assert_false(find(packet, INTERNED, 0, &field)); /* known by now */
	assert_false(packet_with(&t, SAMPLE, 2, &packet, &sample));
	assert_true(text_is(event(&t, 1, &packet), 23, "CPU sample"));
	free(t.bytes);
	made_timeline_end(&m);
}

static void hostile_names(void **state)
{
	enum { SIZE = 1 << 20 };
	char *huge = malloc(SIZE + 1);
	struct made_timeline m;
	struct written written;
	struct pb packet, track;
	bool has_track = false;
	struct pb_field note;
	struct trace t;

	(void)state;
	assert_non_null(huge);
	memset(huge, '\xe2', SIZE);
	huge[SIZE] = '\0';
	made_timeline_begin(&m);
	place_names_add_process(&m.made.place_names,
				&(struct process_info){.id = 2, .pid = 6, .name = "\xff\"\n 6"});
	made_kernel(&m, huge);
	m.made.frames[2].short_name = "\xe2\x80\xa8\xff";
	m.made.frames[2].build_id = "xyz"; /* is not one */
	m.made.frames[2].module = "/a\xff";
	made_record(&m, (struct timeline_record){.kind = TIMELINE_LAUNCH,
						 .place = made_place(&m, 2, 6, NOT, NOT)});
	t = write_trace(&m, &written);
	memset(huge, '?', SIZE);
	/* the run and a launch precede */
	assert_true(is_interned(&t, 2, number_in(event(&t, 2, &packet), 10), "\xe2\x80\xa8?"));
	assert_true(find(event(&t, 5, &packet), 4, 0, &note));
	assert_true(is_interned(&t, 29, number_in(note.bytes, 17), huge));
	for (int n = 0; packet_with(&t, TRACK, n, &packet, &track); n++)
		has_track |= text_is(track, 2, "?\"\n");
	assert_true(has_track);
	free(t.bytes);
	made_timeline_end(&m);
	free(huge);
}

static void an_empty_run(void **state)
{
	struct made_timeline m;
	struct written written;
	struct pb packet, contents;
	struct trace t;

	(void)state;
	made_timeline_begin(&m);
	m.made.result.totals = (struct totals){0};
	t = write_trace(&m, &written);
	assert_true(packet_with(&t, EVENT, 0, &packet, &contents));
	assert_false(packet_with(&t, EVENT, 1, &packet, &contents));
	assert_int_equal(written.items, 0);
	free(t.bytes);
	made_timeline_end(&m);
}

static void a_full_disk_is_an_error(void **state)
{
	FILE *full = fopen("/dev/full", "w");
	struct made_timeline m;
	struct written written;

	(void)state;
	if (!full)
		SKIP("no /dev/full here");
	setvbuf(full, NULL, _IONBF, 0);
	made_timeline_begin(&m);
	made_kernel(&m, "k");
	assert_int_equal(made_write(&m, &perfetto_writer, full, &written), -EIO);
	made_timeline_end(&m);
	fclose(full);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_format_is_known_by_its_name),
		cmocka_unit_test(a_launch_and_its_kernel),
		cmocka_unit_test(a_kernel_says_what_its_launch_was),
		cmocka_unit_test(samples_have_stacks_with_files),
		cmocka_unit_test(hostile_names),
		cmocka_unit_test(an_empty_run),
		cmocka_unit_test(a_full_disk_is_an_error),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
