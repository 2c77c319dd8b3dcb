/* SPDX-License-Identifier: MIT */
/*
 * Decodes call-frame information: how to compute the caller's registers at any pc of a function.
 *
 * Reads .eh_frame (through the search table .eh_frame_hdr if there is one) and .debug_frame of
 * x86-64. Runs the call-frame program up to a pc, and applies the resulting row to registers and
 * memory.
 *
 * Does not allocate, lock or print, and every access is within the given bounds: this code runs on
 * untrusted files in the profiler, and inside the user's program at each launch (cupti_trace/).
 *
 * Sources: DWARF 4, section 6.4 and 7.23; Linux Standard Base, .eh_frame and .eh_frame_hdr; System
 * V ABI AMD64, register numbers (figure 3.36).
 */
#ifndef SYMBOLIZE_CFI_H
#define SYMBOLIZE_CFI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* DWARF register numbers. */
enum cfi_register {
	CFI_RAX = 0,
	CFI_RBX = 3,
	CFI_RDI = 5,
	CFI_RBP = 6,
	CFI_RSP = 7,
	CFI_R12 = 12,
	CFI_R15 = 15,
	CFI_PC = 16, /* the return address column */
	CFI_REGISTERS = 17
};

struct cfi_registers {
	uint64_t value[CFI_REGISTERS];
	uint32_t known; /* one bit per register */
};

/* The sections of one module, in memory; `address` is a section's address in the module. */
struct cfi_table {
	const uint8_t *frames; /* .eh_frame or .debug_frame */
	size_t frames_size;
	uint64_t frames_address;
	const uint8_t *index; /* .eh_frame_hdr; NULL: none */
	size_t index_size;
	uint64_t index_address;
	bool is_debug_frame;
};

enum cfi_rule_kind {
	CFI_SAME,      /* unchanged: the default */
	CFI_UNDEFINED, /* unknown; for the pc: outermost frame */
	CFI_OFFSET,    /* saved at CFA + offset */
	CFI_VAL_OFFSET,
	CFI_REGISTER_RULE,
	CFI_EXPRESSION, /* saved at the address given by the expression */
	CFI_VAL_EXPRESSION,
};

/*
 * Maximum size of an entry; longer ones count as malformed. Each lookup reads two entries
 * completely. The longest ones of large programs (GCC's) have 20 KiB.
 */
#define CFI_ENTRY_MAX 65536
#define CFI_AUGMENTATION_MAX 16 /* letters; compilers write "zPLRSB" at most */

struct cfi_rule {
	uint8_t kind;              /* enum cfi_rule_kind */
	uint8_t reg;               /* CFI_REGISTER_RULE */
	uint16_t expression_size;  /* bytes */
	int32_t offset;            /* bytes from the CFA */
	const uint8_t *expression; /* borrowed from the table */
};

/* The rules at one pc. */
struct cfi_row {
	bool cfa_is_expression;
	bool is_signal_frame; /* the pc was interrupted: no return address */
	uint8_t cfa_register;
	int32_t cfa_offset;
	uint16_t cfa_expression_size;
	const uint8_t *cfa_expression;
	/*
	 * cost of computing the row, also in vain: bytes of programs, more for copies of the state
	 */
	uint32_t cost;
	struct cfi_rule rules[CFI_REGISTERS];
};

/*
 * Finds the row at `pc`, an address in the module, by the search table. Returns 0; -ENOENT if no
 * information covers the pc; -EBADMSG if the table is malformed there.
 */
int cfi_find_row(const struct cfi_table *table, uint64_t pc, struct cfi_row *row);

/*
 * Returns whether the search table can be used: its form is that of linkers, its entries are
 * sorted, and each leads into the section. Reads all of it.
 */
bool cfi_index_is_usable(const struct cfi_table *table);

/* Bounds of code with one description: a function, or a gap between functions. */
struct cfi_bounds {
	uint64_t start, end;
	bool is_function;
};

/* Returns the bounds around `pc`, by the search table. */
struct cfi_bounds cfi_find_bounds(const struct cfi_table *table, uint64_t pc);

/* Reads a word of the unwound program's memory. Returns false if the word is unreadable. */
typedef bool (*cfi_reader)(void *context, uint64_t address, uint64_t *value);

/*
 * Applies a row: `registers` become the caller's. Returns 0; -ENOENT if there is no caller; -EFAULT
 * if a required register or word is unknown; -EBADMSG if an expression is malformed. Registers
 * popped from below the stack pointer count as unchanged if their words cannot be read.
 */
int cfi_apply(const struct cfi_row *row, struct cfi_registers *registers, cfi_reader read,
	      void *context);

/*
 * Forms of nearly all rows: the return address just below the CFA, rbp saved at a fixed offset or
 * unchanged. They fit a cache and are applied in a few instructions.
 */
enum cfi_cfa_form {
	CFI_CFA_RSP, /* rsp + cfa_offset */
	CFI_CFA_RBP, /* rbp + cfa_offset */
	/*
	 * the word at rbp + cfa_offset, with rbp saved at rbp + rbp_offset: compilers describe
	 * functions so that align their frame (DW_OP_breg6, deref)
	 */
	CFI_CFA_AT_RBP,
};

struct cfi_simple_row {
	int32_t cfa_offset;
	int16_t rbp_offset;   /* bytes from the CFA; or CFI_RBP_SAME, CFI_RBP_UNDEFINED */
	uint8_t cfa_form;     /* enum cfi_cfa_form */
	uint8_t is_outermost; /* no caller */
};
#define CFI_RBP_SAME INT16_MIN
#define CFI_RBP_UNDEFINED (INT16_MIN + 1)

/* Converts a row to its simple form. Returns false if the row has none. */
bool cfi_simplify(const struct cfi_row *row, struct cfi_simple_row *simple);

/* ---- sections without a search table ---- */

struct cfi_index_entry {
	uint64_t start, end; /* pc range, addresses in the module */
	uint64_t fde;        /* offset in the section */
};

/*
 * Lists the functions of a section in order, through the callback. Returns 0, or -EBADMSG if the
 * section is malformed: functions before that point have been listed.
 */
int cfi_each_function(const struct cfi_table *table,
		      void (*visit)(void *context, const struct cfi_index_entry *entry),
		      void *context);

/* Finds the row at `pc`, by the function description at offset `fde` of the section. */
int cfi_row_of_function(const struct cfi_table *table, uint64_t fde, uint64_t pc,
			struct cfi_row *row);

#endif
