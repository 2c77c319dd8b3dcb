// SPDX-License-Identifier: MIT
#include "profiler/formats/markdown_parts.h"

#include <ctype.h>
#include <inttypes.h>
#include "profiler/formats/markdown_text.h"
#include "profiler/model/quantity.h"
#include "profiler/tables/work_parts.h"

bool markdown_parts_make(struct markdown_parts *parts, const struct result *result)
{
	*parts = (struct markdown_parts){{kernel_classes_report_table(result),
					  operators_report_table(result),
					  layer_kinds_report_table(result)}};
	for (int i = 0; i < MARKDOWN_PARTS; i++)
		if (!parts->tables[i])
			return false;
	return true;
}

void markdown_parts_release(struct markdown_parts *parts)
{
	for (int i = 0; i < MARKDOWN_PARTS; i++)
		report_table_free(parts->tables[i]);
}

/* Returns whether a column has a place on the page: a time or a share. The name is the last one. */
static bool is_shown(const struct report_column *column)
{
	return column->kind == REPORT_CELL_TIME || column->kind == REPORT_CELL_SHARE;
}

/* Writes the line of labels, which begin with a small letter, and the line below it. */
static void put_labels(FILE *out, const struct report_table *t)
{
	for (uint32_t i = 0; i < t->column_count; i++)
		if (is_shown(&t->columns[i]))
			fprintf(out, "| %c%s ", tolower((unsigned char)t->columns[i].label[0]),
				t->columns[i].label + 1);
	fputs("| |\n", out);
	for (uint32_t i = 0; i < t->column_count; i++)
		if (is_shown(&t->columns[i]))
			fputs("|--:", out);
	fputs("|---|\n", out);
}

static void put_row(FILE *out, const struct report_table *t, uint32_t row, unsigned int columns)
{
	const union report_cell *cells = report_table_row(t, row);
	char time[QUANTITY_BYTES];

	for (uint32_t i = 0; i < t->column_count; i++)
		if (t->columns[i].kind == REPORT_CELL_TIME)
			fprintf(out, "| %s ", time_text(time, (double)cells[i].number));
		else if (is_shown(&t->columns[i]))
			fprintf(out, "| %.1f %% ", (double)cells[i].number / 10);
	fputs("| ", out);
	markdown_text(out, cells[t->column_count - 1].text, columns);
	fputs(" |\n", out);
}

static void put_table(FILE *out, const struct report_table *t, uint32_t rows, unsigned int columns)
{
	uint32_t shown = t->count < rows ? t->count : rows;

	fprintf(out, "\n## %s\n\n", t->title);
	put_labels(out, t);
	for (uint32_t i = 0; i < shown; i++)
		put_row(out, t, i, columns);
	if (t->count + t->left_out == shown)
		return;
	for (uint32_t i = 0; i < t->column_count; i++)
		if (is_shown(&t->columns[i]))
			fputs("| ", out);
	fprintf(out, "| %" PRIu64 " more |\n", t->count + t->left_out - shown);
}

void markdown_parts_write(FILE *out, const struct markdown_parts *parts, uint32_t rows,
			  unsigned int columns)
{
	for (int i = 0; i < MARKDOWN_PARTS; i++)
		if (parts->tables[i]->count > 0)
			put_table(out, parts->tables[i], rows, columns);
}
