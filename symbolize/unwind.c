// SPDX-License-Identifier: MIT
#include "symbolize/unwind.h"

#include <errno.h>
#include <string.h>
#include "symbolize/symbolizer_cfi.h"

struct stack_memory {
	uint64_t start;
	const unsigned char *bytes;
	size_t size;
	bool ran_out; /* something above the snapshot was needed */
};

static bool read_stack(void *context, uint64_t address, uint64_t *value)
{
	struct stack_memory *m = context;

	if (address < m->start)
		return false;
	if (m->size < 8 || address - m->start > m->size - 8) {
		m->ran_out = true;
		return false;
	}
	memcpy(value, m->bytes + (address - m->start), sizeof(*value));
	return true;
}

/* rbp points at the saved rbp and the return address, if the code keeps a frame pointer at all. */
static bool step_by_frame_pointer(struct cfi_registers *r, struct stack_memory *m)
{
	uint64_t rbp = r->value[CFI_RBP], saved, pc;

	if (!(r->known & (1u << CFI_RBP)) || rbp < r->value[CFI_RSP] || (rbp & 7) ||
	    !read_stack(m, rbp, &saved) || !read_stack(m, rbp + 8, &pc))
		return false;
	r->value[CFI_RSP] = rbp + 16;
	r->value[CFI_RBP] = saved;
	r->value[CFI_PC] = pc;
	/* other saved registers are unknown */
	r->known = 1u << CFI_RSP | 1u << CFI_RBP | 1u << CFI_PC;
	return true;
}

/* The loader's entry has no call frame information to mark it as outermost. */
static bool is_loader(struct symbolizer *s, struct code_ref code)
{
	const char *path = symbolizer_module_path(s, code.module), *slash = strrchr(path, '/');
	const char *base = slash ? slash + 1 : path;

	return strncmp(base, "ld-linux", 8) == 0 || strncmp(base, "ld-musl", 7) == 0;
}

enum step { STEP_ON, STEP_OUTERMOST, STEP_LOST };

static enum step step(struct symbolizer *s, struct code_ref code, bool is_return,
		      struct cfi_registers *r, struct stack_memory *m, bool *was_signal)
{
	uint64_t sp = r->value[CFI_RSP];
	const struct cfi_row *row = symbolizer_cfi_row(s, code, is_return);
	int err;

	*was_signal = row && row->is_signal_frame;
	if (!row && step_by_frame_pointer(r, m))
		return STEP_ON;
	if (!row)
		return is_loader(s, code) ? STEP_OUTERMOST : STEP_LOST;
	err = cfi_apply(row, r, read_stack, m);
	if (err == -ENOENT)
		return STEP_OUTERMOST;
	/*
	 * the stack grows down, so a caller's frame is above; a signal may have come on another
	 * stack
	 */
	if (err || (r->value[CFI_RSP] <= sp && !*was_signal))
		return STEP_LOST;
	return STEP_ON;
}

size_t symbolizer_unwind(struct symbolizer *s, struct address_space *space,
			 const struct unwind_input *input, struct unwind_frame *frames, size_t max,
			 enum unwind_end *end)
{
	struct cfi_registers r = input->registers;
	struct stack_memory m = {
		.start = r.value[CFI_RSP], .bytes = input->stack, .size = input->stack_size};
	bool is_return = false, was_signal;
	size_t count = 0;

	*end = UNWIND_TRUNCATED;
	while (count < max) {
		uint64_t pc = r.value[CFI_PC];
		enum step result;

		if (pc == 0) {
			*end = UNWIND_WHOLE; /* clone and makecontext store a zero there */
			return count;
		}
		frames[count].address = pc;
		frames[count].sp = r.value[CFI_RSP];
		frames[count].code = symbolizer_locate(s, space, pc);
		frames[count].is_return_address = is_return;
		result = step(s, frames[count].code, is_return, &r, &m, &was_signal);
		count++;
		if (result == STEP_OUTERMOST)
			*end = UNWIND_WHOLE;
		else if (result == STEP_LOST)
			*end = m.ran_out ? UNWIND_TRUNCATED : UNWIND_LOST;
		if (result != STEP_ON)
			return count;
		is_return = !was_signal;
	}
	return count;
}
