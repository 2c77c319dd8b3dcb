/* SPDX-License-Identifier: MIT */
/*
 * The table of texts of a format that refers to them by number: each once, numbered as they come.
 * Texts are borrowed and stay until the table is released; text_table_keep makes one that does.
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
	bool failed; /* out of memory: some text had the number 0, or was kept as "" */
};

void text_table_release(struct text_table *table);

/* The text's number; `count` grows if it is a new one. */
uint32_t text_table_number(struct text_table *table, const char *text);

/* A copy that stays. */
const char *text_table_keep(struct text_table *table, const char *text);

#endif
