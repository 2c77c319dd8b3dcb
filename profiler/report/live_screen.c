// SPDX-License-Identifier: MIT
#include "profiler/report/live_screen.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "profiler/base/columns.h"
#include "profiler/model/quantity.h"
#include "symbolize/util/text.h"

#define ROWS_MIN 8     /* rows that a terminal needs for a block */
#define ROWS_LEFT 5    /* minimum left for the program's output, or a third of all rows */
#define WIDTH_MIN 20   /* columns that a terminal needs for a block */
#define WIDE_TABLE 64  /* columns that a table with all columns needs */
#define DEVICE_LINES 4 /* more devices share a line */
#define PART_BYTES 512
#define NAME_BYTES 2048 /* bytes of a name before the cut to columns */

/* ---- lines ---- */

struct block {
	struct terminal_line *lines;
	unsigned int width, height, count;
	bool is_full;                /* the current line takes no more parts */
	struct terminal_line beyond; /* scratch line after the block is full */
};

static struct terminal_line *new_line(struct block *b, enum terminal_style style)
{
	struct terminal_line *line = b->count < b->height ? &b->lines[b->count++] : &b->beyond;

	line->style = style;
	line->text[0] = '\0';
	b->is_full = false;
	return line;
}

/* Appends printable text, cut so that the line has at most `width` columns. */
static void append(struct terminal_line *line, const char *text, unsigned int width)
{
	size_t used = strlen(line->text), bytes;
	unsigned int taken = columns_of(line->text), fitting;

	bytes = columns_fit(text, width > taken ? width - taken : 0, &fitting);
	if (bytes > sizeof(line->text) - 1 - used)
		return;
	memcpy(line->text + used, text, bytes);
	line->text[used + bytes] = '\0';
}

/* Appends an untrusted name, with an ellipsis if it is cut. */
static void append_name(struct terminal_line *line, const char *name, unsigned int width)
{
	char clean[NAME_BYTES];
	unsigned int taken = columns_of(line->text), fitting;
	size_t bytes;

	if (taken >= width)
		return;
	snprintf(clean, sizeof(clean), "%.*s", (int)fit_utf8(name, sizeof(clean) - 1), name);
	clean_text(clean);
	bytes = columns_fit(clean, width - taken, &fitting);
	if (clean[bytes]) {
		bytes = columns_fit(clean, width - taken - 1, &fitting);
		snprintf(clean + bytes, sizeof(clean) - bytes, "\xe2\x80\xa6");
	}
	append(line, clean, width);
}

/* Appends a part to a line, after two spaces, if the part fits. */
static void __attribute__((format(printf, 3, 4)))
add_part(struct block *b, struct terminal_line *line, const char *format, ...)
{
	char text[PART_BYTES];
	unsigned int taken = columns_of(line->text), gap = taken ? 2 : 0;
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	b->is_full |= taken + gap + columns_of(text) > b->width;
	if (b->is_full)
		return;
	append(line, gap ? "  " : "", b->width);
	append(line, text, b->width);
}

/* ---- numbers ---- */

static void add_title(struct block *b, const struct live_numbers *n,
		      const struct live_settings *settings)
{
	struct terminal_line *line = new_line(b, TERMINAL_REVERSE);
	uint64_t seconds = n->elapsed_ns / 1000000000u;

	add_part(b, line, "profile %" PRIu64 ":%02u:%02u", seconds / 3600,
		 (unsigned int)(seconds / 60 % 60), (unsigned int)(seconds % 60));
	if (settings->is_paused)
		add_part(b, line, "paused");
	append(line, "  ", b->width);
	append_name(line, settings->command, b->width);
	for (unsigned int at = columns_of(line->text); at < b->width; at++)
		append(line, " ", b->width);
}

static void add_device(struct block *b, const struct live_device *d)
{
	struct terminal_line *line = new_line(b, TERMINAL_PLAIN);
	char memory[QUANTITY_BYTES];

	add_part(b, line, "%s %5.1f %% busy", d->label, d->busy / 10.0);
	add_part(b, line, "%.1f %% so far", d->busy_so_far / 10.0);
	if (d->memory)
		add_part(b, line, "%s allocated", bytes_text(memory, d->memory));
}

/* Adds one line for all devices from `first`. */
static void add_devices(struct block *b, const struct live_numbers *n, uint32_t first)
{
	struct terminal_line *line = new_line(b, TERMINAL_PLAIN);
	double busy = 0, so_far = 0;
	uint32_t count = n->device_count - first;

	for (uint32_t i = first; i < n->device_count; i++) {
		busy += n->devices[i].busy / 10.0;
		so_far += n->devices[i].busy_so_far / 10.0;
	}
	add_part(b, line, "%" PRIu32 " more GPUs %5.1f %% busy on average", count, busy / count);
	add_part(b, line, "%.1f %% so far", so_far / count);
}

static void add_numbers(struct block *b, const struct live_numbers *n)
{
	uint32_t shown = n->device_count > DEVICE_LINES ? DEVICE_LINES - 1 : n->device_count;
	struct terminal_line *line;

	for (uint32_t i = 0; i < shown; i++)
		add_device(b, &n->devices[i]);
	if (shown < n->device_count)
		add_devices(b, n, shown);
	line = new_line(b, TERMINAL_PLAIN);
	if (n->kernels != LIVE_NO_VALUE) {
		add_part(b, line, "%" PRIu64 " kernels/s", n->kernels_per_s);
		add_part(b, line, "%" PRIu64 " launched but not finished", n->waiting);
	}
	add_part(b, line, "%" PRIu64 " lost", n->lost);
	if (n->cpu != LIVE_NO_VALUE)
		add_part(b, line, "%.2f CPUs", (double)n->cpu / 100);
	if (n->calls != LIVE_NO_VALUE)
		add_part(b, line, "%.2f threads in CUDA calls", (double)n->calls / 100);
}

/* ---- tables ---- */

static double mean_of(const struct live_sum *sum)
{
	return sum->count ? (double)sum->ns / (double)sum->count : 0;
}

/* A line and its sort key. */
struct sorted_line {
	const struct live_line *line;
	double amount;
};

/* Orders by descending amount. Equal lines keep their order. */
static int by_amount(const void *a, const void *b)
{
	const struct sorted_line *x = a, *y = b;

	if (x->amount != y->amount)
		return x->amount < y->amount ? 1 : -1;
	return x->line < y->line ? -1 : x->line > y->line;
}

static void add_heading(struct block *b, enum live_table table)
{
	static const char *const names[] = {[LIVE_KERNELS] = "GPU work",
					    [LIVE_SITES] = "launched by",
					    [LIVE_FUNCTIONS] = "CPU function (own time)"};
	struct terminal_line *line = new_line(b, TERMINAL_BOLD);
	char text[PART_BYTES];

	if (b->width < WIDE_TABLE)
		snprintf(text, sizeof(text), "%11s %7s  %s", "time", "share", names[table]);
	else
		snprintf(text, sizeof(text), "%11s %7s %9s %11s  %s", "time", "share",
			 table == LIVE_FUNCTIONS ? "samples" : "calls",
			 table == LIVE_FUNCTIONS ? "" : "mean", names[table]);
	append(line, text, b->width);
}

static void add_row(struct block *b, enum live_table table, const struct live_list *list,
		    const struct live_line *row)
{
	struct terminal_line *line = new_line(b, TERMINAL_PLAIN);
	char text[PART_BYTES], time[QUANTITY_BYTES], mean[QUANTITY_BYTES] = "", share[32];

	time_text(time, (double)row->sum.ns);
	snprintf(share, sizeof(share), "%.1f %%", percent_of(row->sum.ns, list->whole.ns));
	if (table != LIVE_FUNCTIONS)
		time_text(mean, mean_of(&row->sum));
	if (b->width < WIDE_TABLE)
		snprintf(text, sizeof(text), "%11s %7s  ", time, share);
	else
		snprintf(text, sizeof(text), "%11s %7s %9" PRIu64 " %11s  ", time, share,
			 row->sum.count, mean);
	append(line, text, b->width);
	append_name(line, row->name, b->width);
}

/* Adds the heading and up to `rows` lines of a table. */
static void add_table(struct block *b, enum live_table table, const struct live_list *list,
		      enum live_order order, unsigned int rows)
{
	struct sorted_line *sorted = calloc(list->count + 1, sizeof(*sorted));

	if (!sorted)
		return;
	for (uint32_t i = 0; i < list->count; i++) {
		const struct live_sum *sum = &list->lines[i].sum;

		sorted[i].line = &list->lines[i]; /* lines are sorted by time */
		if (order != LIVE_BY_TIME)
			sorted[i].amount =
				order == LIVE_BY_CALLS ? (double)sum->count : mean_of(sum);
	}
	qsort(sorted, list->count, sizeof(*sorted), by_amount);
	add_heading(b, table);
	for (uint32_t i = 0; i < list->count && i < rows; i++)
		add_row(b, table, list, sorted[i].line);
	free(sorted);
}

/* Distributes `lines` to the shown tables: sets the number of rows, without headings. */
static void divide(const struct live_view *view, const struct live_settings *settings,
		   unsigned int lines, unsigned int rows[LIVE_TABLES])
{
	unsigned int left = lines;
	bool has_given = true;

	memset(rows, 0, LIVE_TABLES * sizeof(*rows));
	/* adds one row per table in turn, until lines or entries run out */
	while (left > 0 && has_given) {
		has_given = false;
		for (int i = 0; i < LIVE_TABLES; i++) {
			unsigned int cost =
				rows[i] ? 1 : 2; /* the first row needs the heading, too */

			if ((settings->table != LIVE_TABLES && settings->table != i) ||
			    rows[i] >= view->lists[i].count || cost > left)
				continue;
			rows[i]++;
			left -= cost;
			has_given = true;
		}
	}
}

/* ---- keys ---- */

static void add_hints(struct block *b, const struct live_settings *settings)
{
	static const char *const orders[] = {"time", "calls", "mean"};
	struct terminal_line *line = new_line(b, TERMINAL_BOLD);

	if (!settings->has_keys) {
		append(line,
		       "keys are off: the command may read this terminal (add </dev/null to use "
		       "them)",
		       b->width);
		return;
	}
	add_part(b, line, "q quit");
	add_part(b, line, "space %s", settings->is_paused ? "go on" : "pause");
	add_part(b, line, "s sort: %s", orders[settings->order]);
	add_part(b, line, "1 GPU work");
	add_part(b, line, "2 sites");
	add_part(b, line, "3 CPU");
	add_part(b, line, "0 all");
}

bool live_screen_key(struct live_settings *settings, char key)
{
	if (!settings->has_keys)
		return false;
	switch (key) {
	case '0':
		settings->table = LIVE_TABLES;
		return true;
	case '1':
	case '2':
	case '3':
		settings->table = key - '1';
		return true;
	case 's':
		settings->order = (settings->order + 1) % LIVE_ORDERS;
		return true;
	case ' ':
	case 'p':
		settings->is_paused = !settings->is_paused;
		return true;
	case 'q':
		settings->has_quit = true;
		return true;
	default:
		return false;
	}
}

/* ---- all of it ---- */

unsigned int live_screen_height(unsigned int rows)
{
	unsigned int left = rows / 3 > ROWS_LEFT ? rows / 3 : ROWS_LEFT;

	if (rows < ROWS_MIN)
		return 0;
	return rows - left < TERMINAL_LINES_MAX ? rows - left : TERMINAL_LINES_MAX;
}

unsigned int live_screen_draw(const struct live_view *view, const struct live_settings *settings,
			      unsigned int width, unsigned int height,
			      struct terminal_line lines[TERMINAL_LINES_MAX])
{
	struct block b = {.lines = lines,
			  .width = width < TERMINAL_WIDTH_MAX ? width : TERMINAL_WIDTH_MAX,
			  .height = height < TERMINAL_LINES_MAX ? height : TERMINAL_LINES_MAX};
	unsigned int rows[LIVE_TABLES];

	if (width < WIDTH_MIN)
		return 0;
	add_title(&b, &view->numbers, settings);
	add_numbers(&b, &view->numbers);
	divide(view, settings, b.height - b.count > 1 ? b.height - b.count - 1 : 0, rows);
	for (int i = 0; i < LIVE_TABLES; i++)
		if (rows[i])
			add_table(&b, (enum live_table)i, &view->lists[i], settings->order,
				  rows[i]);
	while (b.count + 1 < b.height)
		new_line(&b, TERMINAL_PLAIN);
	add_hints(&b, settings);
	return b.count;
}

void live_screen_plain(const struct live_numbers *n, char *line, size_t size)
{
	char memory[QUANTITY_BYTES];

	snprintf(line, size, "%" PRIu64 " s:", n->elapsed_ns / 1000000000u);
	for (uint32_t i = 0; i < n->device_count; i++) {
		const struct live_device *d = &n->devices[i];

		append_text(line, size, " %s %.1f %% busy (%.1f %% so far),", d->label,
			    d->busy / 10.0, d->busy_so_far / 10.0);
		if (d->memory)
			append_text(line, size, " %s allocated,", bytes_text(memory, d->memory));
	}
	if (n->kernels != LIVE_NO_VALUE)
		append_text(line, size,
			    " %" PRIu64 " kernels/s, %" PRIu64 " launched but not finished,",
			    n->kernels_per_s, n->waiting);
	if (n->cpu != LIVE_NO_VALUE)
		append_text(line, size, " %.2f CPUs,", (double)n->cpu / 100);
	if (n->calls != LIVE_NO_VALUE)
		append_text(line, size, " %.2f threads in CUDA calls,", (double)n->calls / 100);
	append_text(line, size, " %" PRIu64 " lost", n->lost);
}
