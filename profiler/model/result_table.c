// SPDX-License-Identifier: MIT
#include "profiler/model/result_table.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include "profiler/model/ledger.h"
#include "symbolize/util/array.h"
#include "symbolize/util/number.h"
#include "symbolize/util/saturate.h"

_Static_assert(sizeof(const char *) == sizeof(uint64_t), "a text is a cell");

const struct table_kind *table_kind_of_field(uint32_t field)
{
	for (uint32_t i = 0; i < table_kind_count; i++)
		if (table_kinds[i]->field == field)
			return table_kinds[i];
	return NULL;
}

void result_tables_begin(struct result_tables *t, const struct measure *measure)
{
	for (uint32_t i = 0; i < table_kind_count; i++)
		result_tables_at(t, table_kinds[i])->is_there =
			table_kinds[i]->is_measured(measure);
}

void result_tables_release(struct result_tables *t)
{
	for (uint32_t i = 0; i < RESULT_TABLES_MAX; i++) {
		if (!t->list[i].is_borrowed)
			free(t->list[i].rows);
		hash_index_release(&t->list[i].index);
	}
	memset(t, 0, sizeof(*t));
}

void result_tables_borrow(struct result_tables *t, const struct table_kind *kind, const void *rows,
			  uint32_t count)
{
	struct result_table *table = result_tables_at(t, kind);

	/* never written: rows are added to tables of their own */
	memcpy(&table->rows, &rows, sizeof(rows));
	table->count = count;
	table->is_there = table->is_borrowed = true;
}

/* Counts a lost row. `ledger` may be NULL. */
static void lose(const struct table_kind *kind, struct ledger *ledger, const void *row)
{
	if (!ledger)
		return;
	if (kind->lose)
		kind->lose(ledger, row);
	else
		saturated_add(&ledger->bounds.refused, 1);
}

/* ---- keys ---- */

static bool has_keys(const struct table_kind *kind)
{
	for (uint32_t i = 0; i < kind->column_count; i++)
		if (kind->columns[i].join == JOIN_KEY)
			return true;
	return false;
}

static uint32_t hash_row(const struct table_kind *kind, const void *row)
{
	uint32_t hash = 0;

	for (uint32_t i = 0; i < kind->column_count; i++) {
		uint64_t value = table_cell(&kind->columns[i], row);

		if (kind->columns[i].join == JOIN_KEY)
			hash = hash_four(hash, (uint32_t)value, (uint32_t)(value >> 32), i);
	}
	return hash;
}

struct wanted {
	const struct table_kind *kind;
	const void *row;
};

static bool has_key(const void *rows, uint32_t position, const void *key)
{
	const struct wanted *w = key;
	const void *row = (const char *)rows + (size_t)position * w->kind->row_size;

	for (uint32_t i = 0; i < w->kind->column_count; i++) {
		const struct table_column *c = &w->kind->columns[i];

		if (c->join == JOIN_KEY && table_cell(c, row) != table_cell(c, w->row))
			return false;
	}
	return true;
}

/* ---- rows ---- */

static double join_reals(enum table_join join, double a, double b)
{
	if (join == JOIN_SUM)
		return saturated_real(a, b);
	return join == JOIN_MOST ? fmax(a, b) : fmin(a, b);
}

static uint64_t join_numbers(enum table_join join, uint64_t a, uint64_t b)
{
	if (join == JOIN_SUM)
		return saturated_sum(a, b);
	return (join == JOIN_MOST) == (a > b) ? a : b;
}

static void join(const struct table_column *c, void *row, const void *more)
{
	uint64_t most = c->size == 8 ? UINT64_MAX : (UINT64_C(1) << 8 * c->size) - 1, sum;
	double real;

	if (c->join < JOIN_SUM)
		return;
	if (c->cell == CELL_REAL) {
		real = join_reals((enum table_join)c->join, table_real(c, row),
				  table_real(c, more));
		memcpy((char *)row + c->offset, &real, sizeof(real));
		return;
	}
	sum = join_numbers((enum table_join)c->join, table_cell(c, row), table_cell(c, more));
	number_store(row, c->offset, c->size, sum < most ? sum : most);
}

enum table_added result_tables_add(struct result_tables *t, const struct table_kind *kind,
				   const void *row, uint32_t *number)
{
	struct result_table *table = result_tables_at(t, kind);
	const struct wanted wanted = {kind, row};
	bool is_keyed = has_keys(kind);
	size_t bytes = kind->row_size + (is_keyed ? HASH_INDEX_ENTRY_BYTES : 0);
	uint32_t hash = is_keyed ? hash_row(kind, row) : 0, at = HASH_INDEX_NONE;
	char *rows;

	if (is_keyed)
		at = hash_index_find(&table->index, hash, has_key, table->rows, &wanted);
	if (at != HASH_INDEX_NONE) {
		rows = table->rows;
		for (uint32_t i = 0; i < kind->column_count; i++)
			join(&kind->columns[i], rows + (size_t)at * kind->row_size, row);
	} else {
		at = table->count;
		if (kind->most_rows && at >= kind->most_rows)
			return TABLE_FULL;
		if (t->memory && !quota_take(t->memory, bytes))
			return TABLE_REFUSED;
		if (!array_make_room(&table->rows, at, &table->capacity, kind->row_size) ||
		    (is_keyed && hash_index_add(&table->index, hash, at) != 0)) {
			quota_return(t->memory, bytes);
			return TABLE_NO_MEMORY;
		}
		rows = table->rows;
		memcpy(rows + (size_t)at * kind->row_size, row, kind->row_size);
		table->count++;
	}
	if (number)
		*number = at;
	return TABLE_OK;
}

void result_tables_count(struct result_tables *t, const struct table_kind *kind, const void *row,
			 struct ledger *ledger)
{
	if (result_tables_add(t, kind, row, NULL) != TABLE_OK)
		lose(kind, ledger, row);
}

bool result_table_sum(struct result_table *table, const struct table_kind *kind, const void *row)
{
	uint32_t at = 0;

	for (uint32_t i = 0; i < kind->column_count; i++) {
		uint64_t value = table_cell(&kind->columns[i], row);

		if (!kind->columns[i].is_bounded)
			continue;
		if (value > LEDGER_TOTAL_MAX - table->sums[at])
			return false;
		table->sums[at++] += value;
	}
	return true;
}

/* ---- copies ---- */

/* New indexes of rows, by field and old index. TABLE_NO_ROW: the row is lost. */
#define TABLE_NO_ROW UINT32_MAX
struct copy {
	struct result_tables *to;
	const struct table_copying *how;
	uint32_t *numbers[RESULT_TABLES_MAX];
};

static const char *copy_text(const struct table_copying *how, const struct table_column *c,
			     const void *row)
{
	const char *(*copied)(void *context, const char *text) =
		c->cell == CELL_KERNEL ? how->kernel : how->text;
	const char *text = table_text(c, row);

	return copied ? copied(how->context, text) : text;
}

/* Maps a cell. Returns 0, -E2BIG, or -ENOENT if it refers to a lost row. */
static int copy_cell(const struct copy *copy, const struct table_column *c, void *row)
{
	const struct table_copying *how = copy->how;
	uint64_t value = table_cell(c, row);

	if (table_is_text(c)) {
		const char *text = copy_text(how, c, row);

		if (!text)
			return -E2BIG;
		value = (uintptr_t)text;
	} else if (c->cell == CELL_STACK && how->stack) {
		value = how->stack(how->context, (uint32_t)value);
	} else if (c->cell == CELL_PROCESS && how->process) {
		value = how->process(how->context, (uint32_t)value);
	} else if (c->cell == CELL_MOMENT && how->moment && value) {
		value = how->moment(how->context, value);
	} else if (c->cell == CELL_ROW) {
		value = copy->numbers[c->rows_of->field - RESULT_TABLES_FIRST][value];
		if (value == TABLE_NO_ROW)
			return -ENOENT;
	}
	number_store(row, c->offset, c->size, value);
	return 0;
}

static int copy_row(const struct copy *copy, const struct table_kind *kind, const void *from,
		    uint32_t *number)
{
	_Alignas(uint64_t) unsigned char row[TABLE_ROW_MAX];
	enum table_added added;
	int err = 0;

	memcpy(row, from, kind->row_size);
	for (uint32_t i = 0; i < kind->column_count && !err; i++)
		err = copy_cell(copy, &kind->columns[i], row);
	if (err && err != -ENOENT)
		return err;
	if (copy->how->sums_up && !result_table_sum(result_tables_at(copy->to, kind), kind, row))
		return -E2BIG;
	added = err ? TABLE_FULL : result_tables_add(copy->to, kind, row, number);
	if (added == TABLE_FULL) {
		*number = TABLE_NO_ROW;
		lose(kind, copy->how->ledger, row);
		return 0;
	}
	return added == TABLE_OK ? 0 : added == TABLE_REFUSED ? -E2BIG : -ENOMEM;
}

static int copy_table(struct copy *copy, const struct result_table *from,
		      const struct table_kind *kind)
{
	uint32_t *numbers = calloc(from->count + (size_t)1, sizeof(*numbers));
	int err = numbers ? 0 : -ENOMEM;

	copy->numbers[kind->field - RESULT_TABLES_FIRST] = numbers;
	for (uint32_t i = 0; i < from->count && !err; i++)
		err = copy_row(copy, kind, result_table_row(from, kind, i), &numbers[i]);
	return err;
}

int result_tables_copy(struct result_tables *to, const struct result_tables *from,
		       const struct table_copying *how)
{
	struct copy copy = {.to = to, .how = how};
	int err = 0;

	for (uint32_t i = 0; i < table_kind_count && !err; i++) {
		const struct result_table *table = result_tables_find(from, table_kinds[i]);

		if (table)
			err = copy_table(&copy, table, table_kinds[i]);
	}
	for (uint32_t i = 0; i < RESULT_TABLES_MAX; i++)
		free(copy.numbers[i]);
	return err;
}

/* ---- numbers ---- */

/* Rebuilds the index. Cannot fail: the index had as many entries. */
static void index_again(struct result_table *table, const struct table_kind *kind)
{
	if (!has_keys(kind))
		return;
	hash_index_clear(&table->index);
	for (uint32_t i = 0; i < table->count; i++)
		hash_index_add(&table->index, hash_row(kind, result_table_row(table, kind, i)), i);
}

void result_table_visit(struct result_table *table, const struct table_kind *kind,
			const struct id_visitor *v)
{
	bool has_stacks = false;

	for (uint32_t c = 0; c < kind->column_count && !table->is_borrowed; c++) {
		const struct table_column *column = &kind->columns[c];

		for (uint32_t i = 0; i < table->count && column->cell == CELL_STACK; i++) {
			char *row = (char *)table->rows + (size_t)i * kind->row_size;
			uint32_t stack = (uint32_t)table_cell(column, row);

			visit_stack_or_mark(v, &stack);
			number_store(row, column->offset, column->size, stack);
			has_stacks = true;
		}
	}
	if (has_stacks)
		index_again(table, kind);
}

void result_tables_visit(struct result_tables *t, const struct id_visitor *v)
{
	for (uint32_t i = 0; i < table_kind_count; i++)
		result_table_visit(result_tables_at(t, table_kinds[i]), table_kinds[i], v);
}
