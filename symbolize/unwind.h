/* SPDX-License-Identifier: MIT */
/*
 * A stack that was snapshot (registers and the memory above the stack pointer) -> its frames.
 *
 * By call-frame information, kept as rows for each place in code seen before; code without it (a
 * JIT's) by its frame pointer where that leads on. The snapshot is all that is read of the process.
 */
#ifndef SYMBOLIZE_UNWIND_H
#define SYMBOLIZE_UNWIND_H

#include <stdbool.h>
#include <stddef.h>
#include "symbolize/cfi.h"
#include "symbolize/symbolizer.h"

struct unwind_input {
	struct cfi_registers registers; /* where the thread was */
	const void *stack;              /* what lay at registers' rsp and above */
	size_t stack_size;              /* bytes */
};

struct unwind_frame {
	struct code_ref code;
	uint64_t address;       /* what was located: a pc or return address */
	bool is_return_address; /* else an exact pc: the innermost frame, or one a signal
				   interrupted */
};

enum unwind_end {
	UNWIND_WHOLE,     /* at the start of the thread */
	UNWIND_TRUNCATED, /* more frames, or more stack, than there was room for */
	UNWIND_LOST,      /* no way on from the last frame */
};

/*
 * Unwinds in an address space as it is known now. Frames are innermost first; at most
 * `max`. Returns how many.
 */
size_t symbolizer_unwind(struct symbolizer *s, struct address_space *space,
			 const struct unwind_input *input, struct unwind_frame *frames, size_t max,
			 enum unwind_end *end);

#endif
