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

#define DEPTH_MAX 65536u               /* frames of a stack */
#define DEPTHS_MAX (UINT64_C(1) << 29) /* of all rows: formats write each row's stack out */

/* A table of the result that is an array. */
struct table {
	void *items;
	uint32_t count, capacity;
};

struct profile_capture {
	struct result result; /* what the caller sees */
	struct quota memory;
	struct run_numbers numbers;
	char **texts; /* text N + 1 */
	uint32_t text_count, text_capacity;
	struct capture_module *modules;
	uint32_t module_count, module_capacity;
	struct table frames, stacks, places, rows, gpu_rows, ranks;
	struct counter_table counters;
	struct result_tables tables;
	uint16_t *depths; /* by stack, less one */
	uint32_t depth_capacity;
	uint64_t row_depths; /* sum */
	struct place_names place_names;
	struct devices devices;
	const char *folder;        /* of the timeline; NULL: none is kept */
	struct timeline *timeline; /* NULL: not wanted */
	uint32_t shape_count;
	uint64_t counts[CAPTURE_TABLES];
	struct ledger_total sum; /* of the rows */

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

/* False: there is too little memory, or it would be more than allowed. */
static bool take(struct profile_capture *c, size_t bytes)
{
	if (quota_take(&c->memory, bytes))
		return true;
	fail(c, CAPTURE_TOO_LARGE);
	return false;
}

static void *add(struct profile_capture *c, struct table *table, size_t size)
{
	if (!take(c, size))
		return NULL;
	if (!array_make_room(&table->items, table->count, &table->capacity, size)) {
		fail(c, CAPTURE_NO_MEMORY);
		return NULL;
	}
	return (char *)table->items + table->count++ * size;
}

/* ---- texts ---- */

/* Paths of modules may have any bytes but those that move a terminal's cursor, as in a run. */
static void add_text(struct profile_capture *c, const struct protobuf_field *field)
{
	char *text;

	if (!take(c, field->size + INTERN_ENTRY_BYTES))
		return;
	text = malloc((size_t)field->size + 1);
	if (!text ||
	    !array_make_room(&c->texts, c->text_count, &c->text_capacity, sizeof(*c->texts))) {
		free(text);
		fail(c, CAPTURE_NO_MEMORY);
		return;
	}
	memcpy(text, field->bytes, field->size);
	text[field->size] = '\0';
	if (strlen(text) != field->size)
		fail(c, CAPTURE_DAMAGED);
	clean_text(text);
	c->texts[c->text_count++] = text;
}

/* NULL: none. */
static const char *text_of(struct profile_capture *c, uint32_t number)
{
	if (number > c->text_count)
		fail(c, CAPTURE_DAMAGED);
	return number == 0 || number > c->text_count ? NULL : c->texts[number - 1];
}

/* Does the same for what always has one. */
static const char *name_of(struct profile_capture *c, uint32_t number)
{
	const char *text = text_of(c, number);

	if (!text)
		fail(c, CAPTURE_DAMAGED);
	return text ? text : "";
}

/* ---- one struct of each table ---- */

static void add_module(struct profile_capture *c, const struct capture_module *module)
{
	text_of(c, module->path);
	text_of(c, module->build_id);
	if (!take(c, sizeof(*module)))
		return;
	if (array_make_room(&c->modules, c->module_count, &c->module_capacity, sizeof(*module)))
		c->modules[c->module_count++] = *module;
	else
		fail(c, CAPTURE_NO_MEMORY);
}

static void add_frame(struct profile_capture *c, const struct capture_frame *f)
{
	struct frame_info frame = {.line = f->line,
				   .name = name_of(c, f->name),
				   .short_name = name_of(c, f->short_name),
				   .file = text_of(c, f->file),
				   .source = text_of(c, f->source),
				   .offset = f->offset};
	struct frame_info *added;

	/* writers leave the prefix out */
	if (f->class >= FRAME_CLASSES || f->module > c->module_count ||
	    (f->class == CLASS_GPU_KERNEL &&
	     !starts_with(frame.name, work_frame(GPU_WORK_KERNEL)))) {
		fail(c, CAPTURE_DAMAGED);
		return;
	}
	frame.class = (enum frame_class)f->class;
	frame_info_pseudo(&frame);
	if (f->module) {
		frame.module = text_of(c, c->modules[f->module - 1].path);
		frame.build_id = text_of(c, c->modules[f->module - 1].build_id);
	}
	added = add(c, &c->frames, sizeof(frame));
	if (added)
		*added = frame;
}

static void add_stack(struct profile_capture *c, const struct stack_info *stack)
{
	struct stack_info *added;
	uint32_t at = c->stacks.count;
	uint32_t depth;

	if (at > 0 && (stack->outer >= at || stack->frame >= c->frames.count)) {
		fail(c, CAPTURE_DAMAGED);
		return;
	}
	depth = at > 0 ? c->depths[stack->outer] + 1u : 0;
	if (depth >= DEPTH_MAX || !take(c, sizeof(*c->depths))) {
		fail(c, CAPTURE_TOO_LARGE);
		return;
	}
	if (!array_make_room(&c->depths, at, &c->depth_capacity, sizeof(*c->depths))) {
		fail(c, CAPTURE_NO_MEMORY);
		return;
	}
	c->depths[at] = (uint16_t)depth;
	added = add(c, &c->stacks, sizeof(*stack));
	if (added)
		*added = *stack;
}

static void add_place(struct profile_capture *c, const struct place *place)
{
	struct place *added = add(c, &c->places, sizeof(*place));

	if (added)
		*added = *place;
}

static void add_process(struct profile_capture *c, const struct capture_process *p)
{
	struct process_info info = {.id = p->id,
				    .pid = (pid_t)p->pid,
				    .name = name_of(c, p->name),
				    .has_rank = p->has_rank,
				    .rank = p->rank,
				    .has_twin = p->has_twin};

	if (place_names_process(&c->place_names, info.id) || info.pid < 0)
		fail(c, CAPTURE_DAMAGED);
	else
		place_names_add_process(&c->place_names, &info);
}

static void add_rank(struct profile_capture *c, const struct capture_rank *r)
{
	const struct rank_info *last = c->ranks.items;
	struct rank_info *added;

	if (c->ranks.count)
		last += c->ranks.count - 1;
	if (r->rank > JOB_RANK_MAX || (c->ranks.count && last->rank >= r->rank)) {
		fail(c, CAPTURE_DAMAGED);
		return;
	}
	added = add(c, &c->ranks, sizeof(*added));
	if (added)
		*added = (struct rank_info){
			.rank = r->rank,
			.clock = r->clock,
			.host = text_of(c, r->host),
			.start_ns = r->start_ns,
			.elapsed_ns = r->elapsed_ns,
			.exit_status = r->exit_status,
			.size = r->size,
			.has_wall_clock = r->has_wall_clock,
			.wall_error_ns = r->wall_error_ns,
			.collectives = r->collectives,
			.came_last = r->came_last,
			.alone = r->alone,
			.undecided = r->undecided,
			.alignment = {.reference = r->aligned_by ? r->reference : r->clock,
				      .collectives = r->aligned_by,
				      .error_ns = r->error_ns,
				      .bound_ns = r->bound_ns,
				      .moved_ns = (int64_t)r->moved_ns,
				      .drift = (int64_t)r->drift}};
}

static void add_thread(struct profile_capture *c, const struct capture_thread *t)
{
	struct thread_info info = {
		.process = t->process, .tid = t->tid, .name = name_of(c, t->name)};

	if (place_names_thread(&c->place_names, info.process, info.tid))
		fail(c, CAPTURE_DAMAGED);
	else
		place_names_add_thread(&c->place_names, &info);
}

static void add_device(struct profile_capture *c, const struct capture_device *d)
{
	struct device device = {.process = d->process,
				.id = d->id,
				.is_used = d->is_used,
				.is_described = d->is_described,
				.is_mig = d->is_mig,
				.is_mps = d->is_mps,
				.gpu_instance = d->gpu_instance,
				.compute_instance = d->compute_instance,
				.limits = d->limits};
	const char *name = name_of(c, d->name);

	snprintf(device.name, sizeof(device.name), "%s", name);
	memcpy(device.uuid, d->uuid, sizeof(device.uuid));
	switch (devices_add(&c->devices, &device)) {
	case 0:
		break;
	case -ENOMEM:
		fail(c, CAPTURE_NO_MEMORY);
		break;
	default:
		fail(c, CAPTURE_DAMAGED);
	}
}

static void add_row(struct profile_capture *c, const struct row *row)
{
	struct row *added;

	if (row->kind >= ROW_KINDS || row->stack >= c->stacks.count ||
	    row->place >= c->places.count ||
	    !ledger_total_add(&c->sum, row->count, row->ns, row->bytes)) {
		fail(c, CAPTURE_DAMAGED);
		return;
	}
	c->row_depths += c->depths[row->stack];
	if (c->row_depths > DEPTHS_MAX)
		fail(c, CAPTURE_TOO_LARGE);
	added = add(c, &c->rows, sizeof(*row));
	if (added)
		*added = *row;
}

static void add_gpu_row(struct profile_capture *c, const struct capture_gpu_row *row)
{
	struct gpu_row *added;

	if (row->row.work >= GPU_WORKS) {
		fail(c, CAPTURE_DAMAGED);
		return;
	}
	added = add(c, &c->gpu_rows, sizeof(*added));
	if (added) {
		*added = row->row;
		added->device = devices_key(&c->devices, row->process, row->row.device);
	}
}

static void add_shape(struct profile_capture *c, const struct timeline_shape *shape)
{
	if (c->timeline && timeline_number_shape(c->timeline, shape) != ++c->shape_count)
		fail(c, CAPTURE_DAMAGED);
}

static void add_record(struct profile_capture *c, const struct timeline_record *record)
{
	if (record->kind >= TIMELINE_KINDS || record->stack.number >= c->stacks.count ||
	    record->place.number >= c->places.count || record->work >= GPU_WORKS ||
	    record->start_ns > LEDGER_TOTAL_MAX || record->duration_ns > LEDGER_TOTAL_MAX) {
		fail(c, CAPTURE_DAMAGED);
		return;
	}
	if (!c->timeline)
		return;
	if (record->shape > c->shape_count)
		fail(c, CAPTURE_DAMAGED);
	else
		timeline_add(c->timeline, record); /* losses are counted, and shown */
}

/* The name is one of the capture's. */
static const char *keep_name(void *context, const char *name)
{
	(void)context;
	return name;
}

static void add_api_call(struct profile_capture *c, const struct capture_api_call *call)
{
	struct api_calls *calls = &c->numbers.ledger.api;
	const struct gpu_event_calls event = {
		.function = name_of(c, call->name), .family = call->family, .kind = call->kind};
	uint32_t before = calls->count;
	struct api_call *added;

	if (call->family < GPU_LAUNCH_RUNTIME || call->family > GPU_LAUNCH_DRIVER ||
	    call->kind >= GPU_CALL_KINDS || strlen(event.function) >= GPU_CALL_NAME_BYTES) {
		fail(c, CAPTURE_DAMAGED);
		return;
	}
	added = api_calls_get(calls, &event, &c->memory, keep_name, NULL);
	if (!added || calls->count == before) {
		fail(c, added ? CAPTURE_DAMAGED : CAPTURE_TOO_LARGE);
		return;
	}
	added->calls = call->calls;
	added->ns = call->ns;
	added->bytes = call->bytes;
	added->nested = call->nested;
	added->nested_ns = call->nested_ns;
	added->shortest_ns = call->shortest_ns;
	added->longest_ns = call->longest_ns;
}

/* Adds to a call what `event` has; NULL: there is no such call. */
static void add_to_call(struct profile_capture *c, uint32_t call, const struct gpu_event_calls *e)
{
	if (call >= c->numbers.ledger.api.count)
		fail(c, CAPTURE_DAMAGED);
	else
		api_call_add(c->numbers.ledger.api.list[call], e);
}

static void add_api_error(struct profile_capture *c, const struct capture_api_error *error)
{
	const struct gpu_call_error one = {error->code, error->count};

	add_to_call(c, error->call, &(struct gpu_event_calls){.error_count = 1, .errors = &one});
}

static void add_api_bucket(struct profile_capture *c, const struct capture_api_bucket *bucket)
{
	const struct gpu_call_bucket one = {bucket->bucket, bucket->count};

	if (bucket->bucket >= GPU_CALL_BUCKETS)
		fail(c, CAPTURE_DAMAGED);
	else
		add_to_call(c, bucket->call,
			    &(struct gpu_event_calls){.bucket_count = 1, .buckets = &one});
}

static void add_counter_metric(struct profile_capture *c, const struct capture_counter_metric *m)
{
	uint32_t before = c->counters.metric_count;

	counters_metric(&c->counters, name_of(c, m->name), name_of(c, m->unit));
	if (c->counters.metric_count == before)
		fail(c, CAPTURE_DAMAGED);
}

static double number_of(uint64_t bits)
{
	double number;

	memcpy(&number, &bits, sizeof(number));
	return number;
}

static void add_counter_row(struct profile_capture *c, const struct capture_counter_row *row)
{
	const struct counter_row r = {
		row->stack,          row->metric,           row->count,
		number_of(row->sum), number_of(row->least), number_of(row->most)};

	if (row->stack >= c->stacks.count || row->metric >= c->counters.metric_count ||
	    row->count == 0 || row->count > LEDGER_TOTAL_MAX || !isfinite(r.sum) ||
	    !isfinite(r.least) || !isfinite(r.most)) {
		fail(c, CAPTURE_DAMAGED);
		return;
	}
	if (!take(c, sizeof(r)))
		return;
	if (array_make_room(&c->counters.rows.list, c->counters.rows.count,
			    &c->counters.rows.capacity, sizeof(r)))
		c->counters.rows.list[c->counters.rows.count++] = r;
	else
		fail(c, CAPTURE_NO_MEMORY);
}

static void add_counter_value(struct profile_capture *c, const struct capture_counter_value *value)
{
	const struct counter_value v = {value->process, value->correlation, value->metric,
					number_of(value->value)};

	if (v.metric >= c->counters.metric_count || !isfinite(v.value))
		fail(c, CAPTURE_DAMAGED);
	else if (c->counters.value_count == COUNTERS_VALUES_MAX)
		fail(c, CAPTURE_TOO_LARGE);
	else if (c->timeline && take(c, sizeof(v))) {
		if (counters_make_room(&c->counters, 1))
			counters_add_value(&c->counters, &v);
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

/* Returns whether a cell may have this number, which is that of a text if it is one. */
static bool is_cell(const struct profile_capture *c, const struct table_column *column,
		    const void *row)
{
	uint64_t value = table_cell(column, row);

	if ((column->below && value >= column->below) || (column->is_positive && !value))
		return false;
	switch ((enum table_cell)column->cell) {
	case CELL_REAL:
		return isfinite(table_real(column, row));
	case CELL_TEXT:
	case CELL_KERNEL:
		return value && value <= c->text_count;
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
	c->row_depths += c->depths[stack];
	if (c->row_depths > DEPTHS_MAX)
		fail(c, CAPTURE_TOO_LARGE);
}

/* Checks the cells of a row, and puts texts into it. */
static void read_cells(struct profile_capture *c, const struct table_kind *kind, void *row)
{
	for (uint32_t i = 0; i < kind->column_count && !c->error; i++) {
		const struct table_column *column = &kind->columns[i];
		uint64_t value = table_cell(column, row);

		if (!is_cell(c, column, row))
			fail(c, CAPTURE_DAMAGED);
		else if (table_is_text(column))
			number_store(row, column->offset, column->size,
				     (uintptr_t)text_of(c, (uint32_t)value));
		else if (column->cell == CELL_STACK)
			count_depth(c, (uint32_t)value);
	}
}

static void add_table_row(struct profile_capture *c, const struct table_kind *kind, void *row)
{
	struct result_table *table = result_tables_at(&c->tables, kind);
	uint32_t count = table->count;

	read_cells(c, kind, row);
	if (!c->error && !result_table_sum(table, kind, row))
		fail(c, CAPTURE_DAMAGED);
	if (c->error || (kind->is_for_timeline && !c->timeline))
		return;
	switch (result_tables_add(&c->tables, kind, row, NULL)) {
	case TABLE_OK:
		/* others' numbers of rows are right only if each has one */
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

static void add_struct(struct profile_capture *c, uint32_t field, void *item)
{
	const struct table_kind *kind = table_kind_of_field(field);

	switch (field) {
	case CAPTURE_MODULES:
		add_module(c, item);
		break;
	case CAPTURE_FRAMES:
		add_frame(c, item);
		break;
	case CAPTURE_STACKS:
		add_stack(c, item);
		break;
	case CAPTURE_PLACES:
		add_place(c, item);
		break;
	case CAPTURE_PROCESSES:
		add_process(c, item);
		break;
	case CAPTURE_THREADS:
		add_thread(c, item);
		break;
	case CAPTURE_DEVICES:
		add_device(c, item);
		break;
	case CAPTURE_ROWS:
		add_row(c, item);
		break;
	case CAPTURE_GPU_ROWS:
		add_gpu_row(c, item);
		break;
	case CAPTURE_SHAPES:
		add_shape(c, item);
		break;
	case CAPTURE_RECORDS:
		add_record(c, item);
		break;
	case CAPTURE_API_CALLS:
		add_api_call(c, item);
		break;
	case CAPTURE_API_ERRORS:
		add_api_error(c, item);
		break;
	case CAPTURE_API_BUCKETS:
		add_api_bucket(c, item);
		break;
	case CAPTURE_COUNTER_METRICS:
		add_counter_metric(c, item);
		break;
	case CAPTURE_COUNTER_ROWS:
		add_counter_row(c, item);
		break;
	case CAPTURE_COUNTER_VALUES:
		add_counter_value(c, item);
		break;
	case CAPTURE_RANKS:
		add_rank(c, item);
		break;
	default:
		if (kind)
			add_table_row(c, kind, item);
	}
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
		return; /* of a later version */
	while (protobuf_next(&r, &field) && !c->error) {
		struct protobuf_reader values;
		uint32_t column = field.number - BLOCK_FIRST_COLUMN;

		if (field.number == BLOCK_COUNT && !field.bytes && field.value <= CAPTURE_BLOCK &&
		    count == 0) {
			count = (uint32_t)field.value;
			memset(structs, 0, count * table->row_size);
		} else if (field.number >= BLOCK_FIRST_COLUMN && field.bytes && count > 0) {
			if (column >= table->column_count)
				continue; /* of a later version */
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
		add_struct(c, block->number, structs + i * table->row_size);
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

/* Keeps a timeline of what follows: records come after the numbers that say what was measured. */
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
			continue; /* of a later version */
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

/* Returns whether a table of this number is known: others are of a later version. */
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
	/* others are of a later version */
}

/* ---- the stream ---- */

/* Reads so many bytes; false: there are no more, or fewer. */
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
		if (shift > 28) { /* no tag and no size of ours has more bits */
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

static void copy_text(char *to, size_t size, const char *text)
{
	snprintf(to, size, "%s", text ? text : "");
}

static void finish(struct profile_capture *c)
{
	struct result *r = &c->result;
	struct run_numbers *n = &c->numbers;
	struct ledger *ledger = &n->ledger;

	r->totals = n->totals;
	r->totals.command = text_of(c, n->command);
	r->totals.shown = text_of(c, n->shown);
	r->totals.folder = text_of(c, n->folder);
	r->totals.host = text_of(c, n->host);
	r->totals.links = text_of(c, n->links);
	if (r->totals.folder && r->totals.folder[0] != '/')
		fail(c, CAPTURE_DAMAGED);
	r->totals.ledger = ledger;
	r->unnamed = n->unnamed;
	r->unnamed.unreadable_path = text_of(c, n->unreadable_path);
	r->unnamed.unread_path = text_of(c, n->unread_path);
	copy_text(ledger->pipe.first_malformed, sizeof(ledger->pipe.first_malformed),
		  text_of(c, n->first_malformed));
	copy_text(ledger->pipe.first_refused, sizeof(ledger->pipe.first_refused),
		  text_of(c, n->first_refused));
	copy_text(ledger->python.first_file, sizeof(ledger->python.first_file),
		  text_of(c, n->first_python));
	ledger->gpu.rows = c->gpu_rows.items;
	ledger->gpu.row_count = c->gpu_rows.count;
	if (r->totals.sample_ns == 0 || r->totals.sample_ns > LEDGER_TOTAL_MAX ||
	    r->totals.start_ns > LEDGER_TOTAL_MAX)
		fail(c, CAPTURE_DAMAGED);
	if (c->timeline) {
		struct timeline_stats stats, before = ledger->timeline;

		timeline_finish(c->timeline);
		stats = timeline_stats(c->timeline);
		if (stats.lost) { /* now, beside those that the run lost */
			ledger->timeline.lost = before.lost + stats.lost;
			ledger->timeline.error = stats.error;
		}
	}
	r->frames = c->frames.items;
	r->frame_count = c->frames.count;
	r->stacks = c->stacks.items;
	r->stack_count = c->stacks.count;
	r->rows = c->rows.items;
	r->row_count = c->rows.count;
	r->places = c->places.items;
	r->place_count = c->places.count;
	r->processes = c->place_names.processes;
	r->process_count = c->place_names.process_count;
	r->threads = c->place_names.threads;
	r->thread_count = c->place_names.thread_count;
	devices_make_labels(&c->devices);
	r->devices = c->devices.list;
	r->device_count = c->devices.count;
	r->ranks = c->ranks.items;
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

static void drop_memory_of_reading(struct profile_capture *c)
{
	gunzip_free(c->gunzip);
	c->gunzip = NULL;
	free(c->message);
	c->message = NULL;
	free(c->depths);
	c->depths = NULL;
	free(c->modules);
	c->modules = NULL;
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
	if (!c->error && c->memory.refused) /* names of places */
		fail(c, CAPTURE_TOO_LARGE);
	drop_memory_of_reading(c);
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
	drop_memory_of_reading(c);
	for (uint32_t i = 0; i < c->text_count; i++)
		free(c->texts[i]);
	free(c->texts);
	free(c->frames.items);
	free(c->stacks.items);
	free(c->places.items);
	free(c->rows.items);
	free(c->gpu_rows.items);
	counters_release(&c->counters);
	result_tables_release(&c->tables);
	free(c->ranks.items);
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
