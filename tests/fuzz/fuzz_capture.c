/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as the contents of a capture, or in a small one that is valid. What is accepted is
 * written in several formats, whole and in part. The bytes come unpacked: gzip's checksum would
 * refuse nearly all of them.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "profiler/formats/capture.h"
#include "profiler/formats/gzip.h"
#include "profiler/shape/view.h"
#include "profiler/formats/writer.h"
#include "profiler/tables/comparison.h"

#define VALID_MAX 4096

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void write_all(const struct result *result)
{
	static const struct writer *const written_ones[] = {
		&folded_writer, &svg_writer, &html_writer, &pprof_writer, &capture_writer};
	const struct writer_options options = {.unit_ns = 1e6};

	for (size_t i = 0; i < sizeof(written_ones) / sizeof(written_ones[0]); i++) {
		struct written written;
		char *text = NULL;
		size_t size;
		FILE *out = open_memstream(&text, &size);

		if (!out)
			abort();
		written_ones[i]->write(result, &options, out, &written);
		fclose(out);
		free(text);
	}
}

static void compare(const struct result *result)
{
	const struct comparison_options options = {.shown = SIDE_AFTER};
	const struct result *both[] = {result, result};
	struct comparison *one = comparison_new(both, 1, both, 1, &options);
	struct comparison *two = comparison_new(both, 2, both, 1, &options);

	for (uint32_t i = 0; one && i < one->result.stack_count; i++)
		if (one->changes[i].is_significant)
			abort();
	if (two) {
		struct writer_options with = {.unit_ns = 1, .comparison = two};
		struct written written;
		FILE *out = fopen("/dev/null", "w");

		if (!out || json_difference_writer.write(&two->result, &with, out, &written) != 0 ||
		    svg_writer.write(&two->result, &with, out, &written) != 0)
			abort();
		fclose(out);
	}
	comparison_free(one);
	comparison_free(two);
}

static void view_part(const struct result *result)
{
	struct view_options options = {
		.by = {.parts = {PLACE_PROCESS, PLACE_DEVICE, GROUPING_CLASS, GROUPING_OPERATOR,
				 GROUPING_LAYER_KIND},
		       .count = 5},
		.slice = {.has_time = true, .from_ns = 10, .to_ns = 1u << 30, .time_text = "x"}};
	struct view *view = view_new(result, &options, "/dev/shm", NULL);

	if (view)
		write_all(view_result(view));
	view_free(view);
}

/* A capture of one record of each kind, unpacked. */
static size_t make_valid(uint8_t bytes[VALID_MAX])
{
	static const struct frame_info frames[] = {
		{.class = CLASS_NATIVE, .name = "main", .short_name = "main", .module = "/app"},
		{.class = CLASS_PYTHON,
		 .name = "f (a.py)",
		 .short_name = "f",
		 .file = "/a.py",
		 .line = 3},
		{.class = CLASS_GPU_KERNEL, .name = "[GPU_Kernel]k", .short_name = "k"}};
	static const struct stack_info stacks[] = {
		{UINT32_MAX, UINT32_MAX}, {0, 0}, {1, 1}, {2, 2}};
	static const struct place places[] = {{{1, 2, 0, 1, 7}}, {{1, 3, 0, 1, 8}}};
	static const struct row rows[] = {
		{.kind = ROW_CPU, .stack = 2, .count = 1, .ns = 20},
		{.kind = ROW_GPU, .stack = 3, .place = 1, .count = 1, .ns = 9}};
	struct place_names names = {.processes = NULL};
	struct devices devices = {.list = NULL};
	struct timeline *timeline = timeline_new("/dev/shm", NULL);
	struct ledger ledger = {.cpu.samples = 1};
	struct result result = {.frames = frames,
				.frame_count = 3,
				.stacks = stacks,
				.stack_count = 4,
				.rows = rows,
				.row_count = 2,
				.places = places,
				.place_count = 2,
				.place_names = &names,
				.device_names = &devices,
				.timeline = timeline,
				.record_stack_count = 4,
				.totals = {.ledger = &ledger, .sample_ns = 20}};
	const struct writer_options options = {.unit_ns = 1};
	struct written written;
	struct gunzip *gunzip;
	char *packed = NULL;
	size_t packed_size;
	ssize_t size;
	FILE *stream = open_memstream(&packed, &packed_size);

	if (!timeline || !stream)
		abort();
	for (uint8_t kind = 0; kind < TIMELINE_KINDS; kind++)
		timeline_add(timeline, &(struct timeline_record){.kind = kind,
								 .stack = kind % 4,
								 .start_ns = kind * 100u,
								 .duration_ns = 50});
	timeline_finish(timeline);
	place_names_add_process(&names, &(struct process_info){1, 7, "app 7"});
	place_names_add_thread(&names, &(struct thread_info){1, 2, "app 2"});
	devices_add(&devices, &(struct device){.process = 1, .name = "GPU"});
	result.processes = names.processes;
	result.process_count = names.process_count;
	result.threads = names.threads;
	result.thread_count = names.thread_count;
	result.devices = devices.list;
	result.device_count = devices.count;
	if (capture_writer.write(&result, &options, stream, &written) != 0)
		abort();
	fclose(stream);
	stream = fmemopen(packed, packed_size, "r");
	gunzip = gunzip_new(stream);
	size = gunzip_read(gunzip, bytes, VALID_MAX);
	if (size <= 0 || size == VALID_MAX)
		abort();
	gunzip_free(gunzip);
	fclose(stream);
	free(packed);
	timeline_free(timeline);
	place_names_release(&names);
	devices_release(&devices);
	return (size_t)size;
}

/* Returns whether it was accepted. */
static bool read_and_write(const uint8_t *data, size_t size)
{
	struct quota memory = {.limit = 64 << 20};
	struct profile_capture *capture;
	enum capture_error error;
	char *packed = NULL;
	size_t packed_size;
	bool is_accepted;
	FILE *stream = open_memstream(&packed, &packed_size);
	struct gzip *gzip = stream ? gzip_new(stream) : NULL;

	if (!gzip || gzip_write(gzip, data, size) != 0 || gzip_finish(gzip) != 0)
		abort();
	gzip_free(gzip);
	fclose(stream);
	stream = fmemopen(packed, packed_size, "r");
	capture = capture_read(stream, "/dev/shm", true, &memory, &error);
	if (!capture != (error != CAPTURE_OK))
		abort();
	if (capture) {
		write_all(capture_result(capture));
		view_part(capture_result(capture));
		compare(capture_result(capture));
	}
	is_accepted = capture;
	capture_free(capture);
	if (memory.used != 0)
		abort();
	fclose(stream);
	free(packed);
	return is_accepted;
}

/* After a first byte of 1: pairs of a position and a byte, written into the valid one. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static uint8_t valid[VALID_MAX], changed[VALID_MAX];
	static size_t valid_size;

	if (!valid_size) {
		valid_size = make_valid(valid);
		if (!read_and_write(valid, valid_size))
			abort();
	}
	if (size == 0 || data[0] != 1) {
		read_and_write(data, size);
		return 0;
	}
	memcpy(changed, valid, valid_size);
	for (size_t i = 1; i + 2 < size; i += 3)
		changed[(data[i] | (size_t)data[i + 1] << 8) % valid_size] = data[i + 2];
	read_and_write(changed, valid_size);
	return 0;
}
