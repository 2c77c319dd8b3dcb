/* SPDX-License-Identifier: MIT */
/* A random result that has all tables of add-ons, with random rows by their descriptions. */
#ifndef TESTS_UNIT_RANDOM_TABLES_H
#define TESTS_UNIT_RANDOM_TABLES_H

#include "random_result.h"
#include "profiler/model/result_table.h"

#define RANDOM_ROWS 40u

static const char *const random_texts[] = {"[GPU_Kernel]k", "x", "\xc3\xa4 y", ""};

static inline uint64_t random_cell(struct prng *p, struct made_result *m,
				   const struct table_column *c)
{
	double real = (double)prng_bits(p, 40) / 7 - 1000;
	uint64_t number = prng_bits(p, c->is_bounded || c->join == JOIN_SUM ? 40 : 8u * c->size);

	switch ((enum table_cell)c->cell) {
	case CELL_REAL:
		memcpy(&number, &real, sizeof(number));
		return number;
	case CELL_TEXT:
	case CELL_KERNEL:
		return (uintptr_t)
			random_texts[prng_below(p, sizeof(random_texts) / sizeof(random_texts[0]))];
	case CELL_STACK:
		return prng_below(p, m->result.stack_count);
	case CELL_PROCESS:
		return prng_below(p, RANDOM_PROCESSES);
	case CELL_ROW:
		return prng_below(p, result_tables_at(&m->tables, c->rows_of)->count);
	case CELL_MOMENT:
		return RANDOM_START_NS + prng_below(p, RANDOM_RUN_NS);
	default:
		if (c->below)
			return prng_below(p, c->below);
		if (c->is_positive)
			return 1 + prng_bits(p, 20);
		return number;
	}
}

static inline void random_row(struct prng *p, struct made_result *m, const struct table_kind *kind,
			      void *row)
{
	memset(row, 0, kind->row_size);
	for (uint32_t c = 0; c < kind->column_count; c++)
		number_store(row, kind->columns[c].offset, kind->columns[c].size,
			     random_cell(p, m, &kind->columns[c]));
}

/* Returns the settings of a run that measures everything. */
static inline struct measure all_measures(void)
{
	struct measure measure;

	memset(&measure, 1, sizeof(measure));
	measure.ranges = NULL;
	measure.kernels_only = false;
	measure.delay_ns = measure.duration_ns = measure.last_ns = 0;
	return measure;
}

static inline void random_tables(struct prng *p, struct random_result *r)
{
	struct result *result = &r->made.result;
	_Alignas(uint64_t) unsigned char row[TABLE_ROW_MAX];

	random_begin(p, r);
	result->totals.measure = all_measures();
	result_tables_begin(&r->made.tables, &result->totals.measure);
	for (uint32_t i = 0; i < table_kind_count; i++)
		for (uint32_t n = 0; n < RANDOM_ROWS; n++) {
			random_row(p, &r->made, table_kinds[i], row);
			assert_int_equal(
				result_tables_add(&r->made.tables, table_kinds[i], row, NULL),
				TABLE_OK);
		}
	result->tables = &r->made.tables;
	result->whole = result;
}

#endif
