/* SPDX-License-Identifier: MIT */
/*
 * Numbers the texts of a format that refers to texts by number.
 *
 * Equal texts have one number, in order of their first use. Texts are borrowed until the table is
 * released; text_table_keep makes a copy that lives as long.
 */
#ifndef PROFILER_SHAPE_TEXT_TABLE_H
#define PROFILER_SHAPE_TEXT_TABLE_H

#include <stdbool.h>
#include <stdint.h>
#include "symbolize/util/intern.h"
#include "symbolize/util/record_set.h"

/* Zero-initialised is empty. */
struct text_table {
	RECORD_SET(const char *); /* by number */
	struct intern kept;
	bool failed; /* out of memory: some text has the number 0, or is kept as "" */
};

void text_table_release(struct text_table *table);

/* Returns the text's number; `count` grows if the text is new. */
uint32_t text_table_number(struct text_table *table, const char *text);

/* Returns a copy that lives as long as the table. */
const char *text_table_keep(struct text_table *table, const char *text);

#endif
