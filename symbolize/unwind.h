/* SPDX-License-Identifier: MIT */
/*
 * Unwinds a stack snapshot (registers and the memory above the stack pointer).
 *
 * Uses call-frame information: of files, as rows cached by code location, and of generated code
 * (jit_frames.h). Code without it (a JIT's, assembler) is left through a word that is an address
 * behind a call, and from which the walk continues. That word is where rbp points, if rbp is a
 * frame pointer, or in a bounded part of the stack (unwind_scan.c chooses). Reads nothing else from
 * the process; code is read from its file.
 *
 * A stack is whole if it ends where threads begin, and each step was certain. A program and its
 * dynamic loader begin at their files' entry points, with the program's arguments next on the
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
 * May begin below the interrupted stack pointer, or a little above if memory begins there.
 */
struct unwind_interrupted {
	uint64_t start;
	const void *stack;
	size_t stack_size; /* bytes; 0: none */
	bool has_base;     /* see struct unwind_input */
};

struct unwind_input {
	struct cfi_registers registers; /* registers at the snapshot */
	const void *stack;              /* memory at rsp and above */
	size_t stack_size;              /* bytes */
	bool has_base; /* the memory ends at the start of the thread's stack, which has no caller */
	struct unwind_interrupted interrupted;
};

struct unwind_frame {
	struct code_ref code;
	uint64_t address;       /* pc or return address */
	uint64_t sp;            /* stack pointer there */
	bool is_trampoline;     /* generated code of CPython, or its function that called such code
				   (python_trampoline.h) */
	bool is_return_address; /* false: an exact pc, of the innermost or an interrupted frame */
};

enum unwind_end {
	UNWIND_WHOLE,   /* reached the start of the thread */
	UNWIND_GUESSED, /* reached the start, but a step had two possible answers */
	/* cut, because */
	UNWIND_TOO_DEEP,        /* no room for more frames */
	UNWIND_SHORT_COPY,      /* more of the stack is needed than was copied */
	UNWIND_NO_INFORMATION,  /* the code has no call-frame information, the stack no caller */
	UNWIND_BAD_INFORMATION, /* the call-frame information is malformed, or takes too long */
	UNWIND_NOT_CODE,        /* a return address is in no mapped code */
	UNWIND_UNREADABLE,      /* a required register or word is unknown */
	UNWIND_LOOP,            /* the caller's frame is not above */
	UNWIND_ENDS
};

/*
 * Unwinds in the current address space. Frames are innermost first, at most `max`. Returns their
 * number. If a stack is cut, the last frame is the one that could not be left.
 */
size_t symbolizer_unwind(struct symbolizer *s, struct address_space *space,
			 const struct unwind_input *input, struct unwind_frame *frames, size_t max,
			 enum unwind_end *end);

#endif
