/* SPDX-License-Identifier: MIT */
/*
 * Finds rows in sections without a search table, too: by walking over all functions.
 */
#ifndef TESTS_UNIT_FIND_ROW_H
#define TESTS_UNIT_FIND_ROW_H

#include <errno.h>
#include "symbolize/cfi.h"

struct row_search {
	uint64_t pc, fde;
	bool found;
};

static inline void match_function(void *context, const struct cfi_index_entry *entry)
{
	struct row_search *s = context;

	if (!s->found && s->pc >= entry->start && s->pc < entry->end) {
		s->fde = entry->fde;
		s->found = true;
	}
}

static inline int find_row(const struct cfi_table *table, uint64_t pc, struct cfi_row *row)
{
	struct row_search search = {.pc = pc};

	if (table->index)
		return cfi_find_row(table, pc, row);
	cfi_each_function(table, match_function, &search);
	return search.found ? cfi_row_of_function(table, search.fde, pc, row) : -ENOENT;
}

#endif
