// SPDX-License-Identifier: MIT
#include "profiler/formats/capture.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "profiler/base/version.h"
#include "profiler/formats/capture_format.h"
#include "profiler/formats/gzip.h"
#include "profiler/formats/protobuf.h"
#include "profiler/shape/module_table.h"
#include "profiler/formats/writer.h"
#include "symbolize/util/number.h"
#include "symbolize/util/record_set.h"

struct writing {
	const struct result *result;
	struct gzip *gzip;
	struct protobuf message;
	int error; /* the first -errno */

	RECORD_SET(const char *) texts; /* already written: text N + 1 */
	struct module_table modules;    /* module N + 1 */

	/* block being filled */
	uint32_t table, count;
	_Alignas(uint64_t) unsigned char block[CAPTURE_BLOCK * CAPTURE_STRUCT_MAX];
	uint64_t counts[CAPTURE_TABLES];
};

static void fail(struct writing *w, int err)
{
	if (!w->error)
		w->error = err;
}

/* Writes the fields in the message, and clears it. */
static void put_message(struct writing *w)
{
	int err = w->message.failed ? -ENOMEM : 0;

	if (!err && !w->error)
		err = gzip_write(w->gzip, w->message.bytes, w->message.size);
	if (err)
		fail(w, err);
	protobuf_clear(&w->message);
}

/* ---- texts ---- */

/*
 * Returns the number of a text, written if it is new, or 0 for NULL. Texts with different
 * addresses get different numbers.
 */
static uint32_t text_number(struct writing *w, const char *text)
{
	uint32_t known = w->texts.count, at;
	size_t size;

	if (!text)
		return 0;
	at = record_get(&w->texts, &text, &text);
	if (at == RECORD_NONE) {
		fail(w, -ENOMEM);
		return 0;
	}
	if (at == known) {
		size = strnlen(text, CAPTURE_MESSAGE_MAX);
		protobuf_bytes(&w->message, CAPTURE_STRING, text, (uint32_t)size);
		put_message(w);
	}
	return at + 1;
}

/* ---- tables ---- */

static uint64_t zigzag(uint64_t difference)
{
	return difference << 1 ^ -(difference >> 63);
}

static void put_column(struct writing *w, const struct table_column *c, size_t size)
{
	uint64_t last = 0;

	for (uint32_t i = 0; i < w->count; i++) {
		uint64_t value = number_load(w->block + i * size, c->offset, c->size);

		protobuf_packed(&w->message, c->is_delta ? zigzag(value - last) : value);
		last = value;
	}
}

/* Returns whether a column is all 0, and so left out. */
static bool is_empty(const struct writing *w, const struct table_column *c, size_t size)
{
	for (uint32_t i = 0; i < w->count; i++)
		if (number_load(w->block + i * size, c->offset, c->size))
			return false;
	return true;
}

static void end_block(struct writing *w)
{
	const struct table_kind *table = capture_table(w->table);
	uint32_t place;

	if (w->count == 0)
		return;
	place = protobuf_begin(&w->message, w->table);
	protobuf_uint(&w->message, BLOCK_COUNT, w->count);
	for (uint32_t i = 0; i < table->column_count; i++) {
		uint32_t column;

		if (is_empty(w, &table->columns[i], table->row_size))
			continue;
		column = protobuf_begin(&w->message, BLOCK_FIRST_COLUMN + i);
		put_column(w, &table->columns[i], table->row_size);
		protobuf_end(&w->message, column);
	}
	protobuf_end(&w->message, place);
	put_message(w);
	w->count = 0;
}

/* Adds a struct to a table. Structs of one table must come together. */
static void put(struct writing *w, uint32_t field, const void *item)
{
	size_t size = capture_table(field)->row_size;

	if (w->table != field || w->count == CAPTURE_BLOCK)
		end_block(w);
	w->table = field;
	memcpy(w->block + w->count++ * size, item, size);
	w->counts[capture_table_number(field)]++;
}

/* Adds the rows of a table, with numbers in place of texts. */
static void put_rows(struct writing *w, uint32_t field, const void *rows, uint32_t count)
{
	const struct table_kind *kind = capture_table(field);
	_Alignas(uint64_t) unsigned char row[TABLE_ROW_MAX];

	for (uint32_t i = 0; i < count && !w->error; i++) {
		memcpy(row, (const char *)rows + (size_t)i * kind->row_size, kind->row_size);
		for (uint32_t c = 0; c < kind->column_count; c++) {
			const struct table_column *column = &kind->columns[c];

			if (table_is_text(column))
				number_store(row, column->offset, column->size,
					     text_number(w, table_text(column, row)));
		}
		put(w, field, row);
	}
}

/* ---- modules and frames ---- */

static void put_modules(struct writing *w)
{
	int err = module_table_init(&w->modules, w->result);

	if (err)
		fail(w, err);
	put_rows(w, CAPTURE_MODULES, w->modules.modules.list, w->modules.modules.count);
}

static void put_frames(struct writing *w)
{
	const struct result *r = w->result;

	for (uint32_t i = 0; i < r->frame_count && !w->error; i++) {
		const struct frame_info *f = &r->frames[i];
		struct capture_frame frame = {.class = f->class,
					      .line = f->line,
					      .module = w->modules.of_frame[i] + 1, /* 0: none */
					      .name = f->name,
					      .short_name = f->short_name,
					      .file = f->file,
					      .source = f->source,
					      .offset = f->offset};

		put_rows(w, CAPTURE_FRAMES, &frame, 1);
	}
}

/* ---- places ---- */

static void put_devices(struct writing *w)
{
	const struct result *r = w->result;

	for (uint32_t i = 0; i < r->device_count && !w->error; i++) {
		const struct device *d = &r->devices[i];
		struct capture_device device = {.process = d->process,
						.id = d->id,
						.is_used = d->is_used,
						.is_described = d->is_described,
						.is_mig = d->is_mig,
						.is_mps = d->is_mps,
						.gpu_instance = d->gpu_instance,
						.compute_instance = d->compute_instance,
						.name = d->name,
						.limits = d->limits};

		memcpy(device.uuid, d->uuid, sizeof(device.uuid));
		put_rows(w, CAPTURE_DEVICES, &device, 1);
	}
}

static void put_gpu_rows(struct writing *w, const struct ledger_gpu *gpu)
{
	for (uint32_t i = 0; i < gpu->row_count && !w->error; i++) {
		const struct device *device =
			devices_of_key(w->result->device_names, gpu->rows[i].device);
		struct capture_gpu_row row = {.row = gpu->rows[i]};

		row.row.device = device ? device->id : DEVICES_NO_KEY;
		row.process = device ? device->process : 0;
		put(w, CAPTURE_GPU_ROWS, &row);
	}
}

/* ---- calls ---- */

static void put_calls(struct writing *w, const struct api_calls *calls)
{
	for (uint32_t i = 0; i < calls->count; i++)
		put_rows(w, CAPTURE_API_CALLS, calls->list[i], 1);
	for (uint32_t i = 0; i < calls->count; i++)
		for (uint32_t e = 0; e < API_CALL_ERRORS && !w->error; e++)
			if (calls->list[i]->errors[e].count)
				put(w, CAPTURE_API_ERRORS,
				    &(struct capture_api_error){i, calls->list[i]->errors[e].code,
								calls->list[i]->errors[e].count});
	for (uint32_t i = 0; i < calls->count; i++)
		for (uint32_t b = 0; b < GPU_CALL_BUCKETS && !w->error; b++)
			if (calls->list[i]->buckets[b])
				put(w, CAPTURE_API_BUCKETS,
				    &(struct capture_api_bucket){i, b, calls->list[i]->buckets[b]});
}

/* ---- tables of add-ons ---- */

static void put_result_table(struct writing *w, const struct table_kind *kind)
{
	const struct result_table *table = result_tables_find(w->result->tables, kind);

	if (table)
		put_rows(w, kind->field, table->rows, table->count);
}

/* ---- the timeline ---- */

static void put_timeline(struct writing *w)
{
	const struct timeline *timeline = w->result->timeline;
	struct timeline_reader *reader = timeline ? timeline_reader_new(timeline) : NULL;
	const struct timeline_shape *shape;
	const struct timeline_record *record;
	int got = 0;

	if (timeline && !reader)
		fail(w, -ENOMEM);
	for (uint32_t i = 1; timeline && (shape = timeline_shape(timeline, i)); i++)
		put(w, CAPTURE_SHAPES, shape);
	while (!w->error && reader && (got = timeline_reader_next(reader, &record)) > 0) {
		struct timeline_record r = *record;

		r.stack.number = result_record_stack(w->result, record);
		put(w, CAPTURE_RECORDS, &r);
	}
	if (got < 0)
		fail(w, got);
	timeline_reader_free(reader);
}

/* ---- all of it ---- */

static void put_header(struct writing *w)
{
	uint32_t place = protobuf_begin(&w->message, CAPTURE_HEADER);

	protobuf_text(&w->message, HEADER_FORMAT, CAPTURE_FORMAT);
	protobuf_uint(&w->message, HEADER_VERSION, CAPTURE_VERSION);
	protobuf_text(&w->message, HEADER_PRODUCER, PROFILE_VERSION);
	protobuf_end(&w->message, place);
	put_message(w);
}

static void put_numbers(struct writing *w)
{
	const struct result *r = w->result;
	struct run_numbers numbers = {.totals = r->totals, .unnamed = r->unnamed};
	uint32_t place;

	numbers.counters_not_kept = r->counters ? r->counters->not_kept : 0;
	if (r->totals.ledger)
		numbers.ledger = *r->totals.ledger;
	for (uint32_t i = 0; i < run_text_count; i++) {
		const struct run_text *t = &run_texts[i];
		char *at = (char *)&numbers + t->text;

		if (!t->size || r->totals.ledger)
			number_store(&numbers, t->number, sizeof(uint32_t),
				     text_number(w, t->size ? at : *(const char **)at));
	}
	place = protobuf_begin(&w->message, CAPTURE_NUMBERS);
	for (uint32_t i = 0; i < run_number_count; i++) {
		const struct run_number *n = &run_numbers[i];
		uint64_t value = number_load(&numbers, n->offset, n->size);

		if (value)
			protobuf_uint(&w->message, i + 1, value);
	}
	protobuf_end(&w->message, place);
	put_message(w);
}

static void put_end(struct writing *w)
{
	uint32_t place;

	end_block(w);
	place = protobuf_begin(&w->message, CAPTURE_END);
	for (uint32_t field = CAPTURE_FIRST_TABLE; field < CAPTURE_FIELDS; field++)
		if (capture_table(field))
			protobuf_uint(&w->message, capture_table_number(field) + 1,
				      w->counts[capture_table_number(field)]);
	protobuf_end(&w->message, place);
	put_message(w);
}

static void put_capture(struct writing *w)
{
	const struct result *r = w->result;
	const struct ledger *ledger = r->totals.ledger;

	put_header(w);
	put_numbers(w);
	put_modules(w);
	put_frames(w);
	if (r->stack_count > 1) /* the root is always there */
		put_rows(w, CAPTURE_STACKS, r->stacks + 1, r->stack_count - 1);
	put_rows(w, CAPTURE_PLACES, r->places, r->place_count);
	put_rows(w, CAPTURE_PROCESSES, r->processes, r->process_count);
	put_rows(w, CAPTURE_THREADS, r->threads, r->thread_count);
	put_devices(w);
	put_rows(w, CAPTURE_RANKS, r->ranks, r->rank_count);
	put_rows(w, CAPTURE_ROWS, r->rows, r->row_count);
	if (ledger)
		put_gpu_rows(w, &ledger->gpu);
	put_timeline(w);
	if (ledger)
		put_calls(w, &ledger->api);
	if (r->counters) {
		put_rows(w, CAPTURE_COUNTER_METRICS, r->counters->metrics,
			 r->counters->metric_count);
		put_rows(w, CAPTURE_COUNTER_ROWS, r->counters->rows.list, r->counters->rows.count);
		put_rows(w, CAPTURE_COUNTER_VALUES, r->counters->values, r->counters->value_count);
	}
	for (uint32_t i = 0; i < table_kind_count; i++)
		put_result_table(w, table_kinds[i]);
	put_end(w);
}

static int write_capture(const struct result *result, const struct writer_options *options,
			 FILE *out, struct written *written)
{
	struct writing *w = calloc(1, sizeof(*w));
	int err;

	(void)options;
	*written = written_in_ns(result);
	written->items = result->timeline ? timeline_stats(result->timeline).records : 0;
	if (!w)
		return -ENOMEM;
	w->result = result;
	w->table = CAPTURE_FIRST_TABLE;
	w->gzip = gzip_new(out);
	if (w->gzip)
		put_capture(w);
	else
		fail(w, -ENOMEM);
	if (!w->error)
		fail(w, gzip_finish(w->gzip));
	gzip_free(w->gzip);
	protobuf_release(&w->message);
	record_set_release(&w->texts.set);
	module_table_release(&w->modules);
	err = w->error;
	free(w);
	return err;
}

const struct writer capture_writer = {.name = "profile",
				      .suffix = ".profile",
				      .item = "event",
				      .keeps_all = true,
				      .needs = NEEDS_TIMELINE,
				      .write = write_capture};
