/* SPDX-License-Identifier: MIT */
/* Joins cfi.c (finding and reading entries) and cfi_program.c (running programs). Internal. */
#ifndef SYMBOLIZE_CFI_PRIVATE_H
#define SYMBOLIZE_CFI_PRIVATE_H

#include "symbolize/cfi.h"
#include "symbolize/cfi_bytes.h"

/* Parts of a CIE that its FDEs need. */
struct cfi_common {
	uint64_t code_alignment;
	int64_t data_alignment;
	uint8_t pointer_encoding;
	bool has_augmentation_data;
	bool is_signal_frame;
	struct bytes program;
};

struct cfi_function {
	uint64_t start, end;
	struct cfi_common common;
	struct bytes program;
};

/* Pairs of the search table. */
struct cfi_pairs {
	const uint8_t *at;
	uint64_t count;
};

/* Opens the search table. Returns false if its form is not that of linkers. */
bool cfi_open_index(const struct cfi_table *table, struct cfi_pairs *pairs);

/* Returns an address of pair `i`: the start of the function (part 0) or its FDE (part 4). */
uint64_t cfi_pair_address(const struct cfi_table *table, const struct cfi_pairs *pairs, uint64_t i,
			  unsigned int part);

/* Runs the programs up to `pc`. Returns 0 or -EBADMSG. */
int cfi_run_program(const struct cfi_table *table, const struct cfi_function *function, uint64_t pc,
		    struct cfi_row *row);

/*
 * Reads an encoded pointer (DW_EH_PE_*). `here`: the address of the pointer; `data`: the base of
 * data-relative ones.
 */
uint64_t cfi_read_pointer(struct bytes *b, uint8_t encoding, uint64_t here, uint64_t data);

#endif
