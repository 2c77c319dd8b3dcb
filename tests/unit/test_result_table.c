/* SPDX-License-Identifier: MIT */
/*
 * Tables of add-ons: all that are registered are described as they should be, come back from
 * captures, and are merged; captures that contradict a description are refused. What rows of
 * made-up tables become.
 */
#include <math.h>
#include "report_cell.h"
#include "random_tables.h"
#include "profiler/formats/capture.h"
#include "profiler/formats/capture_format.h"
#include "profiler/formats/writer.h"
#include "profiler/shape/merge.h"
#include "profiler/tables/measured_table.h"

/* ---- descriptions ---- */

static bool is_number(const struct table_column *c)
{
	return c->cell == CELL_NUMBER || c->cell == CELL_MOMENT;
}

static void check_column(const struct table_kind *kind, const struct table_column *c)
{
	bool is_whole = c->cell == CELL_REAL || c->cell == CELL_MOMENT || table_is_text(c);

	assert_true(c->offset + c->size <= kind->row_size);
	assert_true(c->size == 1 || c->size == 2 || c->size == 4 || c->size == 8);
	assert_int_equal(c->offset % c->size, 0);
	if (c->cell != CELL_NUMBER)
		assert_int_equal(c->size, is_whole ? 8 : 4);
	assert_int_equal(c->cell == CELL_ROW, c->rows_of != NULL);
	if (c->rows_of)
		assert_true(c->rows_of->field < kind->field);
	if (c->join >= JOIN_SUM)
		assert_true(is_number(c) || c->cell == CELL_REAL);
	if (c->below || c->is_positive || c->is_bounded)
		assert_true(is_number(c));
	assert_int_equal(c->key != NULL, c->label != NULL);
	if (c->key)
		assert_true(kind->title && c->cell != CELL_ROW);
}

static void every_table_is_described(void **state)
{
	(void)state;
	assert_true(table_kind_count > 0);
	for (uint32_t i = 0; i < table_kind_count; i++) {
		const struct table_kind *k = table_kinds[i];
		uint32_t bounded = 0;

		assert_true(k->field >= RESULT_TABLES_FIRST &&
			    k->field < RESULT_TABLES_FIRST + RESULT_TABLES_MAX);
		assert_int_not_equal(k->field, CAPTURE_RANKS);
		assert_ptr_equal(capture_table(k->field), k);
		assert_true(i == 0 || k->field > table_kinds[i - 1]->field);
		assert_true(k->row_size <= TABLE_ROW_MAX);
		assert_non_null(k->is_measured);
		assert_int_equal(k->key != NULL, k->title != NULL);
		for (uint32_t c = 0; c < k->column_count; c++) {
			check_column(k, &k->columns[c]);
			bounded += k->columns[c].is_bounded;
		}
		assert_true(bounded <= TABLE_BOUNDED_MAX);
		if (k->title)
			assert_true(k->columns[0].key && is_number(&k->columns[0]));
	}
}

/* ---- captures ---- */

static char *written(const struct result *result, size_t *size)
{
	static const struct writer_options options = {.unit_ns = 1};
	struct written counts;
	char *text = NULL;
	FILE *out = open_memstream(&text, size);

	assert_non_null(out);
	assert_int_equal(capture_writer.write(result, &options, out, &counts), 0);
	assert_int_equal(fclose(out), 0);
	return text;
}

static struct profile_capture *read_again(const struct result *result, bool has_timeline,
					  struct quota *memory, enum capture_error *error)
{
	size_t size;
	char *text = written(result, &size);
	FILE *in = fmemopen(text, size, "r");
	struct profile_capture *capture;

	assert_non_null(in);
	capture = capture_read(in, has_timeline ? folder : NULL, true, memory, error);
	fclose(in);
	free(text);
	return capture;
}

static void assert_same_rows(const struct table_kind *kind, const struct result *a,
			     const struct result *b)
{
	const struct result_table *x = result_tables_find(a->tables, kind);
	const struct result_table *y = result_tables_find(b->tables, kind);

	assert_int_equal(x->count, y->count);
	for (uint32_t i = 0; i < x->count; i++)
		for (uint32_t c = 0; c < kind->column_count; c++) {
			const struct table_column *column = &kind->columns[c];
			const void *one = result_table_row(x, kind, i);
			const void *other = result_table_row(y, kind, i);

			if (table_is_text(column))
				assert_string_equal(table_text(column, one),
						    table_text(column, other));
			else
				assert_int_equal(table_cell(column, one),
						 table_cell(column, other));
		}
}

static void every_table_comes_back_from_a_capture(void **state)
{
	(void)state;
	for (uint64_t round = 0; round < unit_rounds(30); round++) {
		struct prng p = prng_round(round);
		struct quota memory = {.limit = SIZE_MAX};
		struct profile_capture *capture;
		enum capture_error error;
		struct random_result r;

		random_tables(&p, &r);
		capture = read_again(&r.made.result, true, &memory, &error);
		EXPECT(&p, capture);
		for (uint32_t i = 0; i < table_kind_count; i++)
			assert_same_rows(table_kinds[i], &r.made.result, capture_result(capture));
		capture_free(capture);
		assert_int_equal(memory.used, 0);
		random_end(&r);
	}
}

static void rows_for_timelines_are_left_out_without_one(void **state)
{
	struct prng p = prng_round(0);
	struct profile_capture *capture;
	enum capture_error error;
	struct random_result r;

	(void)state;
	random_tables(&p, &r);
	capture = read_again(&r.made.result, false, NULL, &error);
	assert_non_null(capture);
	for (uint32_t i = 0; i < table_kind_count; i++)
		assert_int_equal(
			result_tables_find(capture_result(capture)->tables, table_kinds[i])->count,
			table_kinds[i]->is_for_timeline
				? 0
				: result_tables_at(&r.made.tables, table_kinds[i])->count);
	capture_free(capture);
	random_end(&r);
}

/* Returns whether a wrong number for such a cell was found. */
static bool make_wrong(const struct made_result *m, const struct table_column *c, uint64_t *wrong)
{
	double infinite = HUGE_VAL;

	switch ((enum table_cell)c->cell) {
	case CELL_REAL:
		memcpy(wrong, &infinite, sizeof(infinite));
		return true;
	case CELL_STACK:
		*wrong = m->result.stack_count;
		return true;
	case CELL_ROW:
		*wrong = m->tables.list[c->rows_of->field - RESULT_TABLES_FIRST].count;
		return true;
	case CELL_TEXT:
	case CELL_KERNEL:
		*wrong = 0; /* none */
		return true;
	default:
		*wrong = c->below ? c->below : c->is_bounded ? LEDGER_TOTAL_MAX + UINT64_C(1) : 0;
		return c->below || c->is_bounded || c->is_positive;
	}
}

/* A wrong cell in any row is refused, including too large sums. */
static void a_capture_with_a_wrong_cell_is_refused(void **state)
{
	uint32_t refused = 0;

	(void)state;
	for (uint32_t i = 0; i < table_kind_count; i++)
		for (uint32_t c = 0; c < table_kinds[i]->column_count; c++) {
			const struct table_column *column = &table_kinds[i]->columns[c];
			struct prng p = prng_round(i * 100 + c);
			struct result_table *table;
			enum capture_error error;
			struct random_result r;
			uint64_t wrong;
			char *row;

			random_tables(&p, &r);
			table = result_tables_at(&r.made.tables, table_kinds[i]);
			row = (char *)table->rows +
			      prng_below(&p, table->count) * table_kinds[i]->row_size;
			if (make_wrong(&r.made, column, &wrong)) {
				number_store(row, column->offset, column->size, wrong);
				assert_null(read_again(&r.made.result, true, NULL, &error));
				assert_int_equal(error, CAPTURE_DAMAGED);
				refused++;
			}
			random_end(&r);
		}
	assert_true(refused > 0);
}

static void captures_are_as_large_as_memory_allows(void **state)
{
	struct prng p = prng_round(3);
	struct random_result r;
	struct profile_capture *capture = NULL;
	enum capture_error error;

	(void)state;
	random_tables(&p, &r);
	for (size_t limit = 0; !capture; limit += 997) {
		struct quota memory = {.limit = limit};

		capture = read_again(&r.made.result, true, &memory, &error);
		if (!capture)
			assert_int_equal(error, CAPTURE_TOO_LARGE);
		capture_free(capture);
		assert_int_equal(memory.used, 0);
	}
	random_end(&r);
}

/* ---- merging ---- */

static bool is_keyed(const struct table_kind *kind)
{
	for (uint32_t c = 0; c < kind->column_count; c++)
		if (kind->columns[c].join == JOIN_KEY)
			return true;
	return false;
}

/* Returns true if equal rows of two runs become one. None of their keys differs between runs. */
static bool joins_runs(const struct table_kind *kind)
{
	for (uint32_t c = 0; c < kind->column_count; c++) {
		const struct table_column *column = &kind->columns[c];

		if (column->join == JOIN_KEY &&
		    (column->cell == CELL_PROCESS || column->cell == CELL_MOMENT))
			return false;
	}
	return is_keyed(kind);
}

/* Adds up a column over all rows. */
static uint64_t sum_of(const struct result_table *table, const struct table_kind *kind,
		       const struct table_column *column)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < table->count; i++)
		sum += table_cell(column, result_table_row(table, kind, i));
	return sum;
}

/* Each table of one run, merged as two ranks. */
static void every_table_is_merged(void **state)
{
	(void)state;
	for (uint64_t round = 0; round < unit_rounds(10); round++) {
		struct prng p = prng_round(round);
		struct quota memory = {.limit = SIZE_MAX};
		struct merge *merge = merge_new(NULL, &memory);
		const struct result *all;
		struct random_result r;

		random_tables(&p, &r);
		for (uint32_t rank = 0; rank < 2; rank++) {
			r.made.result.totals.job =
				(struct job_rank){.is_known = true, .rank = rank};
			assert_int_equal(merge_add(merge, &r.made.result, "x"), MERGE_OK);
		}
		all = merge_finish(merge);
		assert_non_null(all);
		for (uint32_t i = 0; i < table_kind_count; i++) {
			const struct table_kind *kind = table_kinds[i];
			const struct result_table *one = result_tables_at(&r.made.tables, kind);
			const struct result_table *both = result_tables_find(all->tables, kind);

			if (joins_runs(kind))
				EXPECT(&p, both->count <= one->count);
			else
				EXPECT(&p, both->count == 2 * one->count);
			for (uint32_t c = 0; c < kind->column_count; c++) {
				const struct table_column *column = &kind->columns[c];

				if (column->cell == CELL_NUMBER && column->size == 8 &&
				    (column->join == JOIN_SUM || !is_keyed(kind)))
					EXPECT(&p, sum_of(both, kind, column) ==
							   2 * sum_of(one, kind, column));
			}
		}
		merge_free(merge);
		assert_int_equal(memory.used, 0);
		random_end(&r);
	}
}

/* ---- made-up tables ---- */

struct thing {
	const char *name;
	uint32_t stack, process;
	uint64_t count, when;
	double most;
	uint8_t least;
};

static bool always(const struct measure *measure)
{
	(void)measure;
	return true;
}

static uint64_t lost;

static void count_lost(struct ledger *ledger, const void *row)
{
	(void)ledger;
	lost += ((const struct thing *)row)->count;
}

static const struct table_column things[] = {
	TABLE_SHOWN(thing, count, "count", "Count", .join = JOIN_SUM),
	TABLE_SHOWN(thing, most, "most", "Most", .cell = CELL_REAL, .join = JOIN_MOST),
	TABLE_SHOWN(thing, least, "least_bytes", "Least", .join = JOIN_LEAST, .unit = UNIT_BYTES),
	TABLE_SHOWN(thing, stack, "by", "Made by", .cell = CELL_STACK, .join = JOIN_KEY),
	TABLE_SHOWN(thing, when, "at_ns", "At", .cell = CELL_MOMENT),
	TABLE_SHOWN(thing, process, "process", "Process", .cell = CELL_PROCESS),
	TABLE_SHOWN(thing, name, "name", "Name", .cell = CELL_TEXT, .join = JOIN_KEY),
};
static const struct table_kind things_table = {
	TABLE_KIND(thing, things), .field = RESULT_TABLES_FIRST, .most_rows = 3,
	.is_measured = always,     .lose = count_lost,           .key = "things",
	.title = "Things"};

static const struct thing *thing_at(const struct result_tables *t, uint32_t row)
{
	return result_table_row(&t->list[0], &things_table, row);
}

static void rows_with_equal_keys_are_one(void **state)
{
	const char *a = "a", *b = "b";
	struct thing list[] = {{a, 1, 7, UINT64_MAX - 1, 5, 1.5, 9},
			       {b, 1, 7, 1, 5, 1.5, 9},
			       {a, 1, 8, 5, 6, -2, 8},
			       {a, 2, 7, 1, 5, 3.5, 10},
			       {b, 2, 7, 10, 5, 0, 0},
			       {b, 1, 7, 2, 5, 2.5, 200}};
	struct result_tables t = {.memory = NULL};
	struct ledger ledger = {.cpu.samples = 0};

	(void)state;
	lost = 0;
	for (uint32_t i = 0; i < sizeof(list) / sizeof(list[0]); i++)
		result_tables_count(&t, &things_table, &list[i], &ledger);
	assert_int_equal(t.list[0].count, 3);
	assert_int_equal(lost, 10);
	assert_true(thing_at(&t, 0)->count == UINT64_MAX);
	assert_true(thing_at(&t, 0)->most == 1.5);
	assert_int_equal(thing_at(&t, 0)->least, 8);
	assert_int_equal(thing_at(&t, 0)->process, 7); /* the first one's */
	assert_int_equal(thing_at(&t, 1)->count, 3);
	assert_true(thing_at(&t, 1)->most == 2.5);
	result_tables_release(&t);
}

static void what_finds_no_memory_is_counted(void **state)
{
	struct table_kind kind = things_table;
	struct quota memory = {.limit = 2 * (sizeof(struct thing) + HASH_INDEX_ENTRY_BYTES)};
	struct result_tables t = {.memory = &memory};
	struct ledger ledger = {.cpu.samples = 0};

	(void)state;
	kind.lose = NULL;
	for (uint32_t i = 0; i < 3; i++)
		result_tables_count(&t, &kind, &(struct thing){"a", .stack = i}, &ledger);
	assert_int_equal(t.list[0].count, 2);
	assert_int_equal(ledger.bounds.refused, 1);
	result_tables_release(&t);
}

static void add_ten(void *context, struct stack_id *stack)
{
	(void)context;
	stack->number += 10;
}

/* Stacks get new numbers (--last): rows are found by them. */
static void rows_are_found_by_new_numbers(void **state)
{
	const char *a = "a";
	struct result_tables t = {.memory = NULL};
	const struct id_visitor visitor = {.stack = add_ten};

	(void)state;
	result_tables_add(&t, &things_table, &(struct thing){a, .stack = 1, .count = 1}, NULL);
	result_table_visit(&t.list[0], &things_table, &visitor);
	assert_int_equal(thing_at(&t, 0)->stack, 11);
	result_tables_add(&t, &things_table, &(struct thing){a, .stack = 11, .count = 2}, NULL);
	assert_int_equal(t.list[0].count, 1);
	assert_int_equal(thing_at(&t, 0)->count, 3);
	result_tables_release(&t);
}

static void rows_are_report_table(void **state)
{
	struct made_result m;
	struct thing list[2];
	struct report_table *f;
	uint32_t stack;

	(void)state;
	made_begin(&m);
	m.result.totals.start_ns = 1000;
	stack = MADE_STACK(&m, "main", "make", "cudaMalloc");
	m.frames[m.result.stacks[stack].frame].class = CLASS_API;
	place_names_add_process(&m.place_names,
				&(struct process_info){.id = 7, .pid = 70, .name = "app 70"});
	list[0] = (struct thing){"x", RESULT_ROOT, 9, 5, 0, -0.5, 1};
	list[1] = (struct thing){"y", stack, 7, 6, 1500, 2.5, 3};
	made_table(&m, &things_table, list, 2);
	f = measured_table(&m.result, &things_table);
	assert_non_null(f);
	assert_string_equal(f->key, "things");
	assert_string_equal(f->title, "Things");
	assert_int_equal(f->count, 2);
	assert_int_equal(f->column_count, 7);
	assert_int_equal(report_cell(f, 0, "count")->number, 6);
	assert_int_equal(report_cell(f, 1, "count")->number, 5);
	assert_true(report_cell(f, 0, "most")->real == 2.5);
	assert_int_equal(report_cell(f, 0, "least_bytes")->number, 3);
	assert_int_equal(report_cell(f, 0, "at_ns")->number, 500);
	assert_int_equal(report_cell(f, 1, "at_ns")->number, 0);
	assert_string_equal(report_cell(f, 0, "process")->text, "app 70");
	assert_string_equal(report_cell(f, 1, "process")->text, "");
	assert_string_equal(report_cell(f, 0, "name")->text, "y");
	assert_string_equal(report_cell(f, 0, "by")->text, "make < main");
	assert_string_equal(report_cell(f, 1, "by")->text, "");
	report_table_free(f);
	made_end(&m);
}

#define TEST(function) cmocka_unit_test(function)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(every_table_is_described),
		TEST(every_table_comes_back_from_a_capture),
		TEST(rows_for_timelines_are_left_out_without_one),
		TEST(a_capture_with_a_wrong_cell_is_refused),
		TEST(captures_are_as_large_as_memory_allows),
		TEST(every_table_is_merged),
		TEST(rows_with_equal_keys_are_one),
		TEST(what_finds_no_memory_is_counted),
		TEST(rows_are_found_by_new_numbers),
		TEST(rows_are_report_table),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
