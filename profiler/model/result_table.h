/* SPDX-License-Identifier: MIT */
/*
 * Tables beside the rows of the profile, as data: what an add-on has found that is no time of a
 * stack. An add-on describes its table, which is registered in addons/addons.c, and adds rows
 * (addon.h). All that follows is done by the description: names, captures, the merging of ranks,
 * JSON, the report and the page's tabs.
 *
 *	struct grid_size { const char *kernel; uint64_t blocks, launches; };
 *
 *	static const struct table_column columns[] = {
 *		TABLE_SHOWN(grid_size, launches, "launches", "Launches", .join = JOIN_SUM),
 *		TABLE_SHOWN(grid_size, blocks, "blocks", "Blocks", .join = JOIN_KEY),
 *		TABLE_SHOWN(grid_size, kernel, "kernel", "Kernel", .cell = CELL_KERNEL,
 *			    .join = JOIN_KEY),
 *	};
 *	const struct table_kind grid_sizes_table = {
 *		TABLE_KIND(grid_size, columns), .field = 27, .most_rows = 1u << 16,
 *		.is_measured = is_measured, .key = "grid_sizes", .title = "Grid sizes"};
 *
 * Rows are structs; a column is one member of them. Tables are of the whole run: the parts of it
 * that options show have the same ones.
 */
#ifndef PROFILER_MODEL_RESULT_TABLE_H
#define PROFILER_MODEL_RESULT_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include "profiler/base/quota.h"
#include "profiler/base/measure.h"
#include "profiler/model/id_remap.h"
#include "symbolize/util/hash_index.h"
#include "symbolize/util/number.h"

struct ledger;
struct table_kind;

/* The contents of a member. Captures are checked by it: nothing else is in the rows of one. */
enum table_cell {
	CELL_NUMBER,  /* of 1, 2, 4 or 8 bytes */
	CELL_REAL,    /* a finite double */
	CELL_MOMENT,  /* uint64_t, CLOCK_MONOTONIC in ns; 0: none. Merging moves it */
	CELL_TEXT,    /* const char *, borrowed, never NULL; equal texts are one (interned) */
	CELL_KERNEL,  /* such a text: a kernel's mangled name, in a result its frame's name */
	CELL_STACK,   /* uint32_t, a stack, named as that of a launch */
	CELL_PROCESS, /* uint32_t, the number of a process */
	CELL_ROW,     /* uint32_t, the number of a row of `rows_of`, whose field is smaller */
};

/* How rows with equal keys become one. A table without keys keeps all its rows. */
enum table_join {
	JOIN_FIRST, /* the first one's stays */
	JOIN_KEY,
	JOIN_SUM, /* saturated */
	JOIN_MOST,
	JOIN_LEAST,
};

/* Of numbers, for people. */
enum table_unit { UNIT_COUNT, UNIT_NS, UNIT_BYTES };

struct table_column {
	uint16_t offset; /* in the row's struct */
	uint8_t size;
	uint8_t cell;     /* enum table_cell */
	uint8_t join;     /* enum table_join */
	uint8_t unit;     /* enum table_unit */
	uint8_t width;    /* in the report; 0: by what it holds */
	bool is_delta;    /* captures have the difference from the row before: it is small */
	bool is_positive; /* captures are refused where it is 0 */
	bool is_bounded;  /* all rows together are LEDGER_TOTAL_MAX at most, for sums are drawn */
	uint32_t below;   /* captures have smaller numbers; 0: any */
	const struct table_kind *rows_of;
	const char *key, *label; /* in JSON, and for people; NULL: not shown */
};

/* A column of `struct type`; members of struct table_column may follow. */
#define TABLE_COLUMN(type, member, ...)                                 \
	{                                                               \
		.offset = offsetof(struct type, member),                \
		.size = sizeof(((struct type *)0)->member), __VA_ARGS__ \
	}
#define TABLE_SHOWN(type, member, name, text, ...) \
	TABLE_COLUMN(type, member, .key = (name), .label = (text), __VA_ARGS__)

struct table_kind {
	/* in the order of captures, JSON and the report: new ones come last, once it is released */
	const struct table_column *columns;
	uint32_t column_count;
	uint32_t row_size;
	uint32_t field;       /* of captures, from RESULT_TABLES_FIRST on; it never changes */
	uint32_t most_rows;   /* 0: as memory allows */
	bool is_for_timeline; /* captures that are read without a timeline have no rows of it */
	bool (*is_measured)(const struct measure *measure);
	/*
	 * Counts a row that finds no room; NULL: it is one of the ledger's bounds.refused, which
	 * the summary lists and --strict fails.
	 */
	void (*lose)(struct ledger *ledger, const void *row);
	/*
	 * In JSON, and for people; NULL: a module of profiler/tables/ shows it. Rows are in the
	 * order of the first column, the largest number first.
	 */
	const char *key, *title;
};
#define TABLE_KIND(type, list)                                               \
	.columns = (list), .column_count = sizeof(list) / sizeof((list)[0]), \
	.row_size = sizeof(struct type)

/* All that are registered, in the order of captures: addons/addons.c has the list. */
extern const struct table_kind *const table_kinds[];
extern const uint32_t table_kind_count;

#define RESULT_TABLES_FIRST 19u /* captures' fields */
#define RESULT_TABLES_MAX 32u
#define TABLE_ROW_MAX 128u   /* bytes */
#define TABLE_BOUNDED_MAX 3u /* columns of a table that are bounded */

/* Returns what is registered for a field; NULL: nothing. */
const struct table_kind *table_kind_of_field(uint32_t field);

struct result_table {
	void *rows;
	uint32_t count, capacity;
	bool is_there;    /* it was measured */
	bool is_borrowed; /* the rows are another's */
	struct hash_index index;
	uint64_t sums[TABLE_BOUNDED_MAX];
};

/* Zero-initialised: none is there. */
struct result_tables {
	struct result_table list[RESULT_TABLES_MAX]; /* by field, from the first on */
	struct quota *memory;                        /* what rows are taken from; NULL: no limit */
};

/* Marks the tables that were measured. */
void result_tables_begin(struct result_tables *tables, const struct measure *measure);
void result_tables_release(struct result_tables *tables);

static inline struct result_table *result_tables_at(struct result_tables *tables,
						    const struct table_kind *kind)
{
	return &tables->list[kind->field - RESULT_TABLES_FIRST];
}

/* Returns a table. NULL: it was not measured, or `tables` is NULL. */
static inline const struct result_table *result_tables_find(const struct result_tables *tables,
							    const struct table_kind *kind)
{
	const struct result_table *table =
		tables ? &tables->list[kind->field - RESULT_TABLES_FIRST] : NULL;

	return table && table->is_there ? table : NULL;
}

static inline const void *result_table_row(const struct result_table *table,
					   const struct table_kind *kind, uint32_t row)
{
	return (const char *)table->rows + (size_t)row * kind->row_size;
}

enum table_added { TABLE_OK, TABLE_FULL, TABLE_REFUSED, TABLE_NO_MEMORY };

/*
 * Adds a row, or joins it with the one that has the same key; `number` is where it is, and may be
 * NULL. Otherwise nothing has changed: the table has `most_rows`, its memory is used up, or there
 * is none.
 */
enum table_added result_tables_add(struct result_tables *tables, const struct table_kind *kind,
				   const void *row, uint32_t *number);

/* Adds a row, or counts it as lost. */
void result_tables_count(struct result_tables *tables, const struct table_kind *kind,
			 const void *row, struct ledger *ledger);

/* Counts a row that finds no room. `ledger` may be NULL: nobody counts. */
void table_lose(const struct table_kind *kind, struct ledger *ledger, const void *row);

/* Shows rows that another owns, who keeps them for as long as the tables are used. */
void result_tables_borrow(struct result_tables *tables, const struct table_kind *kind,
			  const void *rows, uint32_t count);

/* Adds to the sums of bounded columns; false: they would be too large. */
bool result_table_sum(struct result_table *table, const struct table_kind *kind, const void *row);

/*
 * How rows are copied into tables with other numbers and texts. Each callback returns what takes
 * the place of a cell, and may be NULL: it stays. That of a text returns NULL when there is no
 * room.
 */
struct table_copying {
	uint32_t (*stack)(void *context, uint32_t stack);
	uint32_t (*process)(void *context, uint32_t process);
	uint64_t (*moment)(void *context, uint64_t ns);
	const char *(*text)(void *context, const char *text);
	const char *(*kernel)(void *context, const char *kernel);
	void *context;
	struct ledger *ledger; /* counts rows beyond a table's `most_rows`; NULL: there are none */
	bool sums_up;          /* several are copied into one: bounded columns are summed up */
};

/*
 * Adds all rows of the tables that are in `from`. 0; -E2BIG: they take too much memory, or their
 * sums are too large; -ENOMEM.
 */
int result_tables_copy(struct result_tables *to, const struct result_tables *from,
		       const struct table_copying *how);

/* Shows the stacks in use: of all tables, or one. */
void result_tables_visit(struct result_tables *tables, const struct id_visitor *visitor);
void result_table_visit(struct result_table *table, const struct table_kind *kind,
			const struct id_visitor *visitor);

/* ---- cells ---- */

/* Returns a cell's number, the bits of a double, or the address of a text. */
static inline uint64_t table_cell(const struct table_column *column, const void *row)
{
	return number_load(row, column->offset, column->size);
}

static inline bool table_is_text(const struct table_column *column)
{
	return column->cell == CELL_TEXT || column->cell == CELL_KERNEL;
}

static inline const char *table_text(const struct table_column *column, const void *row)
{
	return (const char *)(uintptr_t)table_cell(column, row);
}

static inline double table_real(const struct table_column *column, const void *row)
{
	uint64_t bits = table_cell(column, row);
	double real;

	memcpy(&real, &bits, sizeof(real));
	return real;
}

#endif
