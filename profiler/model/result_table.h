/* SPDX-License-Identifier: MIT */
/*
 * Holds tables beside the rows of the profile: findings of add-ons that are not times of stacks.
 *
 * An add-on describes its table, registers it in addons/addons.c, and adds rows (addon.h). The
 * description is enough for names, captures, merging of ranks, JSON, the report and the page's
 * tabs.
 *
 *   struct grid_size { const char *kernel; uint64_t blocks, launches; };
 *
 *   static const struct table_column columns[] = {
 *   	TABLE_SHOWN(grid_size, launches, "launches", "Launches", .join = JOIN_SUM),
 *   	TABLE_SHOWN(grid_size, blocks, "blocks", "Blocks", .join = JOIN_KEY),
 *   	TABLE_SHOWN(grid_size, kernel, "kernel", "Kernel", .cell = CELL_KERNEL, .join = JOIN_KEY),
 *   };
 *   const struct table_kind grid_sizes_table = {
 *   	TABLE_KIND(grid_size, columns), .field = 27, .most_rows = 1u << 16,
 *   	.is_measured = is_measured, .key = "grid_sizes", .title = "Grid sizes"};
 *
 * Rows are structs; a column is one member. Tables cover the whole run, even if options show a part
 * of it.
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

/* Content of a member. Captures are checked against it, so that their rows hold nothing else. */
enum table_cell {
	CELL_NUMBER, /* 1, 2, 4 or 8 bytes */
	CELL_REAL,   /* a finite double */
	CELL_MOMENT, /* uint64_t, CLOCK_MONOTONIC in ns; 0: none. Merging adjusts it */
	CELL_TEXT, /* const char *, borrowed, never NULL; interned: equal texts have one address */
	CELL_KERNEL,  /* CELL_TEXT with a kernel's mangled name; in a result, its frame's name */
	CELL_STACK,   /* uint32_t, a stack; named like the stack of a launch */
	CELL_PROCESS, /* uint32_t, number of a process */
	CELL_ROW,     /* uint32_t, number of a row of `rows_of`, which has a smaller field */
};

/* Merging of rows with equal keys. A table without keys keeps all rows. */
enum table_join {
	JOIN_FIRST, /* keeps the first value */
	JOIN_KEY,
	JOIN_SUM, /* saturating */
	JOIN_MOST,
	JOIN_LEAST,
};

/* Unit of numbers, for people. */
enum table_unit { UNIT_COUNT, UNIT_NS, UNIT_BYTES };

struct table_column {
	uint16_t offset; /* offset in the row's struct */
	uint8_t size;
	uint8_t cell;     /* enum table_cell */
	uint8_t join;     /* enum table_join */
	uint8_t unit;     /* enum table_unit */
	uint8_t width;    /* in the report; 0: by its content */
	bool is_delta;    /* captures store the difference from the previous row, which is small */
	bool is_positive; /* captures with 0 here are refused */
	bool is_bounded; /* the sum over rows is at most LEDGER_TOTAL_MAX, because sums are drawn */
	uint32_t below;  /* numbers in captures must be smaller; 0: any */
	const struct table_kind *rows_of;
	const char *key, *label; /* for JSON and people; NULL: not shown */
};

/* Describes a member of `struct type`; other members of struct table_column may follow. */
#define TABLE_COLUMN(type, member, ...)                                 \
	{                                                               \
		.offset = offsetof(struct type, member),                \
		.size = sizeof(((struct type *)0)->member), __VA_ARGS__ \
	}
#define TABLE_SHOWN(type, member, name, text, ...) \
	TABLE_COLUMN(type, member, .key = (name), .label = (text), __VA_ARGS__)

struct table_kind {
	/* order in captures, JSON and the report; append only */
	const struct table_column *columns;
	uint32_t column_count;
	uint32_t row_size;
	uint32_t field;       /* capture field, from RESULT_TABLES_FIRST on; never changes */
	uint32_t most_rows;   /* 0: limited by memory */
	bool is_for_timeline; /* no rows are read from captures without their timeline */
	bool (*is_measured)(const struct measure *measure);
	/*
	 * Counts a lost row. NULL: it counts in the ledger's bounds.refused, which the summary
	 * lists and --strict fails.
	 */
	void (*lose)(struct ledger *ledger, const void *row);
	/*
	 * For JSON and people; NULL: a module of profiler/tables/ shows the table. Rows are sorted
	 * by the first column, largest first.
	 */
	const char *key, *title;
	/* a run measures it unasked: its end shows the table only with -v, and none that is empty
	 */
	bool is_detail;
};
#define TABLE_KIND(type, list)                                               \
	.columns = (list), .column_count = sizeof(list) / sizeof((list)[0]), \
	.row_size = sizeof(struct type)

/* All registered tables, in the order of captures; listed in addons/addons.c. */
extern const struct table_kind *const table_kinds[];
extern const uint32_t table_kind_count;

#define RESULT_TABLES_FIRST 19u /* first field in captures */
#define RESULT_TABLES_MAX 32u
#define TABLE_ROW_MAX 128u   /* bytes */
#define TABLE_BOUNDED_MAX 3u /* bounded columns of a table */

/* Returns the table of a field, or NULL. */
const struct table_kind *table_kind_of_field(uint32_t field);

struct result_table {
	void *rows;
	uint32_t count, capacity;
	bool is_there;    /* measured */
	bool is_borrowed; /* the rows belong to another owner */
	struct hash_index index;
	uint64_t sums[TABLE_BOUNDED_MAX];
};

/* Zero-initialise: no table is there. */
struct result_tables {
	struct result_table list[RESULT_TABLES_MAX]; /* by field, from RESULT_TABLES_FIRST on */
	struct quota *memory;                        /* quota for rows; NULL: no limit */
};

/* Marks the measured tables as there. */
void result_tables_begin(struct result_tables *tables, const struct measure *measure);
void result_tables_release(struct result_tables *tables);

static inline struct result_table *result_tables_at(struct result_tables *tables,
						    const struct table_kind *kind)
{
	return &tables->list[kind->field - RESULT_TABLES_FIRST];
}

/* Returns a table, or NULL if it was not measured or `tables` is NULL. */
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
 * Adds a row, or merges it with the row that has an equal key. Stores its index in `number`, unless
 * NULL. Changes nothing if the table has `most_rows`, the quota is exhausted, or memory is short.
 */
enum table_added result_tables_add(struct result_tables *tables, const struct table_kind *kind,
				   const void *row, uint32_t *number);

/* Adds a row, or counts it as lost. */
void result_tables_count(struct result_tables *tables, const struct table_kind *kind,
			 const void *row, struct ledger *ledger);

/* Sets the rows of a table to another owner's, which must outlive the tables. */
void result_tables_borrow(struct result_tables *tables, const struct table_kind *kind,
			  const void *rows, uint32_t count);

/* Adds to the sums of bounded columns. Returns false if a sum would be too large. */
bool result_table_sum(struct result_table *table, const struct table_kind *kind, const void *row);

/*
 * Maps cells for a copy with other numbers and texts. A callback returns the new value; NULL keeps
 * the old one. A text callback returns NULL if there is no room.
 */
struct table_copying {
	uint32_t (*stack)(void *context, uint32_t stack);
	uint32_t (*process)(void *context, uint32_t process);
	uint64_t (*moment)(void *context, uint64_t ns);
	const char *(*text)(void *context, const char *text);
	const char *(*kernel)(void *context, const char *kernel);
	void *context;
	struct ledger *ledger; /* counts rows beyond `most_rows`; NULL: there are none */
	bool sums_up;          /* several are copied into one: sum bounded columns */
};

/*
 * Adds all rows of the tables in `from`. Returns 0, -ENOMEM, or -E2BIG if quota or sums are
 * exceeded.
 */
int result_tables_copy(struct result_tables *to, const struct result_tables *from,
		       const struct table_copying *how);

/* Visit the stacks of all tables, or of one. */
void result_tables_visit(struct result_tables *tables, const struct id_visitor *visitor);
void result_table_visit(struct result_table *table, const struct table_kind *kind,
			const struct id_visitor *visitor);

/* ---- cells ---- */

/* Returns the number in a cell, the bits of a double, or the address of a text. */
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
