/* SPDX-License-Identifier: MIT */
/*
 * What unwinding needs to know of code, loaded and kept by the symbolizer: rows of call-frame
 * information, where functions are, and the code itself. For unwind*.c.
 */
#ifndef SYMBOLIZE_SYMBOLIZER_CFI_H
#define SYMBOLIZE_SYMBOLIZER_CFI_H

#include <stdbool.h>
#include "symbolize/cfi.h"
#include "symbolize/symbolizer.h"

/*
 * The row at a code location (at the byte before, for a return address), or NULL if no table covers
 * it. Valid until the next call.
 *
 * symbolizer_allow_rows comes first: it sets what the rows that are not known yet may cost together
 * (struct cfi_row). When that is used up, symbolizer_has_rows returns false, and NULL means
 * nothing.
 */
void symbolizer_allow_rows(struct symbolizer *s, uint32_t most);
bool symbolizer_has_rows(const struct symbolizer *s);
const struct cfi_row *symbolizer_cfi_row(struct symbolizer *s, struct code_ref code,
					 bool is_return_address);

/* The function at `code`, or the gap around it that no table describes; as offsets like its own. */
struct cfi_bounds symbolizer_cfi_bounds(struct symbolizer *s, struct code_ref code);

/*
 * Finds where the function begins that has `code`, in such a gap, by its symbol; false: not known.
 */
bool symbolizer_cfi_symbol(struct symbolizer *s, struct code_ref code, uint64_t *start);

/* Returns whether `code`, in such a gap, follows its file's entry point (elf_cfi_is_entry). */
bool symbolizer_cfi_is_entry(struct symbolizer *s, struct code_ref code);

/*
 * symbolizer_locate for any word, which may be no address: false if no known mapping has it. Does
 * not tell apart what was at one address of generated code in turn, which takes long.
 */
bool symbolizer_find_code(struct symbolizer *s, struct address_space *space, uint64_t address,
			  struct code_ref *code);

/*
 * Reads code from the file of `code`, at its offset; false: not all of it can be read. Before,
 * symbolizer_allow_code_reads says how often files may be read for it.
 */
bool symbolizer_read_code(struct symbolizer *s, struct code_ref code, uint8_t *to, size_t size);
void symbolizer_allow_code_reads(struct symbolizer *s, uint32_t most);

/*
 * Where the return address of a function without information was found last (unwind_scan.c), for it
 * is there again as long as the function runs.
 */
struct scan_hint {
	struct code_ref callee, caller; /* `callee`: what the hint is for */
	uint64_t distance;              /* from the stack pointer */
	bool is_by_rbp, is_guess, is_sure;
};

/* Finds where the hint for `callee` is, or would be; NULL: no memory. */
struct scan_hint *symbolizer_scan_hint(struct symbolizer *s, struct code_ref callee);

#endif
