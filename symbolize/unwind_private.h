/* SPDX-License-Identifier: MIT */
/*
 * The interface between unwind.c (steps by call-frame information, the walk) and unwind_scan.c
 * (steps from code without it).
 */
#ifndef SYMBOLIZE_UNWIND_PRIVATE_H
#define SYMBOLIZE_UNWIND_PRIVATE_H

#include "symbolize/symbolizer_cfi.h"
#include "symbolize/unwind.h"

/*
 * What one walk may cost, however hostile the tables and the stack are: ordinary tables take up to
 * 200 a frame, a function of GCC with 20 KiB of them 40,000.
 */
#define UNWIND_ROW_COST (1u << 20)
/* The same of code without information. */
#define UNWIND_TRIAL_STEPS 2048u
#define UNWIND_SCAN_WORDS 16384u
#define UNWIND_CODE_READS 128u

struct stack_memory {
	uint64_t start;
	const unsigned char *bytes;
	size_t size;
	bool ran_out; /* something above the snapshot was needed */
};

struct walk {
	struct symbolizer *s;
	struct address_space *space;
	struct stack_memory memory;
	struct stack_memory interrupted; /* followed from the signal's frame on; size 0: none */
	bool has_base, interrupted_has_base;
	bool is_guessed;     /* a step had two answers */
	bool trusts_rbp;     /* frame pointers were followed to the thread's start already */
	uint32_t steps_left; /* of trials */
	uint32_t words_left; /* to look at */
	uint32_t trial_words_left;
};

/* A walk's place. */
struct frame_place {
	struct cfi_registers registers;
	struct code_ref code;
	bool is_return;  /* the pc is a return address */
	bool by_row;     /* found by call-frame information */
	bool is_outside; /* the pc is in no mapped code */
};

/* How far an interrupted stack pointer may be below memory that can be read (a stack overflow). */
#define UNWIND_BELOW_STACK 8192u

enum step { STEP_ON, STEP_START, STEP_CUT };

/* A word of the stack copy; sets `ran_out`. */
bool unwind_read_stack(void *memory, uint64_t address, uint64_t *value);

/*
 * From `place` to its caller, by its row. STEP_START: it has no caller, the thread starts there.
 * STEP_CUT: `*why`.
 */
enum step unwind_by_row(struct walk *w, const struct cfi_row *row, struct frame_place *place,
			enum unwind_end *why);

/* Locates the pc of `place`, for a trial. */
void unwind_locate_quietly(struct walk *w, struct frame_place *place);

/* Does the same from code without a row. */
enum step unwind_without_row(struct walk *w, struct frame_place *place, enum unwind_end *why);

/*
 * Returns whether a return address, whose byte before has no row, is the beginning of a function
 * and behind no call: what makecontext and the like put at a stack's start.
 */
bool unwind_is_beginning(struct walk *w, const struct frame_place *place);

/*
 * Returns whether code without a row is where the kernel started a program, or its dynamic loader:
 * at the file's entry point, with the program's arguments next on the stack.
 */
bool unwind_is_entry(struct walk *w, const struct frame_place *place);

#endif
