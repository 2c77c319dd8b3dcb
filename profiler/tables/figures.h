/* SPDX-License-Identifier: MIT */
/*
 * Tables beside the profile, which the report prints, the summary lists and the page shows as tabs:
 * each with its columns and rows, the most important row first. Whoever knows something that is no
 * stack's time makes one of it.
 *
 * Bounded by FIGURES_ROWS_MAX rows each; the others are counted.
 */
#ifndef PROFILER_TABLES_FIGURES_H
#define PROFILER_TABLES_FIGURES_H

#include <stdbool.h>
#include <stdint.h>
#include "symbolize/util/intern.h"

struct result;

#define FIGURES_ROWS_MAX 1000u

/* The page has the same numbers (table_view.js). */
enum figure_kind {
	FIGURE_TEXT,
	FIGURE_FRAME, /* the number of one of the result's frames */
	FIGURE_COUNT,
	FIGURE_TIME, /* ns */
	FIGURE_BYTES,
	FIGURE_SHARE,       /* thousandths: "50.0 %" */
	FIGURE_THOUSANDTHS, /* "1.25" */
	FIGURE_NOTE,        /* a text; in the report on a line of its own, unless it is "" */
	FIGURE_NUMBER,      /* `real`, any finite number */
};

struct figure_column {
	const char *key;   /* in the summary */
	const char *label; /* for people */
	enum figure_kind kind;
	/*
	 * In the report; 0: it is not there. The last one and notes have any. Rows that share a
	 * text of FIGURE_ABOVE have it once, on a line above them
	 */
	uint8_t width;
};
#define FIGURE_ABOVE (UINT8_MAX - 1)

union figure {
	uint64_t number;
	double real;
	const char *text;
};

struct figures {
	const char *key, *title;
	const struct figure_column *columns;
	uint32_t column_count;
	union figure *cells; /* row after row */
	uint32_t count, capacity;
	uint64_t left_out;                 /* rows */
	uint32_t lines;                    /* of the report, at most; 0: as it thinks best */
	struct figure_column *own_columns; /* these, where they are its own; freed with it */
	struct intern strings;
};

static inline const union figure *figures_row(const struct figures *f, uint32_t row)
{
	return f->cells + (size_t)row * f->column_count;
}

static inline bool figure_is_text(enum figure_kind kind)
{
	return kind == FIGURE_TEXT || kind == FIGURE_NOTE;
}

/* NULL: out of memory. The description is borrowed. */
struct figures *figures_new(const char *key, const char *title, const struct figure_column *columns,
			    uint32_t column_count);
void figures_free(struct figures *f);

/*
 * Adds a row of column_count cells, whose texts are copied. Without room it counts as left out.
 */
void figures_add(struct figures *f, const union figure *row);

/*
 * The table with a row of each of `count` records, which are `size` bytes each: `add` adds one, and
 * `compare` has their order, by pointers to them as in qsort of an array of pointers. NULL with
 * errno: then `figures`, which may be NULL, is freed.
 */
struct figures *
figures_fill(struct figures *figures, const struct result *result, const void *records,
	     uint32_t count, size_t size, int (*compare)(const void *a, const void *b),
	     void (*add)(struct figures *f, const struct result *r, const void *record));

#endif
