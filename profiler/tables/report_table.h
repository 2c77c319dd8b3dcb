/* SPDX-License-Identifier: MIT */
/*
 * Describes tables beside the profile: the report prints them, the summary lists them, and the page
 * shows them as tabs.
 *
 * A table has described columns, and rows, the most important first. Any module may make a table of
 * data that is no stack's time. REPORT_TABLE_ROWS_MAX rows are kept; further rows are counted.
 */
#ifndef PROFILER_TABLES_REPORT_TABLE_H
#define PROFILER_TABLES_REPORT_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "symbolize/util/intern.h"

struct result;

#define REPORT_TABLE_ROWS_MAX 1000u

/* Keep the numbers equal to those of table_view.js. */
enum report_cell_kind {
	REPORT_CELL_TEXT,
	REPORT_CELL_FRAME, /* number of a frame of the result */
	REPORT_CELL_COUNT,
	REPORT_CELL_TIME, /* ns */
	REPORT_CELL_BYTES,
	REPORT_CELL_SHARE,       /* thousandths: "50.0 %" */
	REPORT_CELL_THOUSANDTHS, /* "1.25" */
	REPORT_CELL_NOTE,        /* text; in the report on a line of its own, unless "" */
	REPORT_CELL_NUMBER,      /* `real`, any finite number */
};

struct report_column {
	const char *key;   /* in the summary */
	const char *label; /* for people */
	enum report_cell_kind kind;
	/*
	 * Width in the report; 0: not in the report. The last column and notes may have any width.
	 * Rows with equal texts of REPORT_CELL_ABOVE share a line above them.
	 */
	uint8_t width;
	uint8_t size;    /* bytes of the row's member */
	uint16_t offset; /* offset of the row's member */
};
#define REPORT_CELL_ABOVE (UINT8_MAX - 1)

/* A column that shows a member of `struct type`: a text, a double, or an unsigned number. */
#define REPORT_COLUMN(type, member, key, label, kind, width)                                     \
	{                                                                                        \
		(key), (label), REPORT_CELL_##kind, (width), sizeof(((struct type *)0)->member), \
			offsetof(struct type, member)                                            \
	}

union report_cell {
	uint64_t number;
	double real;
	const char *text;
};

struct report_table {
	const char *key, *title;
	const struct report_column *columns;
	uint32_t column_count;
	union report_cell *cells; /* row after row */
	uint32_t count, capacity;
	uint64_t left_out;                 /* rows */
	uint32_t lines;                    /* limit of lines in the report; 0: the report decides */
	bool is_detail;                    /* printed in a full report only */
	struct report_column *own_columns; /* columns freed with the table; or NULL */
	struct intern strings;
};

static inline const union report_cell *report_table_row(const struct report_table *f, uint32_t row)
{
	return f->cells + (size_t)row * f->column_count;
}

static inline bool report_cell_is_text(enum report_cell_kind kind)
{
	return kind == REPORT_CELL_TEXT || kind == REPORT_CELL_NOTE;
}

/* Makes an empty table. Borrows key, title and columns. Returns NULL if out of memory. */
struct report_table *report_table_new(const char *key, const char *title,
				      const struct report_column *columns, uint32_t column_count);
#define REPORT_TABLE_NEW(key, title, columns) \
	report_table_new(key, title, columns, sizeof(columns) / sizeof((columns)[0]))
void report_table_free(struct report_table *f);

/* Adds a row: a struct with the columns' members. Copies texts. Counts a row without room. */
void report_table_add(struct report_table *f, const void *row);

/*
 * Fills a table from `count` records of `size` bytes, and returns the table. `compare` orders
 * pointers to records, as in qsort of an array of pointers. `add` adds the row of a record. Returns
 * NULL with errno set if `report_table` is NULL, or if out of memory: then the table is freed.
 */
struct report_table *
report_table_fill(struct report_table *report_table, const struct result *result,
		  const void *records, uint32_t count, size_t size,
		  int (*compare)(const void *a, const void *b),
		  void (*add)(struct report_table *f, const struct result *r, const void *record));

#endif
