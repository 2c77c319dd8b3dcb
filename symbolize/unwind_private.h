/* SPDX-License-Identifier: MIT */
/*
 * Joins unwind.c (steps by call-frame information, the walk) and unwind_scan.c (steps from code
 * without it). Internal.
 */
#ifndef SYMBOLIZE_UNWIND_PRIVATE_H
#define SYMBOLIZE_UNWIND_PRIVATE_H

#include "symbolize/symbolizer_cfi.h"
#include "symbolize/unwind.h"

/*
 * Budget of one walk for rows, however hostile tables and stack are. Ordinary tables cost up to 200
 * a frame, a function of GCC with 20 KiB of them 40,000.
 */
#define UNWIND_ROW_COST (1u << 20)
/* Budgets of one walk for code without information. */
#define UNWIND_TRIAL_STEPS 2048u
#define UNWIND_SCAN_WORDS 16384u
#define UNWIND_CODE_READS 128u

struct stack_memory {
	uint64_t start;
	const unsigned char *bytes;
	size_t size;
	bool ran_out; /* a word above the snapshot was needed */
};

struct walk {
	struct symbolizer *s;
	struct address_space *space;
	struct stack_memory memory;
	struct stack_memory interrupted; /* stack followed behind the signal frame; size 0: none */
	bool has_base, interrupted_has_base;
	bool is_guessed;     /* a step had two possible answers */
	bool trusts_rbp;     /* frame pointers led to the start of the thread before */
	uint32_t steps_left; /* steps left for trials */
	uint32_t words_left; /* words left to examine */
	uint32_t trial_words_left;
};

/* Place of a walk: a frame. */
struct frame_place {
	struct cfi_registers registers;
	struct code_ref code;
	bool is_return;  /* the pc is a return address */
	bool by_row;     /* found by call-frame information */
	bool is_outside; /* the pc is in no mapped code */
};

/*
 * Maximum distance of an interrupted stack pointer below readable memory (a stack overflow), bytes.
 */
#define UNWIND_BELOW_STACK 8192u

enum step { STEP_ON, STEP_START, STEP_CUT };

/* Reads a word of the stack copy; sets `ran_out`. */
bool unwind_read_stack(void *memory, uint64_t address, uint64_t *value);

/*
 * Steps from `place` to its caller, by its row. STEP_START: there is no caller, the thread starts
 * there. STEP_CUT: `*why`.
 */
enum step unwind_by_row(struct walk *w, const struct cfi_row *row, struct frame_place *place,
			enum unwind_end *why);

/* Locates the pc of `place`, for a trial. */
void unwind_locate_quietly(struct walk *w, struct frame_place *place);

/* Steps from `place` to its caller, from code without a row. */
enum step unwind_without_row(struct walk *w, struct frame_place *place, enum unwind_end *why);

/*
 * Returns whether a return address begins a function, is behind no call, and the byte before has no
 * row. makecontext and others put such an address at the start of a stack.
 */
bool unwind_is_beginning(struct walk *w, const struct frame_place *place);

/*
 * Returns whether the kernel started a program, or its dynamic loader, in this code without a row:
 * at the file's entry point, with the program's arguments next on the stack.
 */
bool unwind_is_entry(struct walk *w, const struct frame_place *place);

#endif
