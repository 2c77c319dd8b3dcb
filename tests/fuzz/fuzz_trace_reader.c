/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as two traces of one program: read, named and written in several formats, whole and in
 * part. What its rows have is what the ledger counts.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include "profiler/shape/result_naming.h"
#include "profiler/shape/view.h"
#include "profiler/formats/writer.h"
#include "profiler/run/trace_reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void write_all(const struct result *result)
{
	static const struct writer *const written_ones[] = {&folded_writer,   &svg_writer,
							    &html_writer,     &pprof_writer,
							    &perfetto_writer, &capture_writer};
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

static void use(struct trace_reader *reader, struct timeline *timeline)
{
	struct collected collected = collect_results(trace_reader_collect(reader));
	struct totals totals = trace_reader_totals(reader);
	struct result *result;
	uint64_t ns = 0;

	timeline_finish(timeline);
	result = result_new(&collected, &(struct naming_options){.inlines = false}, &totals);
	if (!result)
		return;
	for (uint32_t i = 0; i < result->row_count; i++)
		ns += result->rows[i].kind == ROW_GPU ? result->rows[i].ns : 0;
	for (uint32_t i = 0; i < totals.ledger->gpu.row_count; i++) {
		const struct gpu_row *row = &totals.ledger->gpu.rows[i];

		ns -= gpu_work_is_stall(row->work) ? 0 : row->ns;
	}
	if (ns)
		abort();
	write_all(result);
	view_part(result);
	result_free(result);
}

/* Its beginning is looked at first. */
static bool read_bytes(struct trace_reader *reader, const uint8_t *data, size_t size)
{
	FILE *in = size ? fmemopen((void *)(uintptr_t)data, size, "r") : NULL;
	struct trace_head head = {NULL};
	bool ok =
		in && trace_head_read(&head, in) == 0 && trace_reader_read(reader, in, &head) == 0;

	trace_head_release(&head);
	if (in)
		fclose(in);
	return ok;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct log log = {.level = LOG_ERRORS};
	struct timeline *timeline = timeline_new("/dev/shm", NULL);
	struct trace_reader *reader = trace_reader_new(&log, timeline, 50);

	if (!timeline || !reader)
		abort();
	/* the second half once more */
	if (read_bytes(reader, data, size) + read_bytes(reader, data + size / 2, size - size / 2)) {
		trace_reader_finish(reader);
		use(reader, timeline);
	}
	trace_reader_free(reader);
	timeline_free(timeline);
	return 0;
}
