/* SPDX-License-Identifier: MIT */
/*
 * Caches rows of call-frame information by code location.
 *
 * Running a function's program takes a microsecond, and a profile visits few locations often.
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
	uint32_t cost_left; /* budget for rows that are not cached */
	struct elf_cfi *vdso;
	bool tried_vdso;
};

/*
 * Finds the row at `code`, or at the byte before for a return address. Returns NULL if no table
 * covers the code, or rows->cost_left is used up, which only malformed tables cause. Valid until
 * the next call.
 */
const struct cfi_row *cfi_rows_find(struct cfi_rows *rows, struct modules *modules,
				    struct code_ref code, bool is_return_address);

/* Loads the call-frame information of a module at its first use. Returns NULL if there is none. */
const struct elf_cfi *cfi_rows_tables(struct cfi_rows *rows, struct modules *modules,
				      uint32_t module);

void cfi_rows_release(struct cfi_rows *rows);

#endif
