/* SPDX-License-Identifier: MIT */
/*
 * Unwinds a stack snapshot (registers and the memory above the stack pointer).
 *
 * Uses call-frame information: of files, kept as rows per code location, and what compilers write
 * of generated code (jit_frames.h). Code without it (a JIT's, assembler) is left for the first
 * place whose word is an address behind a call in executable code, and from which the walk goes on:
 * where rbp points, if it is a frame pointer, or anywhere in a bounded piece of the stack
 * (unwind_scan.c says which of several). Reads nothing else from the process; code is read from its
 * file.
 *
 * A stack is whole when it ends where threads begin, and each step there was certain. A program and
 * its dynamic loader begin at their files' entry points, with the program's arguments next on the
 * stack.
 */
#ifndef SYMBOLIZE_UNWIND_H
#define SYMBOLIZE_UNWIND_H

#include <stdbool.h>
#include <stddef.h>
#include "symbolize/cfi.h"
#include "symbolize/code_ref.h"

struct address_space;
struct symbolizer;

/*
 * Memory of the stack that a signal interrupted whose handler runs on another one (sigaltstack).
 * May begin below the interrupted stack pointer, or a little above where memory begins there.
 */
struct unwind_interrupted {
	uint64_t start;
	const void *stack;
	size_t stack_size; /* bytes; 0: there is none */
	bool has_base;     /* as in struct unwind_input */
};

struct unwind_input {
	struct cfi_registers registers; /* at the snapshot */
	const void *stack;              /* memory at registers' rsp and above */
	size_t stack_size;              /* bytes */
	bool has_base; /* the memory ends where the thread's stack begins: nothing called from there
			*/
	struct unwind_interrupted interrupted;
};

struct unwind_frame {
	struct code_ref code;
	uint64_t address;       /* the pc or return address */
	uint64_t sp;            /* the stack pointer there */
	bool is_trampoline;     /* generated code of CPython's, or its function that has called it
				 * (python_trampoline.h) */
	bool is_return_address; /* false: an exact pc, of the innermost frame or one that a signal
				 * interrupted */
};

enum unwind_end {
	UNWIND_WHOLE,   /* reached the start of the thread */
	UNWIND_GUESSED, /* likewise, but somewhere two answers were possible */
	/* it is cut, because */
	UNWIND_TOO_DEEP,        /* there was no room for more frames */
	UNWIND_SHORT_COPY,      /* more of the stack would be needed than was copied */
	UNWIND_NO_INFORMATION,  /* the code has no call-frame information, the stack no caller */
	UNWIND_BAD_INFORMATION, /* the code's is malformed, or takes too long */
	UNWIND_NOT_CODE,        /* a return address is in no mapped code */
	UNWIND_UNREADABLE,      /* a register or word would be needed that is not known */
	UNWIND_LOOP,            /* the caller's frame would not lie above */
	UNWIND_ENDS
};

/*
 * Unwinds in the current address space. Frames are innermost first; at most `max`. Returns their
 * number. Where a stack is cut, the last frame is the one that could not be left.
 */
size_t symbolizer_unwind(struct symbolizer *s, struct address_space *space,
			 const struct unwind_input *input, struct unwind_frame *frames, size_t max,
			 enum unwind_end *end);

#endif
