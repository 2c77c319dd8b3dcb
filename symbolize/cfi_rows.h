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
 * Returns the call-frame information of a module, loaded at its first use; NULL: there is none.
 */
const struct elf_cfi *cfi_rows_tables(struct cfi_rows *rows, struct modules *modules,
				      uint32_t module);

void cfi_rows_release(struct cfi_rows *rows);

#endif
