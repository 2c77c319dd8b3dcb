/* SPDX-License-Identifier: MIT */
/*
 * Provides unwind*.c with data about code, which the symbolizer loads and keeps: call-frame rows,
 * bounds of functions, and bytes of code.
 */
#ifndef SYMBOLIZE_SYMBOLIZER_CFI_H
#define SYMBOLIZE_SYMBOLIZER_CFI_H

#include <stdbool.h>
#include "symbolize/cfi.h"
#include "symbolize/symbolizer.h"

/*
 * Finds the row at a code location, or at the byte before for a return address. Returns NULL if no
 * table covers the code. Valid until the next call.
 *
 * symbolizer_allow_rows comes first: it sets the budget for the cost of new rows (struct cfi_row).
 * When that is used up, symbolizer_has_rows returns false, and NULL means nothing.
 */
void symbolizer_allow_rows(struct symbolizer *s, uint32_t most);
bool symbolizer_has_rows(const struct symbolizer *s);
const struct cfi_row *symbolizer_cfi_row(struct symbolizer *s, struct code_ref code,
					 bool is_return_address);

/*
 * Returns the function at `code`, or the gap around it that no table describes; as offsets like its
 * own.
 */
struct cfi_bounds symbolizer_cfi_bounds(struct symbolizer *s, struct code_ref code);

/*
 * Finds the start of the function with `code`, in such a gap, by its symbol. Returns false if
 * unknown.
 */
bool symbolizer_cfi_symbol(struct symbolizer *s, struct code_ref code, uint64_t *start);

/* Returns whether `code`, in such a gap, follows its file's entry point (elf_cfi_is_entry). */
bool symbolizer_cfi_is_entry(struct symbolizer *s, struct code_ref code);

/*
 * Locates any word, which may be no address. Returns false if no known mapping has the word.
 * Ignores earlier code at an address of generated code: that takes long.
 */
bool symbolizer_find_code(struct symbolizer *s, struct address_space *space, uint64_t address,
			  struct code_ref *code);

/*
 * Reads code from the file of `code`, at its offset. Returns false if not all bytes are readable.
 * Before, symbolizer_allow_code_reads sets how often files may be read.
 */
bool symbolizer_read_code(struct symbolizer *s, struct code_ref code, uint8_t *to, size_t size);
void symbolizer_allow_code_reads(struct symbolizer *s, uint32_t most);

/*
 * Last place of the return address of a function without information (unwind_scan.c). The place is
 * right as long as the function runs.
 */
struct scan_hint {
	struct code_ref callee, caller; /* `callee`: function that the hint is for */
	uint64_t distance;              /* bytes from the stack pointer */
	bool is_by_rbp, is_guess, is_sure;
};

/* Returns the slot of the hint for `callee`, perhaps of another one; NULL: out of memory. */
struct scan_hint *symbolizer_scan_hint(struct symbolizer *s, struct code_ref callee);

#endif
