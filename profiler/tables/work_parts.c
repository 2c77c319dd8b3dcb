// SPDX-License-Identifier: MIT
#include "profiler/tables/work_parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "profiler/tables/hot_spots.h"
#include "profiler/tables/kernel_class.h"
#include "profiler/tables/layer_name.h"
#include "symbolize/util/record_set.h"
#include "symbolize/util/saturate.h"
#include "symbolize/util/sorted.h"

struct part {
	const char *name;
	uint64_t ns, total_ns, operations;
	uint64_t members;  /* kernels of a class; layers of a kind */
	uint64_t last_row; /* number of the row that was last added to total_ns */
	uint64_t share;    /* thousandths */
};

struct parts {
	RECORD_SET(struct part);
	struct intern names;
	uint32_t *by_frame; /* position + 1 of a frame's part; 0: not known yet */
	uint64_t whole_ns, rows;
	bool failed;
};

static bool part_equal(const void *records, uint32_t position, const void *key)
{
	return strcmp(((const struct part *)records)[position].name, key) == 0;
}

/* Returns the part with a name, which is added if it is new. Returns NULL if out of memory. */
static struct part *part_of(struct parts *p, const char *name)
{
	const char *kept = intern_string(&p->names, name);
	uint32_t at = RECORD_NONE, hash;

	if (kept) {
		hash = hash_bytes(kept, strlen(kept));
		at = record_find_equal(p, hash, part_equal, kept);
		if (at == RECORD_NONE)
			at = record_add_hashed(p, hash, &((struct part){.name = kept}));
	}
	p->failed |= at == RECORD_NONE;
	return at == RECORD_NONE ? NULL : &p->list[at];
}

static void add_own(struct parts *p, struct part *part, uint64_t ns, uint64_t operations)
{
	saturated_add(&p->whole_ns, ns);
	if (!part)
		return;
	saturated_add(&part->ns, ns);
	saturated_add(&part->operations, operations);
}

/* ---- the tables ---- */

static const struct report_column class_columns[] = {
	REPORT_COLUMN(part, ns, "ns", "Time", TIME, 11),
	REPORT_COLUMN(part, share, "share_permille", "Share", SHARE, 8),
	REPORT_COLUMN(part, operations, "operations", "Operations", COUNT, 11),
	REPORT_COLUMN(part, members, "kernels", "Kernels", COUNT, 8),
	REPORT_COLUMN(part, name, "class", "Class", TEXT, UINT8_MAX),
};

/* Columns that operators and layers share. */
#define OWN_AND_TOTAL                                                                   \
	REPORT_COLUMN(part, ns, "ns", "Own time", TIME, 11),                            \
		REPORT_COLUMN(part, share, "share_permille", "Share", SHARE, 8),        \
		REPORT_COLUMN(part, total_ns, "total_ns", "With inner ones", TIME, 16), \
		REPORT_COLUMN(part, operations, "operations", "Operations", COUNT, 11)

static const struct report_column operator_columns[] = {
	OWN_AND_TOTAL,
	REPORT_COLUMN(part, name, "operator", "Operator", TEXT, UINT8_MAX),
};

static const struct report_column layer_columns[] = {
	OWN_AND_TOTAL,
	REPORT_COLUMN(part, name, "layer", "Layer", TEXT, UINT8_MAX),
};

static const struct report_column kind_columns[] = {
	OWN_AND_TOTAL,
	REPORT_COLUMN(part, members, "layers", "Layers", COUNT, 8),
	REPORT_COLUMN(part, name, "layer_kind", "Kind of layer", TEXT, UINT8_MAX),
};

static int by_time(const void *a, const void *b)
{
	const struct part *x = *(const struct part *const *)a, *y = *(const struct part *const *)b;
	int order = compare_numbers(y->ns, x->ns);

	order = order ? order : compare_numbers(y->total_ns, x->total_ns);
	return order ? order : strcmp(x->name, y->name);
}

static void add_part(struct report_table *f, const struct result *r, const void *record)
{
	(void)r;
	report_table_add(f, record);
}

/* Fills a table of parts, and frees the parts. */
static struct report_table *finish(struct parts *p, const struct result *r, struct report_table *f)
{
	for (uint32_t i = 0; i < p->count; i++)
		if (p->whole_ns)
			p->list[i].share =
				(uint64_t)(1e3 * (double)p->list[i].ns / (double)p->whole_ns + 0.5);
	if (p->failed) {
		report_table_free(f);
		f = NULL;
		errno = ENOMEM;
	} else {
		f = report_table_fill(f, r, p->list, p->count, sizeof(*p->list), by_time, add_part);
	}
	record_set_release(&p->set);
	intern_release(&p->names);
	free(p->by_frame);
	return f;
}

/* ---- classes ---- */

static void add_work(struct parts *p, const struct result *r, const struct hot_spot_table *t)
{
	for (uint32_t i = 0; i < t->count; i++) {
		const struct hot_spot *e = &t->list[i];
		struct part *part = part_of(p, kernel_class_of(r->kernel_classes, e->frame));

		add_own(p, part, e->ns, e->count);
		if (part)
			part->members += e->frame->class == CLASS_GPU_KERNEL;
	}
}

struct report_table *kernel_classes_report_table(const struct result *result)
{
	struct hot_spots *d = hot_spots_new(result);
	struct parts p = {.failed = !d};

	if (d) {
		add_work(&p, result, &d->kernels);
		add_work(&p, result, &d->copies);
	}
	hot_spots_free(d);
	return finish(&p, result,
		      REPORT_TABLE_NEW("kernel_classes", "GPU work by class", class_columns));
}

/* ---- operators and layers ---- */

typedef char *naming_function(const char *name);

/* Returns the part of a frame. Returns NULL if out of memory. */
static struct part *part_of_frame(struct parts *p, const struct result *r, uint32_t frame,
				  naming_function *rename)
{
	const char *name = r->frames[frame].name;
	struct part *part;
	char *other;

	if (p->by_frame[frame])
		return &p->list[p->by_frame[frame] - 1];
	other = rename ? rename(name) : NULL;
	part = rename && !other ? NULL : part_of(p, other ? other : name);
	free(other);
	p->failed |= !part;
	if (part) {
		part->members++;
		p->by_frame[frame] = (uint32_t)(part - p->list) + 1;
	}
	return part;
}

/* Adds a row to its own part, and to the totals of all around. Returns false if it has none. */
static bool add_row(struct parts *p, const struct result *r, const struct row *row,
		    enum frame_class class, naming_function *rename)
{
	bool is_own = true;

	p->rows++;
	for (uint32_t at = row->stack; at != RESULT_ROOT; at = r->stacks[at].outer) {
		struct part *part;

		if (r->frames[r->stacks[at].frame].class != class)
			continue;
		part = part_of_frame(p, r, r->stacks[at].frame, rename);
		if (is_own)
			add_own(p, part, row->ns, row->count);
		is_own = false;
		if (!part || part->last_row == p->rows)
			continue;
		part->last_row = p->rows;
		saturated_add(&part->total_ns, row->ns);
	}
	return !is_own;
}

/* Sums up rows by frames of a class. `rest` names the part of work without such frames. */
static struct report_table *by_frames(const struct result *r, struct report_table *f,
				      enum frame_class class, naming_function *rename,
				      const char *rest)
{
	struct parts p = {.by_frame = calloc(r->frame_count + (size_t)1, sizeof(uint32_t))};
	struct row none = {.ns = 0};

	p.failed = !p.by_frame;
	for (uint32_t i = 0; i < r->row_count && !p.failed; i++) {
		const struct row *row = &r->rows[i];

		if (row->kind != ROW_GPU || add_row(&p, r, row, class, rename))
			continue;
		saturated_add(&none.ns, row->ns);
		saturated_add(&none.count, row->count);
	}
	if (p.count && (none.ns || none.count) && !p.failed) {
		struct part *part = part_of(&p, rest);

		add_own(&p, part, none.ns, none.count);
		if (part)
			saturated_add(&part->total_ns, none.ns);
	}
	return finish(&p, r, f);
}

struct report_table *operators_report_table(const struct result *result)
{
	return by_frames(result,
			 REPORT_TABLE_NEW("operators", "GPU work by operator", operator_columns),
			 CLASS_OPERATOR, NULL, NO_OPERATOR);
}

struct report_table *layers_report_table(const struct result *result)
{
	return by_frames(result, REPORT_TABLE_NEW("layers", "GPU work by layer", layer_columns),
			 CLASS_LAYER, NULL, NO_LAYER);
}

struct report_table *layer_kinds_report_table(const struct result *result)
{
	return by_frames(result,
			 REPORT_TABLE_NEW("layer_kinds", "GPU work by kind of layer", kind_columns),
			 CLASS_LAYER, layer_kind, NO_LAYER);
}
