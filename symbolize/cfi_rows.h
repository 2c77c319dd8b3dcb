/* SPDX-License-Identifier: MIT */
/*
 * A cache of call frame information rows by code location: running a function's program costs a
 * microsecond, and a profile visits the same locations again and again.
 *
 * Zero-initialised is empty. The size is fixed; evicted rows are computed again.
 */
#ifndef SYMBOLIZE_CFI_ROWS_H
#define SYMBOLIZE_CFI_ROWS_H

#include <stdbool.h>
#include "symbolize/cfi.h"
#include "symbolize/code_ref.h"
#include "symbolize/elf_cfi.h"
#include "symbolize/modules.h"

struct cfi_rows {
	struct cfi_cached_row *cache;
	uint32_t cost_left; /* of rows that are not in the cache */
	struct elf_cfi *vdso;
	bool tried_vdso;
};

/*
 * The row at `code` (or at the byte before, for a return address), or NULL if no table covers it,
 * or if rows->cost_left is used up, which only malformed tables do. Valid until the next call.
 */
const struct cfi_row *cfi_rows_find(struct cfi_rows *rows, struct modules *modules,
				    struct code_ref code, bool is_return_address);

/*
 * The function at `code`, as file offsets, or the gap around it that no table describes; all of the
 * file if it has no tables.
 */
struct cfi_bounds cfi_rows_find_bounds(struct cfi_rows *rows, struct modules *modules,
				       struct code_ref code);

/* Returns whether the code follows its file's entry point: elf_cfi_is_entry. */
bool cfi_rows_is_entry(struct cfi_rows *rows, struct modules *modules, struct code_ref code);

/*
 * Finds where the function at `code` begins, as a file offset, by its symbol: elf_cfi_find_symbol.
 */
bool cfi_rows_find_symbol(struct cfi_rows *rows, struct modules *modules, struct code_ref code,
			  uint64_t *start);

void cfi_rows_release(struct cfi_rows *rows);

#endif
