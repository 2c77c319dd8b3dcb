// SPDX-License-Identifier: MIT
#include "profiler/formats/writer.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "profiler/shape/call_tree.h"
#include "profiler/shape/change_kind.h"
#include "profiler/formats/flame_layout.h"
#include "profiler/shape/frame_kind.h"
#include "profiler/shape/frame_label.h"
#include "profiler/shape/markup.h"
#include "symbolize/util/record_set.h"

/* Sizes in pixels. svg/script.js has equal numbers for what it draws again. */
#define WIDTH 1200.0
#define MARGIN 12.0
#define INNER (WIDTH - 2 * MARGIN)
#define ROW 18.0
#define BOX 17.0
#define GAP 0.6 /* between boxes side by side */
#define COLUMN 7.3
#define TITLE_COLUMN 10.4
#define TOTALS_Y 76.0
#define LEGEND_Y 114.0
#define LEGEND_ROW 20.0
#define NARROWEST 1.0 /* narrower boxes are drawn as one box */

#define BOXES_DRAWN_MAX 4000 /* for viewers without script */
#define NAME_CHARACTERS 2000
#define SHOWN_CHARACTERS 60
#define NAME_BYTES_ALL (16u << 20) /* limit for all names together; beyond it, each name is cut */
#define TITLE_CHARACTERS 300       /* in the tooltip of a box */

static const struct flame_limits limits = {
	.least_share = 0.01 / INNER, .boxes = 100000, .depth = 400};

extern const char svg_style[], svg_style_end[], svg_script[], svg_script_end[];

static const struct {
	const char *label;
	enum frame_kind colour;
} row_kinds[ROW_KINDS] = {[ROW_CPU] = {"CPU", KIND_NATIVE},
			  [ROW_GPU] = {"GPU", KIND_GPU_KERNEL},
			  [ROW_WAIT] = {"waiting", KIND_WAIT},
			  [ROW_CALL] = {"CUDA calls", KIND_CALL},
			  [ROW_IDLE] = {"GPU idle", KIND_IDLE}};

struct picture {
	const struct result *result;
	const struct comparison *comparison; /* NULL: the picture of one run */
	const struct call_node *nodes;
	struct flame_layout layout;
	const struct flame_box *boxes; /* the layout's */
	bool is_flame;                 /* root at the bottom */
	FILE *out;
	double all_ns, scale; /* scale: pixels per ns */
	double least_drawn_ns;
	uint32_t rows;                    /* number of drawn rows */
	uint32_t hidden;                  /* boxes too narrow to draw */
	double top;                       /* y of the first row */
	uint32_t *numbers;                /* by frame: number of its name in the picture */
	RECORD_SET(const char *) modules; /* distinct paths */
};

/* ---- texts ---- */

#define TEXT_BYTES 48

static const char *time_text(char text[TEXT_BYTES], double ns)
{
	static const struct {
		double ns;
		const char *name;
	} units[] = {{1e9, "s"}, {1e6, "ms"}, {1e3, "µs"}};

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		double amount = ns / units[i].ns;

		/* 0.99995: rounding up must not show 1000.0 of a unit */
		if (ns < units[i].ns * 0.99995)
			continue;
		snprintf(text, TEXT_BYTES, "%.*f %s",
			 amount < 9.9995   ? 3
			 : amount < 99.995 ? 2
					   : 1,
			 amount, units[i].name);
		return text;
	}
	snprintf(text, TEXT_BYTES, "%.0f ns", ns);
	return text;
}

/* Formats "1,234,567". */
static const char *count_text(char text[TEXT_BYTES], uint64_t count)
{
	char digits[24];
	int n = snprintf(digits, sizeof(digits), "%" PRIu64, count), to = 0;

	for (int i = 0; i < n; i++) {
		if (i > 0 && (n - i) % 3 == 0)
			text[to++] = ',';
		text[to++] = digits[i];
	}
	text[to] = '\0';
	return text;
}

struct scale {
	double size;
	const char *name;
};

/* Formats "12.34 M sector" with the largest scale that fits. The last scale is 0. */
static const char *scaled_text(char text[TEXT_BYTES], double amount, const struct scale *scale,
			       const char *space, const char *unit)
{
	while (scale->size > 0 && amount < scale->size)
		scale++;
	if (scale->size > 0)
		snprintf(text, TEXT_BYTES, "%.2f %s%s%s", amount / scale->size, scale->name, space,
			 unit);
	else
		snprintf(text, TEXT_BYTES, "%.0f%s%s%s", amount, scale->name, space, unit);
	return text;
}

static bool is_time(const struct result *r)
{
	return !r->weight || strcmp(r->weight->unit, WEIGHT_NS) == 0;
}

/* Formats a time, another weight, or, if folded stacks are compared, a plain number. */
static const char *amount_text(const struct picture *p, char text[TEXT_BYTES], double ns)
{
	static const struct scale bytes[] = {{0x1p40, "TiB"},
					     {0x1p30, "GiB"},
					     {0x1p20, "MiB"},
					     {0x1p10, "KiB"},
					     {0, " B"}},
				  units[] = {{1e15, "P"}, {1e12, "T"}, {1e9, "G"},
					     {1e6, "M"},  {1e3, "k"},  {0, ""}};
	const struct weight *weight = p->result->weight;

	if (p->comparison && p->comparison->is_weights)
		return count_text(text, (uint64_t)fmin(ns + 0.5, 1e19));
	if (is_time(p->result))
		return time_text(text, ns);
	if (strcmp(weight->unit, WEIGHT_BYTES) == 0)
		return scaled_text(text, ns, bytes, "", "");
	return scaled_text(text, ns, units, weight->unit[0] ? " " : "", weight->unit);
}

static const char *share_text(char text[TEXT_BYTES], double part, double all)
{
	double percent = all > 0 ? part / all * 100 : 0;

	if (percent > 0 && percent < 0.01)
		snprintf(text, TEXT_BYTES, "< 0.01 %%");
	else
		snprintf(text, TEXT_BYTES, "%.*f %%", percent < 9.995 ? 2 : 1, percent);
	return text;
}

static uint32_t columns_of(const char *text)
{
	uint32_t columns = 0;

	for (uint32_t c; (c = markup_next(&text)) != 0;)
		columns += markup_columns(c);
	return columns;
}

static void put_label(FILE *out, const struct frame_label *label)
{
	for (uint32_t i = 0; i < label->count; i++)
		markup_put_xml(out, label->text[i]);
}

/* Returns one of four strengths of a colour. It depends on the name alone. */
static const char *shade_of(const char *name)
{
	static const char *const words[] = {"", " b", " c", " d"};
	uint32_t hash = 2166136261u, c;

	for (int i = 0; i < 64 && (c = markup_next(&name)) != 0; i++)
		hash = (hash ^ c) * 16777619u;
	return words[(hash >> 13) % 4];
}

/* ---- above the rows ---- */

/* Writes "before 5 ms, after 6 ms: +1.200 ms (+20.0 %), beyond the noise of 0.100 ms". */
static void write_change(const struct picture *p, const struct change *change)
{
	double difference = change_difference(change);
	char before[TEXT_BYTES], after[TEXT_BYTES], by[TEXT_BYTES], bound[TEXT_BYTES];

	fprintf(p->out, "before %s, after %s: %s%s", amount_text(p, before, change->before),
		amount_text(p, after, change->after), difference < 0 ? "-" : "+",
		amount_text(p, by, fabs(difference)));
	if (change->before > 0)
		fprintf(p->out, " (%+.1f %%)", difference / change->before * 100);
	if (change->is_significant)
		fprintf(p->out, ", beyond the noise of %s", amount_text(p, bound, change->bound));
	else if (!change->has_bound)
		fprintf(p->out, ", noise unknown");
	else if (fabs(difference) > change->bound)
		fprintf(p->out, ", of so many frames it may be noise (of one: %s)",
			amount_text(p, bound, change->bound));
	else
		fprintf(p->out, ", within the noise of %s", amount_text(p, bound, change->bound));
}

static void write_runs(const struct picture *p)
{
	const struct comparison *c = p->comparison;
	const uint32_t *runs = c->runs;

	fprintf(p->out, "Difference of %u %s%s%s from %u %s%s %s · widths are %s %s",
		runs[SIDE_AFTER], c->is_of_steps ? "slow step" : "run",
		runs[SIDE_AFTER] == 1 ? "" : "s", c->is_of_steps ? " (after)" : "",
		runs[SIDE_BEFORE], c->is_of_steps ? "typical one" : "run",
		runs[SIDE_BEFORE] == 1 ? "" : "s", c->is_of_steps ? "(before)" : "before",
		c->is_weights ? "weights" : "times", c->shown == SIDE_AFTER ? "after" : "before");
}

/* Writes the kinds of time in the total: "CPU and GPU time, waiting by stack". */
static void write_kinds(const struct picture *p)
{
	static const char *const others[ROW_KINDS] = {
		[ROW_WAIT] = "waiting", [ROW_CALL] = "CUDA calls", [ROW_IDLE] = "idle GPUs"};
	const double *ns = p->boxes[0].all.ns;
	const char *before = "";

	if (ns[ROW_CPU] > 0 || ns[ROW_GPU] > 0) {
		fprintf(p->out, "%s time",
			ns[ROW_GPU] <= 0   ? "CPU"
			: ns[ROW_CPU] <= 0 ? "GPU"
					   : "CPU and GPU");
		before = ", ";
	}
	for (int kind = 0; kind < ROW_KINDS; kind++) {
		if (!others[kind] || ns[kind] <= 0)
			continue;
		fprintf(p->out, "%s%s", before, others[kind]);
		before = ", ";
	}
	fprintf(p->out, " by stack");
}

static void write_title(const struct picture *p)
{
	const char *command = p->result->totals.command ? p->result->totals.command
			      : p->comparison           ? "Folded stacks"
							: "";
	char ran[TEXT_BYTES], frames[TEXT_BYTES];
	const struct weight *weight = p->result->weight;

	fprintf(p->out, "<title>");
	markup_xml(p->out, command, NAME_CHARACTERS);
	fprintf(p->out, "</title>\n<g><title>");
	markup_xml(p->out, command, NAME_CHARACTERS);
	fprintf(p->out, "</title>\n<text class=\"command\" x=\"%g\" y=\"30\">", MARGIN);
	markup_xml(p->out, command, (size_t)(INNER / TITLE_COLUMN) - 1);
	fprintf(p->out, "</text></g>\n<text class=\"about\" x=\"%g\" y=\"50\">", MARGIN);
	if (p->comparison)
		write_runs(p);
	else if (p->all_ns <= 0)
		fprintf(p->out, "Empty: %s",
			p->result->totals.shown ? "nothing of the run is left"
			: weight                ? "nothing was measured"
						: "no time was recorded");
	else if (weight) {
		markup_xml(p->out, weight->title, NAME_CHARACTERS);
		fprintf(p->out, " by stack%s%s", weight->note[0] ? ", " : "", weight->note);
	} else
		write_kinds(p);
	if (p->result->totals.elapsed_ns && !p->comparison)
		fprintf(p->out, " · ran %s", time_text(ran, (double)p->result->totals.elapsed_ns));
	if (p->result->totals.shown) {
		fprintf(p->out, " · with ");
		markup_xml(p->out, p->result->totals.shown, SHOWN_CHARACTERS);
	}
	fprintf(p->out, " · %s frame%s</text>\n", count_text(frames, p->layout.count - 1),
		p->layout.count == 2 ? "" : "s");
}

/* Writes a swatch and a text. Returns the x behind them. */
static double write_key(const struct picture *p, double x, double y, const char *word,
			const char *attributes, const char *text)
{
	fprintf(p->out,
		"<g class=\"key\"%s transform=\"translate(%g,%g)\"><rect class=\"%s\" width=\"11\" "
		"height=\"11\" y=\"-10\" rx=\"2\"/><text x=\"17\">",
		attributes, x, y, word);
	markup_xml(p->out, text, NAME_CHARACTERS);
	fprintf(p->out, "</text></g>\n");
	return x + 17 + columns_of(text) * COLUMN + 20;
}

/* Writes the total change. Kinds of time are left out: their colours would look like changes. */
static void write_change_of_all(const struct picture *p)
{
	fprintf(p->out, "<g class=\"totals\"><text class=\"sum\" x=\"%g\" y=\"%g\">", MARGIN,
		TOTALS_Y);
	write_change(p, &p->comparison->changes[RESULT_ROOT]);
	fprintf(p->out, "</text></g>\n<g class=\"split\"></g>\n");
}

static void write_totals(const struct picture *p)
{
	const double *ns = p->boxes[0].all.ns;
	char time[TEXT_BYTES], share[TEXT_BYTES], attributes[96], text[2 * TEXT_BYTES + 32];
	double x = MARGIN;

	amount_text(p, time, p->all_ns);
	fprintf(p->out,
		"<g class=\"totals\"><text class=\"sum\" x=\"%g\" y=\"%g\" "
		"data-ns=\"%.0f\">%s</text>\n",
		x, TOTALS_Y, p->all_ns, time);
	x += columns_of(time) * COLUMN + 20;
	for (int kind = 0; kind < ROW_KINDS; kind++) {
		if (ns[kind] <= 0)
			continue;
		snprintf(text, sizeof(text), "%s %s  %s", row_kinds[kind].label,
			 amount_text(p, time, ns[kind]), share_text(share, ns[kind], p->all_ns));
		snprintf(attributes, sizeof(attributes), " data-total=\"%s\" data-ns=\"%.0f\"",
			 row_kinds[kind].label, ns[kind]);
		x = write_key(p, x, TOTALS_Y, frame_kind_word(row_kinds[kind].colour), attributes,
			      text);
	}
	fprintf(p->out, "</g>\n<g class=\"split\" transform=\"translate(%g,85)\">", MARGIN);
	x = 0;
	for (int kind = 0; kind < ROW_KINDS; kind++) {
		double width = ns[kind] * p->scale;

		if (width <= 0)
			continue;
		fprintf(p->out, "<rect class=\"%s\" x=\"%.2f\" width=\"%.2f\" height=\"5\"/>",
			frame_kind_word(row_kinds[kind].colour), x, width);
		x += width;
	}
	fprintf(p->out, "</g>\n");
}

static const struct change *change_of_box(const struct picture *p, uint32_t box)
{
	return &p->comparison->changes[p->boxes[box].node];
}

/*
 * Returns the kind of change of a box. The root has none: its difference is that of the lengths
 * of the runs, which the text above tells.
 */
static enum change_kind change_kind_of_box(const struct picture *p, uint32_t box)
{
	return p->boxes[box].node == RESULT_ROOT ? CHANGE_NOISE
						 : change_kind_of(change_of_box(p, box));
}

/*
 * Returns the colour of a box: its kind of frame, or of change.
 */
static int colour_of(const struct picture *p, uint32_t box)
{
	if (p->comparison)
		return (int)change_kind_of_box(p, box);
	return (int)frame_kind_of(&p->result->frames[p->nodes[p->boxes[box].node].frame]);
}

static const char *colour_word(const struct picture *p, int colour)
{
	return p->comparison ? change_kind_word((enum change_kind)colour)
			     : frame_kind_word((enum frame_kind)colour);
}

static const char *colour_label(const struct picture *p, int colour)
{
	return p->comparison ? change_kind_label((enum change_kind)colour)
			     : frame_kind_label((enum frame_kind)colour);
}

#define COLOURS (FRAME_KINDS > (int)CHANGE_KINDS ? FRAME_KINDS : (int)CHANGE_KINDS)

/* Writes the colours that occur. Sets the top of the rows. */
static void write_legend(struct picture *p)
{
	bool occurs[COLOURS] = {false};
	double x = MARGIN, y = LEGEND_Y;

	for (uint32_t i = 1; i < p->layout.count; i++)
		occurs[colour_of(p, i)] = true;
	fprintf(p->out, "<g class=\"legend\">");
	for (int colour = 0; colour < COLOURS; colour++) {
		const char *label = occurs[colour] ? colour_label(p, colour) : "";

		if (!occurs[colour])
			continue;
		if (x > MARGIN && x + 17 + columns_of(label) * COLUMN > WIDTH - MARGIN) {
			x = MARGIN;
			y += LEGEND_ROW;
		}
		x = write_key(p, x, y, colour_word(p, colour), "", label);
	}
	fprintf(p->out, "</g>\n");
	p->top = y + 14;
}

/* ---- the boxes, for viewers without script ---- */

static bool is_drawn(const struct picture *p, uint32_t box)
{
	return box == 0 || p->boxes[box].total_ns >= p->least_drawn_ns;
}

/* Chooses the boxes to draw. */
static void choose_drawn(struct picture *p)
{
	uint32_t drawn;

	p->least_drawn_ns = p->scale > 0 ? NARROWEST / p->scale : 0;
	do {
		drawn = 0;
		p->rows = 1;
		for (uint32_t i = 1; i < p->layout.count; i++) {
			if (!is_drawn(p, i))
				continue;
			drawn++;
			if (p->boxes[i].depth + 1 > p->rows)
				p->rows = p->boxes[i].depth + 1;
		}
		p->hidden = p->layout.count - 1 - drawn;
		p->least_drawn_ns *= drawn > BOXES_DRAWN_MAX ? 1.2 : 1;
	} while (drawn > BOXES_DRAWN_MAX);
	p->rows++; /* for fillers below the last row */
}

static double row_y(const struct picture *p, uint32_t depth)
{
	return ROW * (p->is_flame ? p->rows - 1 - depth : depth);
}

static void write_rect(const struct picture *p, double start_ns, double ns, uint32_t depth,
		       double width)
{
	double w = width - (width > 3 ? GAP : 0);

	fprintf(p->out, "<rect x=\"%.2f\" y=\"%g\" width=\"%.2f\" height=\"%g\"%s/>",
		ns > 0 ? start_ns * p->scale : 0, row_y(p, depth), w, BOX,
		w > 6 ? " rx=\"1.5\"" : "");
}

static void write_box(const struct picture *p, uint32_t at)
{
	const struct flame_box *box = &p->boxes[at];
	const struct frame_info root = {.class = CLASS_PLACE, .name = "all"};
	const struct frame_info *frame =
		at == 0 ? &root : &p->result->frames[p->nodes[box->node].frame];
	double width = at == 0 ? INNER : box->total_ns * p->scale;
	char time[TEXT_BYTES], share[TEXT_BYTES];
	struct frame_label label;

	frame_label_fit(&label, frame, (uint32_t)(width > 8 ? (width - 8) / COLUMN : 0));
	fprintf(p->out, "<g class=\"%s%s\"><title>",
		at == 0 ? "root" : colour_word(p, colour_of(p, at)),
		at == 0 || p->comparison ? "" : shade_of(frame->name));
	markup_xml(p->out, frame->name, TITLE_CHARACTERS);
	fprintf(p->out, "\n%s, ", amount_text(p, time, box->total_ns));
	markup_xml(p->out, share_text(share, box->total_ns, p->all_ns), TEXT_BYTES);
	if (call_node_ns(&p->nodes[box->node]) > 0)
		fprintf(p->out, "; own %s",
			amount_text(p, time, call_node_ns(&p->nodes[box->node])));
	if (p->comparison) {
		fputc('\n', p->out);
		write_change(p, change_of_box(p, at));
	}
	fprintf(p->out, "</title>");
	write_rect(p, box->start_ns, box->total_ns, box->depth, width);
	if (label.count > 0) {
		fprintf(p->out, "<text x=\"%.2f\" y=\"%g\">", box->start_ns * p->scale + 4,
			row_y(p, box->depth) + 13);
		put_label(p->out, &label);
		fprintf(p->out, "</text>");
	}
	fprintf(p->out, "</g>\n");
}

/* Writes callees that are too narrow, beside each other from `start_ns` to `end_ns`, as one box. */
static void write_filler(const struct picture *p, uint32_t depth, double start_ns, double end_ns)
{
	double ns = end_ns - start_ns, width = ns * p->scale;
	char time[TEXT_BYTES];

	if (width < NARROWEST)
		return;
	fprintf(p->out, "<g class=\"more\"><title>frames too narrow to draw: %s</title>",
		amount_text(p, time, ns));
	write_rect(p, start_ns, ns, depth, width);
	fprintf(p->out, "</g>\n");
}

static int write_boxes(const struct picture *p)
{
	double *filled_ns =
		malloc(p->layout.count * sizeof(*filled_ns)); /* up to where each is filled */

	if (!filled_ns)
		return -ENOMEM;
	fprintf(p->out, "<g class=\"boxes\" transform=\"translate(%g,%g)\">\n", MARGIN, p->top);
	for (uint32_t i = 0; i < p->layout.count; i++) {
		const struct flame_box *box = &p->boxes[i];

		if (!is_drawn(p, i))
			continue;
		if (i > 0) {
			write_filler(p, box->depth, filled_ns[box->parent], box->start_ns);
			filled_ns[box->parent] = box->start_ns + box->total_ns;
		}
		filled_ns[i] = box->start_ns;
		write_box(p, i);
	}
	for (uint32_t i = 0; i < p->layout.count; i++) {
		const struct flame_box *box = &p->boxes[i];

		if (is_drawn(p, i))
			write_filler(p, box->depth + 1, filled_ns[i],
				     box->start_ns + box->total_ns -
					     call_node_ns(&p->nodes[box->node]));
	}
	fprintf(p->out, "</g>\n");
	free(filled_ns);
	return 0;
}

/* Writes how many frames only the other side has: they have no width here. */
static void write_absent(const struct picture *p)
{
	bool is_after = p->comparison->shown == SIDE_AFTER;
	uint32_t count = 0;
	double sum = 0;
	char number[TEXT_BYTES], time[TEXT_BYTES];

	for (uint32_t i = 1; i < p->result->stack_count; i++) {
		const struct change *all = &p->comparison->changes[i];
		const struct change *own = &p->comparison->own[i];

		if ((is_after ? all->after : all->before) > 0)
			continue;
		count += (is_after ? all->before : all->after) > 0;
		sum += is_after ? own->before : own->after;
	}
	fprintf(p->out, "<text class=\"foot absent\" y=\"%d\">",
		p->layout.narrow || p->layout.deep ? 36 : 18);
	if (count)
		fprintf(p->out, "%s frame%s of %s %s only in the runs %s: --widths %s shows %s",
			count_text(number, count), count == 1 ? "" : "s", amount_text(p, time, sum),
			count == 1 ? "is" : "are", is_after ? "before" : "after",
			is_after ? "before" : "after", count == 1 ? "it" : "them");
	fprintf(p->out, "</text>");
}

static void write_foot(const struct picture *p)
{
	double y = p->top + p->rows * ROW + 16;
	char count[TEXT_BYTES], deep[TEXT_BYTES], time[TEXT_BYTES];

	fprintf(p->out, "<g class=\"notes\" transform=\"translate(%g,%g)\">", MARGIN, y);
	fprintf(p->out, "<text class=\"foot hidden\">");
	if (p->hidden)
		fprintf(p->out, "%s frame%s too narrow to draw at this zoom%s",
			count_text(count, p->hidden), p->hidden == 1 ? " is" : "s are",
			p->hidden == 1 ? "" : "; many together are grey");
	fprintf(p->out,
		"</text>\n<text class=\"foot\" y=\"18\" data-narrow=\"%u\" data-deep=\"%u\">",
		p->layout.narrow, p->layout.deep);
	if (p->layout.narrow)
		fprintf(p->out, "%s frame%s shorter than %s", count_text(count, p->layout.narrow),
			p->layout.narrow == 1 ? "" : "s", amount_text(p, time, p->layout.least_ns));
	if (p->layout.deep)
		fprintf(p->out, "%s%s frame%s below row %u", p->layout.narrow ? " and " : "",
			count_text(deep, p->layout.deep), p->layout.deep == 1 ? "" : "s",
			limits.depth);
	if (p->layout.narrow || p->layout.deep)
		fprintf(p->out, " left out; their time is in their callers");
	fprintf(p->out, "</text>");
	if (p->comparison)
		write_absent(p);
	fprintf(p->out, "</g>\n");
}

/* ---- data of all boxes, for the script ---- */

#define NO_NUMBER UINT32_MAX

/* Numbers the frames in the order in which they first appear. */
static int number_frames(struct picture *p)
{
	uint32_t count = 0;

	p->numbers = malloc((p->result->frame_count + 1) * sizeof(*p->numbers));
	if (!p->numbers)
		return -ENOMEM;
	for (uint32_t i = 0; i < p->result->frame_count; i++)
		p->numbers[i] = NO_NUMBER;
	for (uint32_t i = 1; i < p->layout.count; i++) {
		uint32_t frame = p->nodes[p->boxes[i].node].frame;
		const struct frame_info *info = &p->result->frames[frame];

		if (p->numbers[frame] != NO_NUMBER)
			continue;
		p->numbers[frame] = count++;
		if (info->module &&
		    record_get(&p->modules, &info->module, &info->module) == RECORD_NONE)
			return -ENOMEM;
	}
	return 0;
}

/* Returns how many characters of each name to keep, so that all fit into NAME_BYTES_ALL. */
static size_t name_limit(const struct picture *p)
{
	for (size_t limit = NAME_CHARACTERS;; limit /= 2) {
		size_t sum = 0;

		for (uint32_t i = 0; i < p->result->frame_count; i++)
			if (p->numbers[i] != NO_NUMBER)
				sum += strnlen(p->result->frames[i].name, limit);
		if (sum <= NAME_BYTES_ALL || limit < 64)
			return limit;
	}
}

/* Writes [name, short name or 0 if equal, kind, place]: [file, line], a module's number, or 0. */
static void write_name(const struct picture *p, const struct frame_info *frame, size_t limit)
{
	fputc('[', p->out);
	markup_json(p->out, frame->name, limit);
	fputc(',', p->out);
	if (strcmp(frame->short_name, frame->name) == 0)
		fputc('0', p->out);
	else
		markup_json(p->out, frame->short_name, limit);
	fprintf(p->out, ",%d,", (int)frame_kind_of(frame));
	if (frame->file) {
		char line[16] = "";

		if (frame->line)
			snprintf(line, sizeof(line), ",%u", frame->line);
		fputc('[', p->out);
		markup_json(p->out, frame->file, limit);
		fprintf(p->out, "%s]", line);
	} else if (frame->module) {
		fprintf(p->out, "%u", record_find(&p->modules, &frame->module) + 1);
	} else {
		fputc('0', p->out);
	}
	fputc(']', p->out);
}

static void write_names(const struct picture *p)
{
	size_t limit = name_limit(p);
	uint32_t next = 0;

	fprintf(p->out, ",\n\"modules\":[");
	for (uint32_t i = 0; i < p->modules.count; i++) {
		fputs(i ? "," : "", p->out);
		markup_json(p->out, p->modules.list[i], limit);
	}
	fprintf(p->out, "],\n\"names\":[");
	/* frames are numbered in the order of the boxes */
	for (uint32_t i = 1; i < p->layout.count; i++) {
		uint32_t frame = p->nodes[p->boxes[i].node].frame;

		if (p->numbers[frame] != next)
			continue;
		fputs(next++ ? ",\n" : "", p->out);
		write_name(p, &p->result->frames[frame], limit);
	}
	fprintf(p->out, "]");
}

struct amounts {
	unsigned int bits;
	int length;
	char text[(4 * ROW_KINDS + 3) * 21 + 1];
};

static void add_number(struct amounts *a, uint64_t number)
{
	a->length += snprintf(a->text + a->length, sizeof(a->text) - (size_t)a->length, ",%" PRIu64,
			      number);
}

/* Adds the times and counts that are not 0. */
static void add_amounts(struct amounts *a, unsigned int first_bit, const double *ns,
			const uint64_t *count)
{
	for (unsigned int kind = 0; kind < ROW_KINDS; kind++) {
		if (ns[kind] <= 0 && count[kind] == 0)
			continue;
		a->bits |= 1u << (first_bit + kind);
		add_number(a, (uint64_t)ns[kind]);
		add_number(a, count[kind]);
	}
}

static void add_amount(struct amounts *a, unsigned int bit, uint64_t number)
{
	if (!number)
		return;
	a->bits |= 1u << bit;
	add_number(a, number);
}

/* Returns what separates the numbers of a box from those before. */
static const char *before_box(uint32_t box)
{
	return box == 0 ? "" : box % 8 ? "," : ",\n";
}

/*
 * Writes the data of the boxes, each as:
 *  - depth of the box before it plus 1, minus its own depth
 *  - the number of its name
 *  - bits that tell which of the following numbers are there
 *  - for each kind of row its own time and count
 *  - for each kind of row the time and count of the frames left out inside it
 *  - its own bytes; bytes of the frames left out; number of the frames left out
 */
static void write_box_data(const struct picture *p)
{
	fprintf(p->out, ",\n\"boxes\":[");
	for (uint32_t i = 0; i < p->layout.count; i++) {
		const struct flame_box *box = &p->boxes[i];
		const struct call_node *node = &p->nodes[box->node];
		struct amounts a = {.bits = 0};

		add_amounts(&a, 0, node->weight_ns, node->count);
		add_amounts(&a, ROW_KINDS, box->rest.ns, box->rest.count);
		add_amount(&a, 2 * ROW_KINDS, node->bytes);
		add_amount(&a, 2 * ROW_KINDS + 1, box->rest.bytes);
		add_amount(&a, 2 * ROW_KINDS + 2, box->left_out);
		fprintf(p->out, "%s%u,%u,%u%s", before_box(i),
			i == 0 ? 0 : p->boxes[i - 1].depth + 1 - box->depth,
			i == 0 ? 0 : p->numbers[node->frame], a.bits, a.text);
	}
	fprintf(p->out, "]");
}

/* Writes [before, after, bound, number of the kind of change] of each box. */
static void write_changes(const struct picture *p)
{
	fprintf(p->out, ",\n\"weights\":%s,\"changeKinds\":[",
		p->comparison->is_weights ? "true" : "false");
	for (int kind = 0; kind < CHANGE_KINDS; kind++)
		fprintf(p->out, "%s[\"%s\",\"%s\"]", kind ? "," : "",
			change_kind_word((enum change_kind)kind),
			change_kind_label((enum change_kind)kind));
	fprintf(p->out, "],\n\"changes\":[");
	for (uint32_t i = 0; i < p->layout.count; i++) {
		const struct change *c = change_of_box(p, i);

		fprintf(p->out, "%s%.0f,%.0f,%.0f,%d", before_box(i), c->before, c->after, c->bound,
			(int)change_kind_of_box(p, i));
	}
	fprintf(p->out, "]");
}

static int write_data(struct picture *p)
{
	int err = number_frames(p);

	if (err)
		return err;
	fprintf(p->out, "<script type=\"application/json\" class=\"data\">{\"flame\":%s,\n",
		p->is_flame ? "true" : "false");
	if (!is_time(p->result))
		fprintf(p->out, "\"unit\":\"%s\",\n", p->result->weight->unit);
	fprintf(p->out, "\"rowKinds\":[");
	for (int kind = 0; kind < ROW_KINDS; kind++)
		fprintf(p->out, "%s\"%s\"", kind ? "," : "", row_kinds[kind].label);
	fprintf(p->out, "],\n\"kinds\":[");
	for (int kind = 0; kind < FRAME_KINDS; kind++)
		fprintf(p->out, "%s[\"%s\",\"%s\"]", kind ? "," : "",
			frame_kind_word((enum frame_kind)kind),
			frame_kind_label((enum frame_kind)kind));
	fputc(']', p->out);
	write_names(p);
	write_box_data(p);
	if (p->comparison)
		write_changes(p);
	fprintf(p->out, "}</script>\n");
	return 0;
}

/* ---- the file ---- */

static void write_pattern(FILE *out, const char *name)
{
	fprintf(out,
		"<pattern id=\"flame-%s\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\" "
		"patternTransform=\"rotate(45)\"><rect class=\"%s-ground\" width=\"6\" "
		"height=\"6\"/><rect class=\"%s-line\" width=\"2\" height=\"6\"/></pattern>\n",
		name, name, name);
}

/* Writes a source file of the picture, which must not contain "]]>". */
static void write_source(FILE *out, const char *element, const char *from, const char *end)
{
	fprintf(out, "<%s><![CDATA[\n", element);
	fwrite(from, 1, (size_t)(end - from), out);
	fprintf(out, "]]></%s>\n", element);
}

/* Writes the file. The head is written first: its legend decides the height of the picture. */
static int write_picture(struct picture *p)
{
	FILE *out = p->out;
	char *head = NULL;
	size_t size = 0;
	double height;
	int err;

	p->out = open_memstream(&head, &size);
	if (!p->out)
		return -ENOMEM;
	write_title(p);
	if (p->comparison)
		write_change_of_all(p);
	else
		write_totals(p);
	write_legend(p);
	if (fclose(p->out) != 0 || !head) {
		free(head);
		return -ENOMEM;
	}
	p->out = out;
	height = p->top + p->rows * ROW + (p->comparison ? 64 : 46);
	fprintf(out,
		"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		"<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"flame\" width=\"%g\" "
		"height=\"%g\" viewBox=\"0 0 %g %g\">\n",
		WIDTH, height, WIDTH, height);
	write_source(out, "style", svg_style, svg_style_end);
	fprintf(out, "<defs>\n");
	write_pattern(out, "wait");
	write_pattern(out, "call");
	fprintf(out, "</defs>\n<rect class=\"page\" width=\"100%%\" height=\"100%%\"/>\n");
	fwrite(head, 1, size, out);
	free(head);
	err = write_boxes(p);
	write_foot(p);
	if (!err)
		err = write_data(p);
	write_source(out, "script", svg_script, svg_script_end);
	fprintf(out, "</svg>\n");
	return err;
}

static int write_svg(const struct result *result, const struct writer_options *options, FILE *out,
		     struct written *written)
{
	struct call_tree *tree = call_tree_new(result);
	struct picture p = {.result = result,
			    .comparison = options->comparison,
			    .out = out,
			    .is_flame = options->root_at_bottom};
	uint32_t count;
	int err = -ENOMEM;

	*written = written_in_ns(result);
	if (!tree)
		return -ENOMEM;
	p.nodes = call_tree_nodes(tree, &count);
	err = flame_layout_make(&p.layout, tree, &limits);
	if (err)
		goto out;
	p.boxes = p.layout.boxes;
	p.all_ns = p.boxes[0].total_ns;
	p.scale = p.all_ns > 0 ? INNER / p.all_ns : 0;
	choose_drawn(&p);
	err = write_picture(&p);
	if (!err && ferror(out))
		err = -EIO;
	written->items = p.layout.count - 1;
out:
	flame_layout_release(&p.layout);
	record_set_release(&p.modules.set);
	free(p.numbers);
	call_tree_free(tree);
	return err;
}

const struct writer svg_writer = {.name = "svg",
				  .suffix = ".svg",
				  .has_both_names = true,
				  .shows_weights = true,
				  .item = "frame",
				  .write = write_svg};
