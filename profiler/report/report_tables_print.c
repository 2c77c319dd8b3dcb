// SPDX-License-Identifier: MIT
#include "profiler/report/report_tables_print.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "profiler/model/quantity.h"
#include "profiler/report/top.h"
#include "profiler/findings/report_tables.h"

#define LINES 10
#define TEXT_LEAST 24 /* minimum columns of the last cell */
#define TEXT_MOST 160 /* maximum of a text without a terminal */
#define GAP 3         /* spaces before the last cell */

/* Limits of lines. */
struct fit {
	unsigned int width;
	bool is_terminal;
};

static const char *cell_text(char text[QUANTITY_BYTES], const struct result *r,
			     const struct report_column *column, union report_cell cell)
{
	switch (column->kind) {
	case REPORT_CELL_TEXT:
	case REPORT_CELL_NOTE:
		return cell.text;
	case REPORT_CELL_FRAME:
		return frame_report_name(&r->frames[cell.number]);
	case REPORT_CELL_TIME:
		return time_text(text, (double)cell.number);
	case REPORT_CELL_BYTES:
		return bytes_text(text, cell.number);
	case REPORT_CELL_SHARE:
		snprintf(text, QUANTITY_BYTES, "%.1f %%", (double)cell.number / 10);
		return text;
	case REPORT_CELL_THOUSANDTHS:
		snprintf(text, QUANTITY_BYTES, "%.2f", (double)cell.number / 1000);
		return text;
	case REPORT_CELL_NUMBER:
		return number_text(text, cell.real);
	case REPORT_CELL_COUNT:
		break;
	}
	snprintf(text, QUANTITY_BYTES, "%" PRIu64, cell.number);
	return text;
}

/*
 * Prints the last cell, cut to `columns`. Texts are cut in the middle, since their ends differ as
 * much as their beginnings ("sm__warps_active.avg.pct_of_peak_sustained_active"). Frames are cut
 * at the end.
 */
static void print_last(struct log *log, const char *line, const char *text, unsigned int columns,
		       bool is_text)
{
	unsigned int last = is_text ? columns / 3 : 0;
	int bytes = top_fitting(text, columns);
	const char *end = text + strlen(text);

	if (!text[bytes]) {
		log_row(log, "%s   %s", line, text);
		return;
	}
	bytes = top_fitting(text, columns - last);
	for (; last > 0; last--)
		do
			end--;
		while (((unsigned char)*end & 0xc0) == 0x80);
	log_row(log, "%s   %.*s\xe2\x80\xa6%s", line, bytes, text, end);
}

/* Prints a line of a table; the head if `row` is NULL. */
static void print_line(struct log *log, const struct result *r, const struct report_table *f,
		       const union report_cell *row, const struct fit *fit)
{
	char line[1024] = "", number[QUANTITY_BYTES];
	unsigned int used = 0;

	for (uint32_t i = 0; i < f->column_count; i++) {
		const struct report_column *c = &f->columns[i];
		const char *text = row ? cell_text(number, r, c, row[i]) : c->label;

		if (c->width == 0 || c->width == REPORT_CELL_ABOVE || c->kind == REPORT_CELL_NOTE)
			continue;
		if (c->width == UINT8_MAX) {
			unsigned int taken = used + GAP, left = TEXT_LEAST;

			if (fit->width > taken + TEXT_LEAST)
				left = fit->width - taken;
			if (c->kind == REPORT_CELL_TEXT && !fit->is_terminal)
				left = TEXT_MOST;
			print_last(log, line, text, left, c->kind == REPORT_CELL_TEXT);
			return;
		}
		/* a number that is too wide shifts the rest of the line */
		if (used + strlen(text) + c->width + 2 < sizeof(line))
			used += (unsigned int)snprintf(line + used, sizeof(line) - used, " %*s",
						       c->width, text);
	}
	log_row(log, "%s", line);
}

/* Prints the cells shown above rows, unless the previous row has equal ones. */
static void print_above(struct log *log, const struct report_table *f, uint32_t row,
			unsigned int width)
{
	const union report_cell *this = report_table_row(f, row);
	const union report_cell *last = row > 0 ? report_table_row(f, row - 1) : NULL;

	for (uint32_t i = 0; i < f->column_count; i++) {
		int bytes;

		if (f->columns[i].width != REPORT_CELL_ABOVE ||
		    (last && strcmp(last[i].text, this[i].text) == 0))
			continue;
		bytes = top_fitting(this[i].text, width);
		log_row(log, "  %.*s%s", bytes, this[i].text,
			this[i].text[bytes] ? "\xe2\x80\xa6" : "");
	}
}

static void print_notes(struct log *log, const struct report_table *f, const union report_cell *row,
			unsigned int width)
{
	for (uint32_t i = 0; i < f->column_count; i++) {
		int bytes;

		if (f->columns[i].kind != REPORT_CELL_NOTE || !row[i].text[0])
			continue;
		bytes = top_fitting(row[i].text, 2 * width);
		log_row(log, "             %s: %.*s%s", f->columns[i].label, bytes, row[i].text,
			row[i].text[bytes] ? "\xe2\x80\xa6" : "");
	}
}

void report_tables_print(struct log *log, const struct result *result, unsigned int width,
			 bool is_terminal, bool is_full)
{
	const struct fit fit = {width, is_terminal};
	const char *nothing =
		ledger_has_gpu_time(result->totals.ledger) ? " none" : " not measured";
	struct report_tables list;
	int err = report_tables_of(result, &list);

	for (uint32_t i = 0; i < list.count; i++) {
		const struct report_table *f = list.tables[i];
		uint64_t more = f->left_out;

		if (f->is_detail && !is_full)
			continue;
		log_line(log, "%s:%s", f->title, f->count + more ? "" : nothing);
		if (f->count)
			print_line(log, result, f, NULL, &fit);
		for (uint32_t row = 0; row < f->count; row++) {
			if (row >= (f->lines ? f->lines : LINES)) {
				more += f->count - row;
				break;
			}
			print_above(log, f, row, width);
			print_line(log, result, f, report_table_row(f, row), &fit);
			print_notes(log, f, report_table_row(f, row), width);
		}
		if (more)
			log_row(log, "             (%" PRIu64 " more)", more);
	}
	if (err)
		log_warn(log, "a table of the report could not be made: %s", strerror(-err));
	report_tables_release(&list);
}
