/* SPDX-License-Identifier: MIT */
/*
 * Tables beside the profile, which the report prints, the summary lists and the page shows as tabs:
 * each with its columns and rows, the most important row first. Whoever knows something that is no
 * stack's time makes one of it.
 *
 * Bounded by REPORT_TABLE_ROWS_MAX rows each; the others are counted.
 */
#ifndef PROFILER_TABLES_REPORT_TABLE_H
#define PROFILER_TABLES_REPORT_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "symbolize/util/intern.h"

struct result;

#define REPORT_TABLE_ROWS_MAX 1000u

/* The page has the same numbers (table_view.js). */
enum report_cell_kind {
	REPORT_CELL_TEXT,
	REPORT_CELL_FRAME, /* the number of one of the result's frames */
	REPORT_CELL_COUNT,
	REPORT_CELL_TIME, /* ns */
	REPORT_CELL_BYTES,
	REPORT_CELL_SHARE,       /* thousandths: "50.0 %" */
	REPORT_CELL_THOUSANDTHS, /* "1.25" */
	REPORT_CELL_NOTE,        /* a text; in the report on a line of its own, unless it is "" */
	REPORT_CELL_NUMBER,      /* `real`, any finite number */
};

struct report_column {
	const char *key;   /* in the summary */
	const char *label; /* for people */
	enum report_cell_kind kind;
	/*
	 * In the report; 0: it is not there. The last one and notes have any. Rows that share a
	 * text of REPORT_CELL_ABOVE have it once, on a line above them
	 */
	uint8_t width;
	uint8_t size;    /* bytes of the row's member */
	uint16_t offset; /* of the row's member */
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
	uint32_t lines;                    /* of the report, at most; 0: as it thinks best */
	struct report_column *own_columns; /* these, where they are its own; freed with it */
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

/* NULL: out of memory. The description is borrowed. */
struct report_table *report_table_new(const char *key, const char *title,
				      const struct report_column *columns, uint32_t column_count);
#define REPORT_TABLE_NEW(key, title, columns) \
	report_table_new(key, title, columns, sizeof(columns) / sizeof((columns)[0]))
void report_table_free(struct report_table *f);

/* Adds a row, a struct with the columns' members. Texts are copied. A row without room counts as
 * left out.
 */
void report_table_add(struct report_table *f, const void *row);

/*
 * The table with a row of each of `count` records, which are `size` bytes each: `add` adds one, and
 * `compare` has their order, by pointers to them as in qsort of an array of pointers. NULL with
 * errno: then `figures`, which may be NULL, is freed.
 */
struct report_table *
report_table_fill(struct report_table *report_table, const struct result *result,
		  const void *records, uint32_t count, size_t size,
		  int (*compare)(const void *a, const void *b),
		  void (*add)(struct report_table *f, const struct result *r, const void *record));

#endif
