/* SPDX-License-Identifier: MIT */
/*
 * Unwinds a stack snapshot (registers and the memory above the stack pointer).
 *
 * Uses call frame information, kept as rows per code location; code without it (a JIT's) by frame
 * pointer where possible. Reads nothing else from the process.
 */
#ifndef SYMBOLIZE_UNWIND_H
#define SYMBOLIZE_UNWIND_H

#include <stdbool.h>
#include <stddef.h>
#include "symbolize/cfi.h"
#include "symbolize/symbolizer.h"

struct unwind_input {
	struct cfi_registers registers; /* at the snapshot */
	const void *stack;              /* memory at registers' rsp and above */
	size_t stack_size;              /* bytes */
};

struct unwind_frame {
	struct code_ref code;
	uint64_t address;       /* the pc or return address */
	uint64_t sp;            /* the stack pointer there */
	bool is_return_address; /* false: an exact pc, of the innermost frame or one that a signal
				 * interrupted */
};

enum unwind_end {
	UNWIND_WHOLE,     /* reached the start of the thread */
	UNWIND_TRUNCATED, /* more frames, or more stack, than there was room for */
	UNWIND_LOST,      /* no way to continue from the last frame */
};

/*
 * Unwinds in the current address space. Frames are innermost first; at most `max`. Returns their
 * number.
 */
size_t symbolizer_unwind(struct symbolizer *s, struct address_space *space,
			 const struct unwind_input *input, struct unwind_frame *frames, size_t max,
			 enum unwind_end *end);

#endif
