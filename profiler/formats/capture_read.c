// SPDX-License-Identifier: MIT
#include "profiler/formats/capture.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "profiler/formats/capture_format.h"
#include "profiler/formats/gzip.h"
#include "profiler/formats/protobuf.h"
#include "profiler/model/clock_fit.h"
#include "profiler/model/work_names.h"
#include "symbolize/util/array.h"
#include "symbolize/util/number.h"
#include "symbolize/util/text.h"

#define DEPTH_MAX 65536u /* frames in a stack */
#define DEPTHS_MAX \
	(UINT64_C(1) << 29) /* sum over all rows: some formats write out the stack of each row */

struct profile_capture {
	struct result result; /* returned to the caller */
	struct quota memory;
	struct run_numbers numbers;
	/* arrays: none of these sets has an index */
	RECORD_SET(char *) texts; /* text N + 1 */
	RECORD_SET(struct module_entry) modules;
	RECORD_SET(struct frame_info) frames;
	RECORD_SET(struct stack_info) stacks;
	RECORD_SET(struct place) places;
	RECORD_SET(struct row) rows;
	RECORD_SET(struct gpu_row) gpu_rows;
	RECORD_SET(struct rank_info) ranks;
	RECORD_SET(uint16_t) depths; /* by stack */
	struct counter_table counters;
	struct result_tables tables;
	uint64_t row_depths; /* sum */
	struct place_names place_names;
	struct devices devices;
	const char *folder;        /* for the timeline; NULL: do not keep one */
	struct timeline *timeline; /* NULL: not kept */
	uint32_t shape_count;
	uint64_t counts[CAPTURE_TABLES]; /* rows read */
	struct ledger_total sum;         /* total of the rows */

	struct gunzip *gunzip;
	unsigned char *message;
	_Alignas(uint64_t) unsigned char block[CAPTURE_BLOCK * CAPTURE_STRUCT_MAX];
	uint32_t message_capacity;
	bool has_header, has_numbers, has_end;
	enum capture_error error; /* the first one */
};

static void fail(struct profile_capture *c, enum capture_error error)
{
	if (!c->error)
		c->error = error;
}

/* Takes from the quota. Returns false if the quota is exceeded. */
static bool take(struct profile_capture *c, size_t bytes)
{
	if (quota_take(&c->memory, bytes))
		return true;
	fail(c, CAPTURE_TOO_LARGE);
	return false;
}

/* Appends an item to an array. Returns false with the error set. */
static bool add(struct profile_capture *c, struct record_set *array, const void *item, size_t size)
{
	if (!take(c, size))
		return false;
	if (!array_make_room(&array->records, array->count, &array->capacity, size)) {
		fail(c, CAPTURE_NO_MEMORY);
		return false;
	}
	memcpy((char *)array->records + array->count++ * size, item, size);
	return true;
}

/* ---- texts ---- */

/* Adds a text, in which control characters are replaced as in a run. */
static void add_text(struct profile_capture *c, const struct protobuf_field *field)
{
	char *text;

	if (!take(c, field->size + INTERN_ENTRY_BYTES - sizeof(text)))
		return;
	text = strndup((const char *)field->bytes, field->size);
	if (!text) {
		fail(c, CAPTURE_NO_MEMORY);
		return;
	}
	if (strlen(text) != field->size)
		fail(c, CAPTURE_DAMAGED);
	clean_text(text);
	if (!add(c, &c->texts.set, &text, sizeof(text)))
		free(text);
}

/* Returns a text by its number, or NULL if the number is 0. */
static const char *text_of(struct profile_capture *c, uint64_t number)
{
	if (number > c->texts.count)
		fail(c, CAPTURE_DAMAGED);
	return number == 0 || number > c->texts.count ? NULL : c->texts.list[number - 1];
}

/* ---- rows of the tables ---- */

static void add_module(struct profile_capture *c, const void *row)
{
	add(c, &c->modules.set, row, sizeof(*c->modules.list));
}

static void add_frame(struct profile_capture *c, const void *row)
{
	const struct capture_frame *f = row;
	struct frame_info frame = {.class = (enum frame_class)f->class,
				   .line = f->line,
				   .name = f->name,
				   .short_name = f->short_name,
				   .file = f->file,
				   .source = f->source,
				   .offset = f->offset};

	/* writers skip this prefix without checking it */
	if (f->module > c->modules.count ||
	    (f->class == CLASS_GPU_KERNEL &&
	     !starts_with(frame.name, work_frame(GPU_WORK_KERNEL)))) {
		fail(c, CAPTURE_DAMAGED);
		return;
	}
	frame_info_pseudo(&frame);
	if (f->module) {
		frame.module = c->modules.list[f->module - 1].path;
		frame.build_id = c->modules.list[f->module - 1].build_id;
	}
	add(c, &c->frames.set, &frame, sizeof(frame));
}

static void add_stack(struct profile_capture *c, const void *row)
{
	const struct stack_info *stack = row;
	uint32_t at = c->stacks.count;
	uint16_t depth;

	if (at > 0 && (stack->outer >= at || stack->frame >= c->frames.count)) {
		fail(c, CAPTURE_DAMAGED);
		return;
	}
	if (at > 0 && c->depths.list[stack->outer] + 1u >= DEPTH_MAX) {
		fail(c, CAPTURE_TOO_LARGE);
		return;
	}
	depth = at > 0 ? (uint16_t)(c->depths.list[stack->outer] + 1) : 0;
	if (add(c, &c->depths.set, &depth, sizeof(depth)))
		add(c, &c->stacks.set, stack, sizeof(*stack));
}

static void add_place(struct profile_capture *c, const void *row)
{
	add(c, &c->places.set, row, sizeof(*c->places.list));
}

static void add_process(struct profile_capture *c, const void *row)
{
	const struct process_info *p = row;

	if (place_names_process(&c->place_names, p->id) || p->pid < 0)
		fail(c, CAPTURE_DAMAGED);
	else
		place_names_add_process(&c->place_names, p);
}

static void add_rank(struct profile_capture *c, const void *row)
{
	struct rank_info rank;

	memcpy(&rank, row, sizeof(rank));
	if (rank.rank > JOB_RANK_MAX ||
	    (c->ranks.count && c->ranks.list[c->ranks.count - 1].rank >= rank.rank)) {
		fail(c, CAPTURE_DAMAGED);
		return;
	}
	if (!rank.alignment.collectives)
		rank.alignment.reference = rank.clock;
	add(c, &c->ranks.set, &rank, sizeof(rank));
}

static void add_thread(struct profile_capture *c, const void *row)
{
	const struct thread_info *t = row;

	if (place_names_thread(&c->place_names, t->process, t->tid))
		fail(c, CAPTURE_DAMAGED);
	else
		place_names_add_thread(&c->place_names, t);
}

static void add_device(struct profile_capture *c, const void *row)
{
	const struct capture_device *d = row;
	struct device device = {.process = d->process,
				.id = d->id,
				.is_used = d->is_used,
				.is_described = d->is_described,
				.is_mig = d->is_mig,
				.is_mps = d->is_mps,
				.gpu_instance = d->gpu_instance,
				.compute_instance = d->compute_instance,
				.limits = d->limits};
	int err;

	snprintf(device.name, sizeof(device.name), "%s", d->name);
	memcpy(device.uuid, d->uuid, sizeof(device.uuid));
	err = devices_add(&c->devices, &device);
	if (err)
		fail(c, err == -ENOMEM ? CAPTURE_NO_MEMORY : CAPTURE_DAMAGED);
}

static void add_row(struct profile_capture *c, const void *item)
{
	const struct row *row = item;

	if (row->place >= c->places.count ||
	    !ledger_total_add(&c->sum, row->count, row->ns, row->bytes))
		fail(c, CAPTURE_DAMAGED);
	else
		add(c, &c->rows.set, row, sizeof(*row));
}

static void add_gpu_row(struct profile_capture *c, const void *item)
{
	const struct capture_gpu_row *row = item;
	struct gpu_row added = row->row;

	added.device = devices_key(&c->devices, row->process, row->row.device);
	add(c, &c->gpu_rows.set, &added, sizeof(added));
}

static void add_shape(struct profile_capture *c, const void *shape)
{
	if (c->timeline && timeline_number_shape(c->timeline, shape) != ++c->shape_count)
		fail(c, CAPTURE_DAMAGED);
}

static void add_record(struct profile_capture *c, const void *row)
{
	const struct timeline_record *record = row;

	if (record->stack.number >= c->stacks.count || record->place.number >= c->places.count ||
	    record->start_ns > LEDGER_TOTAL_MAX || record->duration_ns > LEDGER_TOTAL_MAX ||
	    (c->timeline && record->shape > c->shape_count))
		fail(c, CAPTURE_DAMAGED);
	else if (c->timeline)
		timeline_add(c->timeline, record); /* counts what it loses */
}

/* Returns the name itself, for api_calls_get: the capture owns it. */
static const char *keep_name(void *context, const char *name)
{
	(void)context;
	return name;
}

static void add_api_call(struct profile_capture *c, const void *row)
{
	const struct api_call *call = row; /* its first CAPTURE_CALL_BYTES */
	struct api_calls *calls = &c->numbers.ledger.api;
	const struct gpu_event_calls event = {
		.function = call->name, .family = call->family, .kind = call->kind};
	uint32_t before = calls->count;
	struct api_call *added;

	if (call->family < GPU_LAUNCH_RUNTIME || call->family > GPU_LAUNCH_DRIVER ||
	    strlen(call->name) >= GPU_CALL_NAME_BYTES) {
		fail(c, CAPTURE_DAMAGED);
		return;
	}
	added = api_calls_get(calls, &event, &c->memory, keep_name, NULL);
	if (added && calls->count > before)
		memcpy(added, call, CAPTURE_CALL_BYTES);
	else
		fail(c, added ? CAPTURE_DAMAGED : CAPTURE_TOO_LARGE);
}

/* Adds errors or durations to a call that was read before. */
static void add_to_call(struct profile_capture *c, uint32_t call, const struct gpu_event_calls *e)
{
	if (call >= c->numbers.ledger.api.count)
		fail(c, CAPTURE_DAMAGED);
	else
		api_call_add(c->numbers.ledger.api.list[call], e);
}

static void add_api_error(struct profile_capture *c, const void *row)
{
	const struct capture_api_error *error = row;
	const struct gpu_call_error one = {error->code, error->count};

	add_to_call(c, error->call, &(struct gpu_event_calls){.error_count = 1, .errors = &one});
}

static void add_api_bucket(struct profile_capture *c, const void *row)
{
	const struct capture_api_bucket *bucket = row;
	const struct gpu_call_bucket one = {bucket->bucket, bucket->count};

	add_to_call(c, bucket->call, &(struct gpu_event_calls){.bucket_count = 1, .buckets = &one});
}

static void add_counter_metric(struct profile_capture *c, const void *row)
{
	const struct counter_metric *m = row;
	uint32_t before = c->counters.metric_count;

	counters_metric(&c->counters, m->name, m->unit);
	if (c->counters.metric_count == before)
		fail(c, CAPTURE_DAMAGED);
}

static void add_counter_row(struct profile_capture *c, const void *item)
{
	const struct counter_row *row = item;

	if (row->stack >= c->stacks.count || row->metric >= c->counters.metric_count)
		fail(c, CAPTURE_DAMAGED);
	else
		add(c, &c->counters.rows.set, row, sizeof(*row));
}

static void add_counter_value(struct profile_capture *c, const void *row)
{
	const struct counter_value *value = row;

	if (value->metric >= c->counters.metric_count)
		fail(c, CAPTURE_DAMAGED);
	else if (c->counters.value_count == COUNTERS_VALUES_MAX)
		fail(c, CAPTURE_TOO_LARGE);
	else if (c->timeline && take(c, sizeof(*value))) {
		if (counters_make_room(&c->counters, 1))
			counters_add_value(&c->counters, value);
		else
			fail(c, CAPTURE_NO_MEMORY);
	}
}

/* ---- tables of add-ons ---- */

static bool is_referred_to(const struct table_kind *kind)
{
	for (uint32_t i = 0; i < table_kind_count; i++)
		for (uint32_t c = 0; c < table_kinds[i]->column_count; c++)
			if (table_kinds[i]->columns[c].rows_of == kind)
				return true;
	return false;
}

/* Returns whether a cell may have its number, which for a text is that of the text. */
static bool is_cell(const struct profile_capture *c, const struct table_kind *kind,
		    const struct table_column *column, const void *row)
{
	uint64_t value = table_cell(column, row);

	if ((column->below && value >= column->below) || (column->is_positive && !value))
		return false;
	switch ((enum table_cell)column->cell) {
	case CELL_REAL:
		return isfinite(table_real(column, row));
	case CELL_TEXT:
	case CELL_KERNEL: /* texts of add-ons are never NULL */
		return value <= c->texts.count && (value || kind->field < RESULT_TABLES_FIRST);
	case CELL_STACK:
		return value < c->stacks.count;
	case CELL_ROW:
		return value < c->tables.list[column->rows_of->field - RESULT_TABLES_FIRST].count;
	default:
		return !column->is_positive || value <= LEDGER_TOTAL_MAX;
	}
}

static void count_depth(struct profile_capture *c, uint32_t stack)
{
	c->row_depths += c->depths.list[stack];
	if (c->row_depths > DEPTHS_MAX)
		fail(c, CAPTURE_TOO_LARGE);
}

/* Checks the cells of a row, and replaces numbers of texts by pointers. */
static void read_cells(struct profile_capture *c, const struct table_kind *kind, void *row)
{
	for (uint32_t i = 0; i < kind->column_count && !c->error; i++) {
		const struct table_column *column = &kind->columns[i];
		uint64_t value = table_cell(column, row);

		if (!is_cell(c, kind, column, row))
			fail(c, CAPTURE_DAMAGED);
		else if (table_is_text(column))
			number_store(row, column->offset, column->size,
				     (uintptr_t)text_of(c, value));
		else if (column->cell == CELL_STACK)
			count_depth(c, (uint32_t)value);
	}
}

static void add_table_row(struct profile_capture *c, const struct table_kind *kind, void *row)
{
	struct result_table *table = result_tables_at(&c->tables, kind);
	uint32_t count = table->count;

	if (!result_table_sum(table, kind, row))
		fail(c, CAPTURE_DAMAGED);
	if (c->error || (kind->is_for_timeline && !c->timeline))
		return;
	switch (result_tables_add(&c->tables, kind, row, NULL)) {
	case TABLE_OK:
		/* numbers of rows are right only if each row is kept */
		if (table->count == count && is_referred_to(kind))
			fail(c, CAPTURE_DAMAGED);
		break;
	case TABLE_NO_MEMORY:
		fail(c, CAPTURE_NO_MEMORY);
		break;
	default:
		fail(c, CAPTURE_TOO_LARGE);
	}
}

static void read_row(struct profile_capture *c, const struct table_kind *kind, uint32_t field,
		     void *row)
{
	static void (*const adders[CAPTURE_FIELDS])(struct profile_capture * c, const void *row) = {
		[CAPTURE_MODULES] = add_module,
		[CAPTURE_FRAMES] = add_frame,
		[CAPTURE_STACKS] = add_stack,
		[CAPTURE_PLACES] = add_place,
		[CAPTURE_PROCESSES] = add_process,
		[CAPTURE_THREADS] = add_thread,
		[CAPTURE_DEVICES] = add_device,
		[CAPTURE_ROWS] = add_row,
		[CAPTURE_GPU_ROWS] = add_gpu_row,
		[CAPTURE_SHAPES] = add_shape,
		[CAPTURE_RECORDS] = add_record,
		[CAPTURE_API_CALLS] = add_api_call,
		[CAPTURE_API_ERRORS] = add_api_error,
		[CAPTURE_API_BUCKETS] = add_api_bucket,
		[CAPTURE_COUNTER_METRICS] = add_counter_metric,
		[CAPTURE_COUNTER_ROWS] = add_counter_row,
		[CAPTURE_RANKS] = add_rank,
		[CAPTURE_COUNTER_VALUES] = add_counter_value,
	};

	read_cells(c, kind, row);
	if (c->error)
		return;
	if (adders[field])
		adders[field](c, row);
	else
		add_table_row(c, kind, row);
}

/* ---- blocks ---- */

static bool read_column(struct protobuf_reader *values, const struct table_column *column,
			unsigned char *structs, uint32_t count, size_t size)
{
	uint64_t value, last = 0;
	uint32_t i = 0;

	for (; i < count && protobuf_next_packed(values, &value); i++) {
		if (column->is_delta)
			value = last + (value >> 1 ^ -(value & 1));
		last = value;
		if (!number_store(structs + i * size, column->offset, column->size, value))
			return false;
	}
	return i == count && values->at == values->end;
}

static void read_block(struct profile_capture *c, const struct protobuf_field *block)
{
	unsigned char *structs = c->block;
	const struct table_kind *table = capture_table(block->number);
	struct protobuf_reader r = protobuf_inside(block);
	struct protobuf_field field;
	uint32_t count = 0;

	if (!table)
		return; /* from a later version */
	while (protobuf_next(&r, &field) && !c->error) {
		struct protobuf_reader values;
		uint32_t column = field.number - BLOCK_FIRST_COLUMN;

		if (field.number == BLOCK_COUNT && !field.bytes && field.value <= CAPTURE_BLOCK &&
		    count == 0) {
			count = (uint32_t)field.value;
			memset(structs, 0, count * table->row_size);
		} else if (field.number >= BLOCK_FIRST_COLUMN && field.bytes && count > 0) {
			if (column >= table->column_count)
				continue; /* from a later version */
			values = protobuf_inside(&field);
			if (!read_column(&values, &table->columns[column], structs, count,
					 table->row_size))
				fail(c, CAPTURE_DAMAGED);
		} else {
			fail(c, CAPTURE_DAMAGED);
		}
	}
	if (r.failed)
		fail(c, CAPTURE_DAMAGED);
	c->counts[capture_table_number(block->number)] += count;
	for (uint32_t i = 0; i < count && !c->error; i++)
		read_row(c, table, block->number, structs + i * table->row_size);
}

/* ---- the other fields ---- */

static void read_header(struct profile_capture *c, const struct protobuf_field *header)
{
	struct protobuf_reader r = protobuf_inside(header);
	struct protobuf_field field;
	uint64_t version = 0;

	while (protobuf_next(&r, &field)) {
		if (field.number == HEADER_FORMAT)
			c->has_header = field.bytes && field.size == strlen(CAPTURE_FORMAT) &&
					memcmp(field.bytes, CAPTURE_FORMAT, field.size) == 0;
		else if (field.number == HEADER_VERSION)
			version = field.value;
	}
	if (!c->has_header || r.failed)
		fail(c, CAPTURE_NO_CAPTURE);
	else if (version != CAPTURE_VERSION)
		fail(c, CAPTURE_VERSION_UNKNOWN);
}

/* Creates the timeline. Records follow the numbers that tell whether it is needed. */
static void keep_timeline(struct profile_capture *c)
{
	if (!c->folder || c->timeline)
		return;
	c->timeline = timeline_new(c->folder, NULL);
	if (!c->timeline)
		fail(c, CAPTURE_SYSTEM);
}

static void read_numbers(struct profile_capture *c, const struct protobuf_field *numbers)
{
	struct protobuf_reader r = protobuf_inside(numbers);
	struct protobuf_field field;

	if (c->has_numbers)
		fail(c, CAPTURE_DAMAGED);
	c->has_numbers = true;
	while (protobuf_next(&r, &field)) {
		const struct run_number *n;

		if (field.number > run_number_count)
			continue; /* from a later version */
		n = &run_numbers[field.number - 1];
		if (field.bytes || (n->size == 1 && field.value > 1) ||
		    !number_store(&c->numbers, n->offset, n->size, field.value))
			fail(c, CAPTURE_DAMAGED);
	}
	if (r.failed)
		fail(c, CAPTURE_DAMAGED);
	if (!c->error && c->numbers.totals.measure.launch_shapes)
		keep_timeline(c);
}

/* Returns whether the table with this number is known. Unknown ones are from a later version. */
static bool is_table(uint32_t number)
{
	uint32_t field = number + CAPTURE_FIRST_TABLE;

	return capture_table(field + (field >= CAPTURE_END));
}

static void read_end(struct profile_capture *c, const struct protobuf_field *end)
{
	struct protobuf_reader r = protobuf_inside(end);
	struct protobuf_field field;
	uint64_t counts[CAPTURE_TABLES] = {0};

	c->has_end = true;
	while (protobuf_next(&r, &field))
		if (field.number <= CAPTURE_TABLES && !field.bytes && is_table(field.number - 1))
			counts[field.number - 1] = field.value;
	if (r.failed || memcmp(counts, c->counts, sizeof(counts)) != 0)
		fail(c, CAPTURE_DAMAGED);
}

static void read_field(struct profile_capture *c, const struct protobuf_field *field)
{
	if (!c->has_header && field->number != CAPTURE_HEADER)
		fail(c, CAPTURE_NO_CAPTURE);
	else if (c->has_end || field->number == 0)
		fail(c, CAPTURE_DAMAGED);
	else if (field->number == CAPTURE_HEADER)
		read_header(c, field);
	else if (field->number == CAPTURE_STRING)
		add_text(c, field);
	else if (field->number == CAPTURE_NUMBERS)
		read_numbers(c, field);
	else if (field->number == CAPTURE_END)
		read_end(c, field);
	else if (field->number < CAPTURE_FIELDS)
		read_block(c, field);
	/* other fields are from a later version */
}

/* ---- the stream ---- */

/* Reads exactly `size` bytes. Returns false if there are fewer. */
static bool read_bytes(struct profile_capture *c, void *bytes, size_t size)
{
	ssize_t n = gunzip_read(c->gunzip, bytes, size);

	if (n == (ssize_t)size)
		return true;
	if (n >= 0 || n == -ENODATA)
		fail(c, c->has_end && n == 0 ? CAPTURE_OK : CAPTURE_CUT);
	else if (n == -EBADMSG)
		fail(c, c->has_header ? CAPTURE_DAMAGED : CAPTURE_NO_CAPTURE);
	else if (n == -ENOMEM)
		fail(c, CAPTURE_NO_MEMORY);
	else
		fail(c, CAPTURE_SYSTEM);
	return false;
}

static bool read_number(struct profile_capture *c, uint64_t *number)
{
	unsigned char byte = 0x80;

	*number = 0;
	for (unsigned int shift = 0; byte & 0x80; shift += 7) {
		if (!read_bytes(c, &byte, 1))
			return false;
		if (shift > 28) { /* tags and sizes of captures have at most 35 bits */
			fail(c, c->has_header ? CAPTURE_DAMAGED : CAPTURE_NO_CAPTURE);
			return false;
		}
		*number |= (uint64_t)(byte & 0x7f) << shift;
	}
	return true;
}

static void read_all(struct profile_capture *c)
{
	uint64_t tag, size;

	while (!c->error && read_number(c, &tag) && read_number(c, &size)) {
		struct protobuf_field field = {.number = (uint32_t)(tag >> 3)};

		if ((tag & 7) != 2 || size > CAPTURE_MESSAGE_MAX) {
			fail(c, c->has_header ? CAPTURE_DAMAGED : CAPTURE_NO_CAPTURE);
			return;
		}
		if (!array_reserve(&c->message, 0, (uint32_t)size + 1, &c->message_capacity, 1)) {
			fail(c, CAPTURE_NO_MEMORY);
			return;
		}
		if (!read_bytes(c, c->message, size)) {
			fail(c, CAPTURE_CUT);
			return;
		}
		field.bytes = c->message;
		field.size = (uint32_t)size;
		read_field(c, &field);
	}
	if (!c->error && !c->has_end)
		fail(c, CAPTURE_CUT);
	if (!c->error && !c->has_numbers)
		fail(c, CAPTURE_DAMAGED);
}

/* ---- the result ---- */

static void finish(struct profile_capture *c)
{
	struct result *r = &c->result;
	struct run_numbers *n = &c->numbers;
	struct ledger *ledger = &n->ledger;

	for (uint32_t i = 0; i < run_text_count; i++) {
		const struct run_text *t = &run_texts[i];
		const char *text = text_of(c, number_load(n, t->number, sizeof(uint32_t)));

		if (t->size)
			snprintf((char *)n + t->text, t->size, "%s", text ? text : "");
		else
			number_store(n, t->text, sizeof(text), (uintptr_t)text);
	}
	r->totals = n->totals;
	r->totals.ledger = ledger;
	r->unnamed = n->unnamed;
	if (r->totals.folder && r->totals.folder[0] != '/')
		fail(c, CAPTURE_DAMAGED);
	ledger->gpu.rows = c->gpu_rows.list;
	ledger->gpu.row_count = c->gpu_rows.count;
	if (r->totals.sample_ns == 0 || r->totals.sample_ns > LEDGER_TOTAL_MAX ||
	    r->totals.start_ns > LEDGER_TOTAL_MAX)
		fail(c, CAPTURE_DAMAGED);
	if (c->timeline) {
		struct timeline_stats stats;

		timeline_finish(c->timeline);
		stats = timeline_stats(c->timeline);
		if (stats.lost) { /* lost now, in addition to what the run lost */
			ledger->timeline.lost += stats.lost;
			ledger->timeline.error = stats.error;
		}
	}
	r->frames = c->frames.list;
	r->frame_count = c->frames.count;
	r->stacks = c->stacks.list;
	r->stack_count = c->stacks.count;
	r->rows = c->rows.list;
	r->row_count = c->rows.count;
	r->places = c->places.list;
	r->place_count = c->places.count;
	r->processes = c->place_names.processes;
	r->process_count = c->place_names.process_count;
	r->threads = c->place_names.threads;
	r->thread_count = c->place_names.thread_count;
	devices_make_labels(&c->devices);
	r->devices = c->devices.list;
	r->device_count = c->devices.count;
	r->ranks = c->ranks.list;
	r->rank_count = c->ranks.count;
	for (uint32_t i = 0; i < r->rank_count; i++)
		if (r->ranks[i].clock >= r->rank_count ||
		    r->ranks[i].alignment.reference >= r->rank_count ||
		    r->ranks[i].alignment.error_ns > CLOCK_FIT_TIME_MAX)
			fail(c, CAPTURE_DAMAGED);
	if (!r->totals.job.is_known || r->totals.job.rank > JOB_RANK_MAX)
		r->totals.job = (struct job_rank){.is_known = false};
	c->place_names.job = r->totals.job;
	r->place_names = &c->place_names;
	r->device_names = &c->devices;
	if (r->totals.measure.counters) {
		c->counters.not_kept = n->counters_not_kept;
		r->counters = &c->counters;
		r->counters_result = r;
	}
	result_tables_begin(&c->tables, &r->totals.measure);
	r->tables = &c->tables;
	r->whole = r;
	r->timeline = c->timeline;
	r->record_stack_count = c->stacks.count;
}

static void free_reader(struct profile_capture *c)
{
	gunzip_free(c->gunzip);
	c->gunzip = NULL;
	free(c->message);
	c->message = NULL;
	record_set_release(&c->depths.set);
	record_set_release(&c->modules.set);
}

struct profile_capture *capture_read(FILE *in, const char *folder, bool needs_timeline,
				     struct quota *memory, enum capture_error *error)
{
	struct profile_capture *c = calloc(1, sizeof(*c));

	*error = CAPTURE_NO_MEMORY;
	if (!c)
		return NULL;
	c->memory = (struct quota){.limit = SIZE_MAX, .outer = memory};
	c->place_names.memory = c->tables.memory = &c->memory;
	c->gunzip = gunzip_new(in);
	if (!c->gunzip)
		fail(c, CAPTURE_NO_MEMORY);
	c->folder = folder;
	if (!c->error && needs_timeline)
		keep_timeline(c);
	if (!c->error)
		add_stack(c, &(struct stack_info){UINT32_MAX, UINT32_MAX});
	if (!c->error)
		read_all(c);
	if (!c->error)
		finish(c);
	if (!c->error && c->memory.refused) /* place_names does not report it */
		fail(c, CAPTURE_TOO_LARGE);
	free_reader(c);
	*error = c->error;
	if (!c->error)
		return c;
	capture_free(c);
	return NULL;
}

void capture_free(struct profile_capture *c)
{
	if (!c)
		return;
	free_reader(c);
	for (uint32_t i = 0; i < c->texts.count; i++)
		free(c->texts.list[i]);
	record_set_release(&c->texts.set);
	record_set_release(&c->frames.set);
	record_set_release(&c->stacks.set);
	record_set_release(&c->places.set);
	record_set_release(&c->rows.set);
	record_set_release(&c->gpu_rows.set);
	record_set_release(&c->ranks.set);
	counters_release(&c->counters);
	result_tables_release(&c->tables);
	api_calls_release(&c->numbers.ledger.api);
	place_names_release(&c->place_names);
	devices_release(&c->devices);
	timeline_free(c->timeline);
	quota_return(c->memory.outer, c->memory.used);
	free(c);
}

const struct result *capture_result(const struct profile_capture *c)
{
	return &c->result;
}
