// SPDX-License-Identifier: MIT
#include "profiler/tables/launch_shapes.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "profiler/tables/hot_spots.h"
#include "symbolize/util/sorted.h"
#include "symbolize/util/text.h"

#define LEAST_WAITED 10 /* fewer launches are no pattern */

/* The beginning of struct launch_shape. */
struct key {
	uint32_t stack, number;
	const struct device *device;
};

static void add(struct launch_shapes *all, const struct result *r,
		const struct timeline_record *record)
{
	static const struct gpu_limits unknown;
	const struct timeline_shape *shape = timeline_shape(r->timeline, record->shape);
	const struct place *place =
		record->place.number < r->place_count ? &r->places[record->place.number] : NULL;
	struct key key = {result_record_stack(r, record), record->shape, NULL};
	uint32_t at = RECORD_NONE;

	all->whole_ns += record->duration_ns;
	if (place && r->device_names)
		key.device = devices_find(r->device_names, place->part[PLACE_PROCESS],
					  place->part[PLACE_DEVICE]);
	if (key.stack == RESULT_ROOT)
		shape = NULL; /* the kernel is unknown */
	if (shape)
		at = record_find(all, &key);
	if (shape && at == RECORD_NONE && all->count < LAUNCH_SHAPES_MAX) {
		const struct gpu_limits *limits = key.device ? &key.device->limits : &unknown;
		const struct launch_shape new = {.stack = key.stack,
						 .number = key.number,
						 .device = key.device,
						 .shape = *shape,
						 .occupancy = occupancy_of(limits, shape)};

		at = record_add(all, &key, &new);
	}
	if (at == RECORD_NONE) {
		all->rest_count++;
		all->rest_ns += record->duration_ns;
		return;
	}
	all->list[at].count++;
	all->list[at].waited += record->is_waited && !record->graph_node;
	all->list[at].ns += record->duration_ns;
}

static int by_time(const void *a, const void *b)
{
	const struct launch_shape *x = a, *y = b;
	int order = compare_numbers(y->ns, x->ns);

	order = order ? order : compare_numbers(x->stack, y->stack);
	return order ? order : compare_numbers(x->number, y->number);
}

struct launch_shapes *launch_shapes_new(const struct result *result)
{
	struct launch_shapes *all = calloc(1, sizeof(*all));
	struct timeline_reader *reader =
		all && result->timeline ? timeline_reader_new(result->timeline) : NULL;
	const struct timeline_record *record;
	int more = 0;

	if (!all || (result->timeline && !reader)) {
		free(all);
		return NULL;
	}
	while (reader && (more = timeline_reader_next(reader, &record)) == 1)
		if (record->kind == TIMELINE_GPU_OPERATION && record->work == GPU_WORK_KERNEL)
			add(all, result, record);
	timeline_reader_free(reader);
	if (more) {
		launch_shapes_free(all);
		errno = -more;
		return NULL;
	}
	if (all->count)
		qsort(all->list, all->count, sizeof(*all->list), by_time);
	hash_index_release(&all->set.index); /* positions have changed */
	return all;
}

void launch_shapes_free(struct launch_shapes *shapes)
{
	if (shapes)
		record_set_release(&shapes->set);
	free(shapes);
}

/* Ends a text that was cut after a whole character. */
static void end_with_a_character(char *text)
{
	size_t at = 0, length;

	while (text[at] && (length = count_utf8_bytes((const unsigned char *)text + at)))
		at += length;
	text[at] = '\0';
}

void launch_path(const struct result *r, uint32_t stack, char *text, size_t size)
{
	const struct frame_info *site = hot_spots_site(r, stack), *frame;
	bool is_inside = true;
	size_t used = 0;

	text[0] = '\0';
	for (; site && stack != RESULT_ROOT && used < size; stack = r->stacks[stack].outer) {
		frame = &r->frames[r->stacks[stack].frame];
		is_inside &= frame != site;
		if (is_inside || frame->class == CLASS_PLACE)
			continue;
		used += (size_t)snprintf(text + used, size - used, "%s%s", used ? " < " : "",
					 frame->class == CLASS_PYTHON ? frame->name
								      : frame->short_name);
	}
	if (used >= size)
		end_with_a_character(text);
}

/* ---- as a table ---- */

struct shape_row {
	struct launch_shape shape;
	uint64_t share, occupancy, waves, waited_for, blocks_in_last_wave, shared_bytes;
	uint32_t kernel; /* frame */
	const char *grid, *block, *limits, *advice, *path, *device;
};

static const struct report_column columns[] = {
	REPORT_COLUMN(shape_row, shape.count, "calls", "Calls", COUNT, 9),
	REPORT_COLUMN(shape_row, shape.ns, "ns", "Time", TIME, 11),
	REPORT_COLUMN(shape_row, share, "share_permille", "Share", SHARE, 7),
	REPORT_COLUMN(shape_row, grid, "grid", "Grid", TEXT, 14),
	REPORT_COLUMN(shape_row, block, "block", "Block", TEXT, 12),
	REPORT_COLUMN(shape_row, occupancy, "occupancy_permille", "Occupancy", SHARE, 9),
	REPORT_COLUMN(shape_row, limits, "limited_by", "Limited by", TEXT, 15),
	REPORT_COLUMN(shape_row, waves, "waves_thousandths", "Waves", THOUSANDTHS, 9),
	REPORT_COLUMN(shape_row, waited_for, "waited_for_permille", "Waited for", SHARE, 10),
	REPORT_COLUMN(shape_row, kernel, "kernel", "Kernel", FRAME, UINT8_MAX),
	REPORT_COLUMN(shape_row, advice, "advice", "Advice", NOTE, 0),
	REPORT_COLUMN(shape_row, path, "launched_by", "Launched by", NOTE, 0),
	REPORT_COLUMN(shape_row, shape.occupancy.blocks, "blocks", "Blocks", COUNT, 0),
	REPORT_COLUMN(shape_row, shape.occupancy.threads, "threads", "Threads", COUNT, 0),
	REPORT_COLUMN(shape_row, shape.occupancy.resident, "blocks_per_multiprocessor",
		      "Blocks per multiprocessor", COUNT, 0),
	REPORT_COLUMN(shape_row, shape.occupancy.warps, "warps_per_multiprocessor",
		      "Warps per multiprocessor", COUNT, 0),
	REPORT_COLUMN(shape_row, shape.occupancy.most_warps, "most_warps_per_multiprocessor",
		      "Room for warps", COUNT, 0),
	REPORT_COLUMN(shape_row, blocks_in_last_wave, "blocks_in_last_wave",
		      "Blocks in the last wave", COUNT, 0),
	REPORT_COLUMN(shape_row, shared_bytes, "shared_bytes", "Shared memory per block", BYTES, 0),
	REPORT_COLUMN(shape_row, shape.shape.registers, "registers", "Registers per thread", COUNT,
		      0),
	REPORT_COLUMN(shape_row, device, "device", "Device", TEXT, 0),
	REPORT_COLUMN(shape_row, shape.waited, "waited_for", "Launches waited for", COUNT, 0),
};

void launch_dimensions_text(char text[LAUNCH_DIMENSIONS_BYTES], const uint32_t v[3])
{
	int used = snprintf(text, LAUNCH_DIMENSIONS_BYTES, "%u", v[0]);

	for (int i = 1; i < 3 && (v[1] != 1 || v[2] != 1) && (i == 1 || v[2] != 1); i++)
		used += snprintf(text + used, LAUNCH_DIMENSIONS_BYTES - (size_t)used, "x%u", v[i]);
}

#define ADVICE_BYTES (OCCUPANCY_ADVICE_BYTES + 160)

/* Writes and returns advice. Launching and waiting in turn leaves the GPU idle. */
static const char *advice_of(const struct launch_shape *s, char text[ADVICE_BYTES])
{
	char occupancy[OCCUPANCY_ADVICE_BYTES];
	const char *first = occupancy_advice(&s->occupancy, occupancy);

	if (!s->occupancy.most_warps)
		first = "CUPTI did not describe the GPU: occupancy and waves are not known";
	if (s->waited < LEAST_WAITED || 2 * s->waited < s->count)
		snprintf(text, ADVICE_BYTES, "%s", first);
	else
		snprintf(
			text, ADVICE_BYTES,
			"%s%s%" PRIu64 " of %" PRIu64
			" launches are waited for before the next one: the GPU is idle until then; "
			"launch more before waiting",
			first, first[0] ? "; " : "", s->waited, s->count);
	return text;
}

static void add_cell(struct report_table *f, const struct result *r,
		     const struct launch_shapes *all, const struct launch_shape *s)
{
	const struct occupancy *o = &s->occupancy;
	char grid[LAUNCH_DIMENSIONS_BYTES], block[LAUNCH_DIMENSIONS_BYTES],
		limits[OCCUPANCY_LIMITS_BYTES], advice[ADVICE_BYTES];
	char path[1024], device[DEVICE_LABEL_BYTES] = "";
	const struct shape_row row = {
		.shape = *s,
		.share = all->whole_ns ? (uint64_t)(1000.0 * (double)s->ns / (double)all->whole_ns)
				       : 0,
		.occupancy = (uint64_t)(1000 * occupancy_share(o) + 0.5),
		.waves = (uint64_t)(1000 * occupancy_waves(o) + 0.5),
		.waited_for = s->count ? 1000 * s->waited / s->count : 0,
		.blocks_in_last_wave = occupancy_tail(o),
		.shared_bytes = (uint64_t)s->shape.static_shared + s->shape.dynamic_shared,
		.kernel = r->stacks[s->stack].frame,
		.grid = grid,
		.block = block,
		.limits = occupancy_limits_text(o->limits, limits),
		.advice = advice_of(s, advice),
		.path = path,
		.device = device};

	launch_dimensions_text(grid, s->shape.grid);
	launch_dimensions_text(block, s->shape.block);
	launch_path(r, s->stack, path, sizeof(path));
	if (s->device)
		device_label(s->device, device);
	report_table_add(f, &row);
}

struct report_table *launch_shapes_report_table(const struct result *result)
{
	struct launch_shapes *all = launch_shapes_new(result);
	struct report_table *f =
		all ? REPORT_TABLE_NEW("launch_shapes", "Launch shapes", columns) : NULL;

	for (uint32_t i = 0; f && i < all->count; i++)
		add_cell(f, result, all, &all->list[i]);
	if (f)
		f->left_out += all->rest_count;
	launch_shapes_free(all);
	return f;
}
