// SPDX-License-Identifier: MIT
/*
 * Writes a report: a page (html/) with the result as its data, which html/data.js reads.
 *
 * The data is numbers and texts (deflated.h), in tables. A table is its number of rows, and then
 * one column after the other.
 *
 *	format      10
 *	texts       their lengths; then all of them
 *	            A text is a number in this table plus 1; 0 for none.
 *	facts       text (name), number
 *	losses      text (name), number
 *	frames      class, name, short name, file, module, line, role (code_role.h), text of the
 *	            frame that it is folded to (0: it stays), kind (frame_kind.h), class of GPU work
 *	            (kernel_class.h; 0: none)
 *	stacks      from number 1 on: own number minus that of the stack around it; frame; unless it
 *	            computes the frame of its launch site plus 1 (hot_spots.h; the outermost where
 *none is known), else 0 processes   number, pid, name threads     process, tid, name devices
 *process, number, label, name places      process, thread, device, context, stream: plus 1; 0 for
 *unknown rows        stack minus that of the row before, kind, place plus 1, count, ns, bytes
 *	weights     number of weights; of each its title, unit and note as texts,
 *	            and its rows: stack minus that of the row before, place plus 1, count, value
 *	tables      number of tables; of each its key and title as texts, number of rows left out,
 *	            columns (label, enum report_cell_kind), and rows (texts, frames, numbers)
 *	sources     file as in frames, state (source_file.h), whether it has changed, number of
 *	            parts; then the first lines of all files' parts, then their numbers of lines;
 *	            then of each file the size of its text, and the text: the lines of its parts
 *	kernels     frame, label and text of each fact of a kernel (kernel_facts.h)
 *	steps       when GPUs began each step of the main loop, in ns since the command's start, and
 *	            the end of the last one; each minus that before; then how many are warm-up
 *	difference  of a comparison: html_difference.h
 *
 * Only stacks, frames and places of rows and of the timeline's records are there, each once. With
 * --weight, the rows' ns are values of the weight that the facts name. The timeline follows
 * (html_timeline.h).
 */
#include "profiler/formats/writer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "profiler/base/cuda_functions.h"
#include "profiler/base/version.h"
#include "profiler/shape/code_role.h"
#include "profiler/formats/deflated.h"
#include "profiler/formats/trace_state.h"
#include "profiler/shape/frame_kind.h"
#include "profiler/web/html_difference.h"
#include "profiler/web/html_timeline.h"
#include "profiler/shape/named_stacks.h"
#include "profiler/shape/source_text.h"
#include "profiler/shape/text_table.h"
#include "profiler/shape/weighed.h"
#include "profiler/model/losses.h"
#include "profiler/model/memory_use.h"
#include "profiler/tables/hot_spots.h"
#include "profiler/tables/kernel_facts.h"
#include "profiler/findings/findings.h"
#include "profiler/findings/report_tables.h"
#include "profiler/tables/kernel_class.h"
#include "symbolize/util/array.h"
#include "symbolize/util/saturate.h"

#define DATA_FORMAT 11
#define NONE UINT32_MAX
#define WEIGHTS_MAX 16 /* further metrics are only in the tables */

/* The page up to its data, from html_blob.S. */
extern const char html_page[], html_page_end[];

static const char page_end[] = "</script>\n</body>\n</html>\n";

struct fact {
	uint32_t text;
	uint64_t number;
};

/* A fact of a kernel, by numbers of the page. */
struct frame_fact {
	uint32_t frame, label, text;
};

struct facts {
	struct fact *list;
	uint32_t count, capacity;
};

/* A frame of the page. Members are in the order of the columns. */
struct page_frame {
	uint32_t class, name, short_name, file, module, line, role, folded, kind, work_class;
};

/*
 * A weight by which the page can draw stacks in place of time, as in weighed.h: allocated memory
 * (--alloc), or an additive hardware counter (--counters). The reader of the page chooses.
 */
struct page_weight {
	struct weighed weighed;
	struct result result; /* the run with the rows of the weight */
	const char *title;
};

struct page {
	const struct result *result;
	const struct comparison *comparison; /* whose result it is; or NULL */
	bool failed;                         /* out of memory */

	struct code_roles *roles; /* NULL: library code is folded already */

	struct text_table texts;

	struct facts facts, losses;

	RECORD_SET(struct page_frame) frames;

	uint32_t *sites;            /* by stack of the page: the page's frame plus 1 */
	struct named_stacks stacks; /* the page's; the first is the root */

	/* by number in the result: number in the page; NONE: not in use */
	uint32_t *frame_numbers, *stack_numbers, *place_numbers;
	/* has the places of the result, and behind them places that only weights have */
	const struct result *placed;
	uint32_t *places; /* by place of the page: place of `placed` */
	uint32_t place_count;
	uint32_t *row_order; /* rows sorted by stack of the page */
	struct page_weight weights[WEIGHTS_MAX];
	uint32_t weight_count;
	struct html_timeline *timeline;
	struct report_tables report_table;
	struct source_list sources;
	struct kernel_facts *kernels;
	struct trace_state state;
	struct state_value {
		uint32_t counter;
		uint64_t ms, value;
	} * states;
	uint32_t state_count, state_capacity;
	struct frame_fact *frame_facts;
	uint32_t frame_fact_count, frame_fact_capacity;
};

/* ---- texts ---- */

/* Returns the number of a text plus 1, or 0 for NULL. The text is borrowed. */
static uint32_t add_text(struct page *p, const char *text)
{
	uint32_t number = text ? text_table_number(&p->texts, text) + 1 : 0;

	p->failed |= p->texts.failed;
	return number;
}

/* ---- facts ---- */

static void add_to(struct page *p, struct facts *facts, const char *what, uint64_t number)
{
	if (!array_make_room(&facts->list, facts->count, &facts->capacity, sizeof(*facts->list)))
		p->failed = true;
	else
		facts->list[facts->count++] = (struct fact){add_text(p, what), number};
}

static void add_fact(struct page *p, const char *what, uint64_t number)
{
	add_to(p, &p->facts, what, number);
}

static void add_loss(void *context, const struct loss *loss)
{
	struct page *p = context;

	add_to(p, &p->losses, loss->what, loss->count);
}

/* Adds the facts, by the names that html/about_view.js looks for. */
static void add_facts(struct page *p, const struct written *written)
{
	static const char *const kinds[ROW_KINDS] = {[ROW_CPU] = "cpu ns",
						     [ROW_GPU] = "gpu ns",
						     [ROW_WAIT] = "wait ns",
						     [ROW_CALL] = "call ns",
						     [ROW_IDLE] = "idle ns"};
	const struct totals *t = &p->result->totals;
	const struct ledger *l = t->ledger;
	uint64_t from_ns, to_ns;

	/* the number of a fact that is a text is that of the text */
	add_fact(p, "version", add_text(p, PROFILE_VERSION));
	add_fact(p, "command", add_text(p, t->command));
	if (t->shown)
		add_fact(p, "shown", add_text(p, t->shown));
	if (!p->roles)
		add_fact(p, "folded", 1);
	if (p->comparison && p->comparison->is_weights) {
		add_fact(p, "weight", add_text(p, "weights"));
		add_fact(p, "weight unit", 0);
		add_fact(p, "weight note", 0);
	}
	if (p->result->weight) {
		add_fact(p, "weight", add_text(p, p->result->weight->title));
		add_fact(p, "weight unit", add_text(p, p->result->weight->unit));
		add_fact(p, "weight note", add_text(p, p->result->weight->note));
	}
	add_fact(p, "elapsed ns", t->elapsed_ns);
	result_time_range(p->result, &from_ns, &to_ns);
	add_fact(p, "shown from ns", from_ns - t->start_ns);
	add_fact(p, "shown to ns", to_ns - t->start_ns);
	add_fact(p, "command cpu ns", t->command_cpu_ns);
	add_fact(p, "own cpu ns", t->own_cpu_ns);
	add_fact(p, "own memory bytes", t->own_memory_bytes);
	add_fact(p, "sample ns", t->sample_ns);
	for (int kind = 0; kind < ROW_KINDS && !p->result->weight; kind++)
		add_fact(p, kinds[kind], written->total[kind]);
	if (!l)
		return;
	add_fact(p, "program cpu ns", l->cost.program_ns);
	add_fact(p, "kernel cpu ns", l->cost.kernel_ns);
	add_fact(p, "cpu samples", l->cpu.samples);
	add_fact(p, "whole cpu samples", l->cpu.whole);
	add_fact(p, "kernel launches", l->launches.kernels);
	add_fact(p, "launch stacks", saturated_sum(l->launches.with_stack, l->launches.by_probe));
	add_fact(p, "whole launch stacks", l->launches.whole);
	add_fact(p, "gpu kernels", l->gpu.kernels);
	add_fact(p, "matched", l->gpu.matched);
	add_fact(p, "waits", l->calls.waits);
	add_fact(p, "timed calls", l->calls.timed);
	add_fact(p, "sums", l->gpu.sums);
	add_fact(p, "equal sums", l->gpu.equal);
}

static void add_losses(struct page *p)
{
	static const struct ledger none;
	const struct totals *t = &p->result->totals;

	losses_visit(t->ledger ? t->ledger : &none, p->result->unnamed.not_kept, add_loss, p);
}

/* ---- weights ---- */

static bool has_stacks_of(const struct result *result, const struct result *whole)
{
	return !whole || (whole->stacks == result->stacks && whole->frames == result->frames);
}

/* Keeps the weight that was made last, unless it is empty or `err` is set. Returns `err`. */
static int keep_weight(struct page *p, const char *title, int err)
{
	struct page_weight *weight = &p->weights[p->weight_count];

	weight->title = title;
	if (err || weight->result.row_count == 0)
		weighed_release(&weight->weighed);
	else
		p->weight_count++;
	return err;
}

static int add_memory(struct page *p)
{
	static const struct {
		enum stack_weight weight;
		const char *title;
	} kinds[] = {{WEIGHT_PEAK, "memory at the peak"}, {WEIGHT_LEFT, "memory never freed"}};
	int err = 0;

	for (int i = 0; i < 2 && !err; i++) {
		struct page_weight *weight = &p->weights[p->weight_count];

		*weight = (struct page_weight){.result = *p->result};
		err = weighed_by_memory(&weight->weighed, &weight->result, kinds[i].weight);
		err = keep_weight(p, kinds[i].title, err);
	}
	return err;
}

static int add_counters(struct page *p)
{
	const struct counter_table *counters = p->result->counters;
	int err = 0;

	for (uint32_t i = 0; i < counters->metric_count && !err; i++) {
		struct page_weight *weight = &p->weights[p->weight_count];
		const char *metric = counters->metrics[i].name;

		if (p->weight_count == WEIGHTS_MAX)
			break;
		if (!counters_is_additive(metric))
			continue;
		*weight = (struct page_weight){.result = *p->result};
		err = weighed_by_metric(&weight->weighed, &weight->result, metric);
		err = keep_weight(p, metric, err);
	}
	return err;
}

/*
 * Makes the weights that are not 0. Only a whole run with its own stacks has weights: a view has
 * other stacks, and --weight is for that. Returns 0, or -ENOMEM.
 */
static int make_weights(struct page *p)
{
	const struct result *r = p->result;
	int err = 0;

	if (r->weight)
		return 0;
	if (result_tables_find(r->tables, &memory_rows_table) && has_stacks_of(r, result_whole(r)))
		err = add_memory(p);
	if (!err && r->counters && has_stacks_of(r, r->counters_result))
		err = add_counters(p);
	return err;
}

/* Returns the result that has the places of all: that of memory if there is one, else the run. */
static const struct result *result_with_places(const struct page *p)
{
	for (uint32_t i = 0; i < p->weight_count; i++)
		if (p->weights[i].result.place_count > p->result->place_count)
			return &p->weights[i].result;
	return p->result;
}

/* ---- frames, stacks, places ---- */

static uint32_t add_frame(struct page *p, struct page_frame frame)
{
	uint32_t at = record_find(&p->frames, &frame);

	if (at == RECORD_NONE)
		at = record_add(&p->frames, &frame, &frame);
	p->failed |= at == RECORD_NONE;
	return at != RECORD_NONE ? at : 0;
}

/* Adds the role that folding gives a frame. */
static void add_role(struct page *p, const struct frame_info *frame, struct page_frame *to)
{
	char label[CODE_ROLE_LABEL_BYTES];

	to->role = ROLE_KEPT;
	if (!p->roles)
		return;
	to->role = code_role_of(p->roles, frame, label);
	if (to->role != ROLE_PACKAGE && to->role != ROLE_PLUMBING && to->role != ROLE_CALLERS)
		return;
	to->folded = add_text(p, text_table_keep(&p->texts, label));
}

static uint32_t number_of_frame(struct page *p, uint32_t frame)
{
	const struct frame_info *f = &p->result->frames[frame];
	struct page_frame key;

	if (p->frame_numbers[frame] != NONE)
		return p->frame_numbers[frame];
	key = (struct page_frame){.class = f->class,
				  .name = add_text(p, f->name),
				  .short_name = add_text(p, f->short_name),
				  .file = add_text(p, f->file),
				  .module = add_text(p, f->module),
				  .line = f->line,
				  .kind = frame_kind_of(f)};
	if (f->class == CLASS_GPU_KERNEL)
		key.work_class = add_text(p, kernel_class_of(p->result->kernel_classes, f));
	if (frame_is_folded(f))
		key.class = CLASS_NATIVE;
	/* with a static runtime, its function is the CUDA call of the program */
	if (f->class == CLASS_NATIVE && cuda_function_of(f->name))
		key.class = CLASS_API;
	add_role(p, f, &key);
	p->frame_numbers[frame] = add_frame(p, key);
	return p->frame_numbers[frame];
}

/* Returns the page's result, for 0, or one of its weights. */
static const struct result *part_of(const struct page *p, uint32_t number)
{
	return number ? &p->weights[number - 1].result : p->result;
}

/* Marks the stacks and places of all rows. */
static void mark_rows(struct page *p)
{
	for (uint32_t part = 0; part <= p->weight_count; part++) {
		const struct result *r = part_of(p, part);

		for (uint32_t i = 0; i < r->row_count; i++) {
			p->stack_numbers[r->rows[i].stack] = 0;
			if (r->rows[i].place < r->place_count)
				p->place_numbers[r->rows[i].place] = 0;
		}
	}
}

/* Adds the stacks of rows and records, and the stacks around them. */
static void add_stacks(struct page *p)
{
	const struct result *r = p->result;
	uint32_t *numbers = p->stack_numbers;

	mark_rows(p);
	for (uint32_t i = r->stack_count; i-- > RESULT_ROOT + 1;)
		if (numbers[i] != NONE)
			numbers[r->stacks[i].outer] = 0;
	named_stacks_add(&p->stacks, NONE, NONE);
	numbers[RESULT_ROOT] = 0;
	for (uint32_t i = RESULT_ROOT + 1; i < r->stack_count && !p->stacks.failed; i++) {
		const struct stack_info *stack = &r->stacks[i];

		if (numbers[i] != NONE)
			numbers[i] = named_stacks_add(&p->stacks, numbers[stack->outer],
						      number_of_frame(p, stack->frame));
	}
	p->failed |= p->stacks.failed;
}

static void add_sites_of(struct page *p, const struct result *r)
{
	for (uint32_t i = 0; i < r->row_count && !p->failed; i++) {
		uint32_t stack = r->rows[i].stack, *site = &p->sites[p->stack_numbers[stack]];
		const struct frame_info *frame;

		if (r->rows[i].kind == ROW_CPU || stack == RESULT_ROOT || *site)
			continue;
		frame = hot_spots_site(r, stack);
		while (!frame && r->stacks[stack].outer != RESULT_ROOT)
			stack = r->stacks[stack].outer;
		*site = 1 + number_of_frame(p, frame ? (uint32_t)(frame - r->frames)
						     : r->stacks[stack].frame);
	}
}

/* Adds the stacks where GPU work was launched. */
static void add_sites(struct page *p)
{
	p->sites = calloc(p->stacks.count + 1, sizeof(*p->sites));
	p->failed |= !p->sites;
	for (uint32_t part = 0; part <= p->weight_count; part++)
		add_sites_of(p, part_of(p, part));
}

static void add_places(struct page *p)
{
	for (uint32_t i = 0; i < p->placed->place_count; i++) {
		if (p->place_numbers[i] == NONE)
			continue;
		p->place_numbers[i] = p->place_count;
		p->places[p->place_count++] = i;
	}
}

/* Orders rows by stack of the page, for small differences. Returns false if out of memory. */
static bool order_rows(const struct page *p, const struct result *r, uint32_t *order)
{
	uint32_t *next = calloc(p->stacks.count + 1, sizeof(*next));

	if (!next)
		return false;
	for (uint32_t i = 0; i < r->row_count; i++)
		next[p->stack_numbers[r->rows[i].stack] + 1]++;
	for (uint32_t i = 0; i < p->stacks.count; i++)
		next[i + 1] += next[i];
	for (uint32_t i = 0; i < r->row_count; i++)
		order[next[p->stack_numbers[r->rows[i].stack]]++] = i;
	free(next);
	return true;
}

/* ---- writing ---- */

/* Writes a column. `value` is an expression in the row `i`. */
#define COLUMN(data, count, value)                     \
	do {                                           \
		for (uint32_t i = 0; i < (count); i++) \
			deflated_number(data, value);  \
	} while (0)

static void write_texts(const struct page *p, struct deflated *data)
{
	deflated_number(data, p->texts.count);
	COLUMN(data, p->texts.count, strlen(p->texts.list[i]));
	for (uint32_t i = 0; i < p->texts.count; i++)
		deflated_bytes(data, p->texts.list[i], strlen(p->texts.list[i]));
}

static void write_facts(struct deflated *data, const struct facts *facts)
{
	deflated_number(data, facts->count);
	COLUMN(data, facts->count, facts->list[i].text);
	COLUMN(data, facts->count, facts->list[i].number);
}

static void write_stacks(const struct page *p, struct deflated *data)
{
	uint32_t count = p->stacks.count - 1;
	const struct stack_info *stacks = p->stacks.list + 1;

	deflated_number(data, p->frames.count);
	for (size_t column = 0; column < sizeof(struct page_frame) / sizeof(uint32_t); column++)
		COLUMN(data, p->frames.count, ((const uint32_t *)&p->frames.list[i])[column]);
	deflated_number(data, count);
	COLUMN(data, count, i + 1 - stacks[i].outer);
	COLUMN(data, count, stacks[i].frame);
	COLUMN(data, count, p->sites[i + 1]);
}

/* Returns the text of a device's label. */
static uint32_t add_label(struct page *p, const struct device *device)
{
	char label[DEVICE_LABEL_BYTES];

	device_label(device, label);
	return add_text(p, text_table_keep(&p->texts, label));
}

/* Adds the texts of places, ahead of writing. */
static void add_place_names(struct page *p)
{
	const struct result *r = p->result;

	for (uint32_t i = 0; i < r->device_count; i++) {
		add_label(p, &r->devices[i]);
		add_text(p, r->devices[i].name);
	}
	for (uint32_t i = 0; i < r->process_count; i++)
		add_text(p, r->processes[i].name);
	for (uint32_t i = 0; i < r->thread_count; i++)
		add_text(p, r->threads[i].name);
}

static void write_places(struct page *p, struct deflated *data)
{
	const struct result *r = p->result;

	deflated_number(data, r->process_count);
	COLUMN(data, r->process_count, r->processes[i].id);
	COLUMN(data, r->process_count, (uint32_t)r->processes[i].pid);
	COLUMN(data, r->process_count, add_text(p, r->processes[i].name));
	deflated_number(data, r->thread_count);
	COLUMN(data, r->thread_count, r->threads[i].process);
	COLUMN(data, r->thread_count, r->threads[i].tid);
	COLUMN(data, r->thread_count, add_text(p, r->threads[i].name));
	deflated_number(data, r->device_count);
	COLUMN(data, r->device_count, r->devices[i].process);
	COLUMN(data, r->device_count, r->devices[i].id);
	COLUMN(data, r->device_count, add_label(p, &r->devices[i]));
	COLUMN(data, r->device_count, add_text(p, r->devices[i].name));
	deflated_number(data, p->place_count);
	for (int part = 0; part < PLACE_PARTS; part++)
		/* PLACE_UNKNOWN + 1 is 0 */
		COLUMN(data, p->place_count, p->placed->places[p->places[i]].part[part] + 1);
}

static uint32_t place_number(const struct page *p, const struct row *row)
{
	return row->place < p->placed->place_count ? p->place_numbers[row->place] + 1 : 0;
}

/* Writes the number of rows, and their stacks. */
static void write_row_stacks(const struct page *p, struct deflated *data, const struct row *rows,
			     uint32_t count, const uint32_t *order)
{
	uint32_t last = 0;

	deflated_number(data, count);
	for (uint32_t i = 0; i < count; i++) {
		uint32_t stack = p->stack_numbers[rows[order[i]].stack];

		deflated_number(data, stack - last);
		last = stack;
	}
}

static void write_rows(const struct page *p, struct deflated *data)
{
	const struct row *rows = p->result->rows;
	const uint32_t *order = p->row_order;
	uint32_t count = p->result->row_count;

	write_row_stacks(p, data, rows, count, order);
	COLUMN(data, count, rows[order[i]].kind);
	COLUMN(data, count, place_number(p, &rows[order[i]]));
	COLUMN(data, count, rows[order[i]].count);
	COLUMN(data, count, rows[order[i]].ns);
	COLUMN(data, count, rows[order[i]].bytes);
}

/* Writes a weight. Returns false if out of memory. */
static bool write_weight(struct page *p, struct deflated *data, const struct page_weight *weight)
{
	const struct result *r = &weight->result;
	const struct row *rows = r->rows;
	uint32_t *order = malloc((r->row_count + 1) * sizeof(*order));
	bool is_done = order && order_rows(p, r, order);

	if (is_done) {
		deflated_number(data, add_text(p, weight->title));
		deflated_number(data, add_text(p, r->weight->unit));
		deflated_number(data, add_text(p, r->weight->note));
		write_row_stacks(p, data, rows, r->row_count, order);
		COLUMN(data, r->row_count, place_number(p, &rows[order[i]]));
		COLUMN(data, r->row_count, rows[order[i]].count);
		COLUMN(data, r->row_count, rows[order[i]].ns);
	}
	free(order);
	return is_done;
}

static bool write_weights(struct page *p, struct deflated *data)
{
	bool is_done = true;

	deflated_number(data, p->weight_count);
	for (uint32_t i = 0; i < p->weight_count && is_done; i++)
		is_done = write_weight(p, data, &p->weights[i]);
	return is_done;
}

/* Adds the texts of weights, ahead of writing. */
static void add_weight_texts(struct page *p)
{
	for (uint32_t i = 0; i < p->weight_count; i++) {
		const struct page_weight *weight = &p->weights[i];

		add_text(p, weight->title);
		add_text(p, weight->result.weight->unit);
		add_text(p, weight->result.weight->note);
	}
}

/* Adds a number with a fraction, which is a text in the page. */
static uint64_t add_real(struct page *p, double number)
{
	char text[40];

	snprintf(text, sizeof(text), "%.12g", number);
	return add_text(p, text_table_keep(&p->texts, text));
}

static uint64_t report_cell_number(struct page *p, enum report_cell_kind kind,
				   union report_cell cell)
{
	if (report_cell_is_text(kind))
		return add_text(p, cell.text);
	if (kind == REPORT_CELL_NUMBER)
		return add_real(p, cell.real);
	return kind == REPORT_CELL_FRAME ? number_of_frame(p, (uint32_t)cell.number) : cell.number;
}

/* Adds the texts and frames of report tables, ahead of writing. */
static void add_report_table(struct page *p)
{
	for (uint32_t t = 0; t < p->report_table.count; t++) {
		struct report_table *f = p->report_table.tables[t];

		add_text(p, f->key);
		add_text(p, f->title);
		for (uint32_t c = 0; c < f->column_count; c++) {
			add_text(p, f->columns[c].label);
			for (uint32_t i = 0; i < f->count; i++)
				report_cell_number(p, f->columns[c].kind,
						   report_table_row(f, i)[c]);
		}
	}
}

static void write_report_tables(struct page *p, struct deflated *data)
{
	deflated_number(data, p->report_table.count);
	for (uint32_t t = 0; t < p->report_table.count; t++) {
		struct report_table *f = p->report_table.tables[t];

		deflated_number(data, add_text(p, f->key));
		deflated_number(data, add_text(p, f->title));
		deflated_number(data, f->left_out);
		deflated_number(data, f->column_count);
		COLUMN(data, f->column_count, add_text(p, f->columns[i].label));
		COLUMN(data, f->column_count, f->columns[i].kind);
		deflated_number(data, f->count);
		for (uint32_t c = 0; c < f->column_count; c++)
			COLUMN(data, f->count,
			       report_cell_number(p, f->columns[c].kind,
						  report_table_row(f, i)[c]));
	}
}

static void add_frame_fact(struct page *p, uint32_t frame, const struct kernel_fact *fact)
{
	if (!array_make_room(&p->frame_facts, p->frame_fact_count, &p->frame_fact_capacity,
			     sizeof(*p->frame_facts)))
		p->failed = true;
	else
		p->frame_facts[p->frame_fact_count++] = (struct frame_fact){
			frame, add_text(p, fact->label), add_text(p, fact->text)};
}

/* Adds the facts of kernels on the page. */
static void add_kernels(struct page *p)
{
	const struct result *r = p->result;
	struct kernel_fact list[KERNEL_FACTS_MAX];

	for (uint32_t frame = 0; frame < r->frame_count; frame++) {
		uint32_t number = p->frame_numbers[frame], count = 0;

		if (number != NONE)
			count = kernel_facts_of(p->kernels, &r->frames[frame], list);
		for (uint32_t i = 0; i < count && !p->failed; i++)
			add_frame_fact(p, number, &list[i]);
	}
}

static void write_kernels(const struct page *p, struct deflated *data)
{
	const struct frame_fact *list = p->frame_facts;

	deflated_number(data, p->frame_fact_count);
	COLUMN(data, p->frame_fact_count, list[i].frame);
	COLUMN(data, p->frame_fact_count, list[i].label);
	COLUMN(data, p->frame_fact_count, list[i].text);
}

static void add_state(void *page, uint32_t counter, uint64_t time_ns, uint64_t value)
{
	struct page *p = page;
	uint64_t start_ns = p->result->totals.start_ns;

	if (!trace_counter_is_main(&p->state.counters[counter]))
		return;
	if (!array_make_room(&p->states, p->state_count, &p->state_capacity, sizeof(*p->states)))
		p->failed = true;
	else
		p->states[p->state_count++] = (struct state_value){
			counter, time_ns > start_ns ? (time_ns - start_ns) / 1000000 : 0, value};
}

/* Adds the values of counters of GPUs' state, and their names. */
static void add_states(struct page *p)
{
	trace_state_until(&p->state, UINT64_MAX, add_state, p);
	for (uint32_t i = 0; i < p->state.count; i++) {
		add_text(p, p->state.courses.list[p->state.counters[i].gpu].label);
		add_text(p, trace_counter_name(&p->state.counters[i]));
	}
}

static void write_states(struct page *p, struct deflated *data)
{
	const struct trace_counter *counters = p->state.counters;

	deflated_number(data, p->state.count);
	COLUMN(data, p->state.count, add_text(p, p->state.courses.list[counters[i].gpu].label));
	COLUMN(data, p->state.count, add_text(p, trace_counter_name(&counters[i])));
	deflated_number(data, p->state_count);
	COLUMN(data, p->state_count, p->states[i].counter);
	COLUMN(data, p->state_count, p->states[i].ms);
	COLUMN(data, p->state_count, p->states[i].value);
}

static void write_steps(const struct page *p, struct deflated *data)
{
	const struct findings *f = p->result->findings;
	uint32_t count = f && f->step_work_ns && f->steps.count ? f->steps.list[0].count + 1 : 0;
	uint64_t last_ns = p->result->totals.start_ns;

	deflated_number(data, count);
	for (uint32_t i = 0; i < count; i++) {
		uint64_t ns = f->step_work_ns[i] > last_ns ? f->step_work_ns[i] : last_ns;

		deflated_number(data, ns - last_ns);
		last_ns = ns;
	}
	deflated_number(data, count ? f->steps.list[0].warm_up : 0);
}

/* Writes the sources. Their paths are those of frames, so texts already. */
static void write_sources(struct page *p, struct deflated *data)
{
	const struct source_file *files = p->sources.files;
	uint32_t count = p->sources.count;

	deflated_number(data, count);
	COLUMN(data, count, add_text(p, files[i].path));
	COLUMN(data, count, files[i].state);
	COLUMN(data, count, files[i].has_changed);
	COLUMN(data, count, files[i].part_count);
	for (uint32_t f = 0; f < count; f++)
		COLUMN(data, files[f].part_count, files[f].parts[i].first);
	for (uint32_t f = 0; f < count; f++)
		COLUMN(data, files[f].part_count, files[f].parts[i].count);
	for (uint32_t f = 0; f < count; f++) {
		deflated_number(data, files[f].size);
		if (files[f].size)
			deflated_bytes(data, files[f].text, files[f].size);
	}
}

static void count_sources(const struct page *p, struct written *written)
{
	for (uint32_t i = 0; i < p->sources.count; i++) {
		const struct source_file *f = &p->sources.files[i];

		written->source_files += f->part_count > 0;
		for (uint32_t part = 0; part < f->part_count; part++)
			written->source_lines += f->parts[part].count;
	}
}

static int write_page(struct page *p, FILE *out)
{
	struct deflated *data;
	bool has_weights;
	int err;

	fwrite(html_page, 1, (size_t)(html_page_end - html_page), out);
	data = deflated_new(out);
	if (!data)
		return -ENOMEM;
	deflated_number(data, DATA_FORMAT);
	write_texts(p, data);
	write_facts(data, &p->facts);
	write_facts(data, &p->losses);
	write_stacks(p, data);
	write_places(p, data);
	write_rows(p, data);
	has_weights = write_weights(p, data);
	write_report_tables(p, data);
	write_sources(p, data);
	write_kernels(p, data);
	write_steps(p, data);
	write_states(p, data);
	html_difference_put(p->comparison, &p->texts, p->row_order, data);
	err = deflated_finish(data);
	if (!has_weights)
		err = -ENOMEM;
	if (!err)
		err = html_timeline_write(p->timeline, p->stack_numbers, p->place_numbers, out);
	fputs(page_end, out);
	return err ? err : ferror(out) ? -EIO : 0;
}

/* ---- all of it ---- */

static bool allocate(struct page *p)
{
	const struct result *r = p->result;

	p->placed = result_with_places(p);
	p->frame_numbers = malloc((r->frame_count + 1) * sizeof(*p->frame_numbers));
	p->stack_numbers = malloc((r->stack_count + 1) * sizeof(*p->stack_numbers));
	p->place_numbers = malloc((p->placed->place_count + 1) * sizeof(*p->place_numbers));
	p->places = malloc((p->placed->place_count + 1) * sizeof(*p->places));
	p->row_order = malloc((r->row_count + 1) * sizeof(*p->row_order));
	p->kernels = kernel_facts_new(r);
	if (!p->kernels || !p->frame_numbers || !p->stack_numbers || !p->place_numbers ||
	    !p->places || !p->row_order)
		return false;
	memset(p->frame_numbers, 0xff, r->frame_count * sizeof(*p->frame_numbers));
	memset(p->stack_numbers, 0xff, r->stack_count * sizeof(*p->stack_numbers));
	memset(p->place_numbers, 0xff, p->placed->place_count * sizeof(*p->place_numbers));
	if (!r->is_my_code) {
		p->roles = code_roles_of_result(r);
		if (!p->roles)
			return false;
	}
	p->timeline = html_timeline_new(r, NULL);
	if (p->timeline)
		html_timeline_mark(p->timeline, p->stack_numbers, p->place_numbers, 0);
	return p->timeline != NULL;
}

static void release(struct page *p)
{
	code_roles_free(p->roles);
	text_table_release(&p->texts);
	free(p->facts.list);
	free(p->losses.list);
	record_set_release(&p->frames.set);
	free(p->sites);
	named_stacks_release(&p->stacks);
	free(p->frame_numbers);
	free(p->stack_numbers);
	free(p->place_numbers);
	free(p->places);
	free(p->row_order);
	for (uint32_t i = 0; i < p->weight_count; i++)
		weighed_release(&p->weights[i].weighed);
	html_timeline_free(p->timeline);
	report_tables_release(&p->report_table);
	source_text_release(&p->sources);
	kernel_facts_free(p->kernels);
	trace_state_release(&p->state);
	free(p->states);
	free(p->frame_facts);
}

/* Makes what is of one run only: a comparison has neither tables, sources nor weights. */
static int make_parts(struct page *p)
{
	int err = report_tables_of(p->result, &p->report_table);

	if (!err)
		err = trace_state_init(&p->state, p->result);
	if (!err)
		err = source_text_read(p->result, NULL, &p->sources);
	return err ? err : make_weights(p);
}

static int write_html(const struct result *result, const struct writer_options *options, FILE *out,
		      struct written *written)
{
	struct page p = {.result = result, .comparison = options->comparison};
	int err = p.comparison ? 0 : make_parts(&p);

	*written = written_in_ns(result); /* pages are in ns, whatever the unit */
	if (err)
		goto out;
	err = -ENOMEM;
	if (!allocate(&p))
		goto out;
	add_facts(&p, written);
	add_losses(&p);
	add_stacks(&p);
	if (!p.failed)
		add_sites(&p);
	if (!p.failed)
		add_report_table(&p);
	if (!p.failed)
		add_kernels(&p);
	add_states(&p);
	add_weight_texts(&p);
	html_difference_put(p.comparison, &p.texts, NULL, NULL);
	add_places(&p);
	if (!p.failed)
		add_place_names(&p);
	if (p.failed || p.texts.failed || !order_rows(&p, result, p.row_order))
		goto out;
	written->items = p.stacks.count - 1;
	count_sources(&p, written);
	err = write_page(&p, out);
out:
	release(&p);
	return err;
}

const struct writer html_writer = {.name = "html",
				   .suffix = ".html",
				   .other_suffix = ".htm",
				   .has_both_names = true,
				   .item = "frame",
				   .shows_weights = true,
				   .needs = NEEDS_TIMELINE,
				   .shows_findings = true,
				   .write = write_html};
