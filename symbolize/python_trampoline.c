// SPDX-License-Identifier: MIT
#include "symbolize/python_trampoline.h"

#include <string.h>

static const uint8_t endbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};

/* Instructions of each form: up to the return address of the call, and from there on. */
static const struct form {
	enum python_trampoline_form form;
	uint8_t before[PYTHON_TRAMPOLINE_BEFORE];
	uint8_t behind[PYTHON_TRAMPOLINE_BEHIND];
	uint8_t behind_size;
} forms[] = {
	{PYTHON_TRAMPOLINE_BY_RSP,
	 {0x48, 0x83, 0xec, 0x08, 0xff, 0xd1},
	 {0x48, 0x83, 0xc4, 0x08, 0xc3},
	 5},
	{PYTHON_TRAMPOLINE_BY_RBP, {0x55, 0x48, 0x89, 0xe5, 0xff, 0xd1}, {0x5d, 0xc3}, 2},
};

/* Finds the form. `size`: bytes of `behind`, which may be incomplete. */
static enum python_trampoline_form find_form(const uint8_t *before, const uint8_t *behind,
					     size_t size)
{
	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		const struct form *f = &forms[i];

		if (memcmp(before, f->before, sizeof(f->before)) == 0 && size >= f->behind_size &&
		    memcmp(behind, f->behind, f->behind_size) == 0)
			return f->form;
	}
	return PYTHON_TRAMPOLINE_NONE;
}

enum python_trampoline_form python_trampoline_read(const uint8_t *code, size_t size)
{
	size_t at = size >= sizeof(endbr64) && memcmp(code, endbr64, sizeof(endbr64)) == 0
			    ? sizeof(endbr64)
			    : 0;

	if (size < at + PYTHON_TRAMPOLINE_BEFORE)
		return PYTHON_TRAMPOLINE_NONE;
	return find_form(code + at, code + at + PYTHON_TRAMPOLINE_BEFORE,
			 size - at - PYTHON_TRAMPOLINE_BEFORE);
}

enum python_trampoline_form
python_trampoline_around(const uint8_t code[PYTHON_TRAMPOLINE_BEFORE + PYTHON_TRAMPOLINE_BEHIND])
{
	return find_form(code, code + PYTHON_TRAMPOLINE_BEFORE, PYTHON_TRAMPOLINE_BEHIND);
}

/*
 * Returns the bytes of the call at the end of `code`, through a register but rcx; 0: there is none.
 */
static unsigned int call_size(const uint8_t code[PYTHON_TRAMPOLINE_CALL])
{
	const uint8_t *end = code + PYTHON_TRAMPOLINE_CALL;

	if (end[-2] != 0xff || (end[-1] & 0xf8) != 0xd0)
		return 0;
	if (end[-3] == 0x41)
		return 3; /* r8 to r15 */
	return end[-1] == 0xd1 ? 0 : 2;
}

bool python_trampoline_is_called(const uint8_t code[PYTHON_TRAMPOLINE_CALL], uint64_t pc,
				 uint64_t loop)
{
	unsigned int size = call_size(code);

	if (!size)
		return false;
	for (unsigned int at = PYTHON_TRAMPOLINE_CALL - size; at-- > 0;) {
		const uint8_t *i = code + at;
		unsigned int left = PYTHON_TRAMPOLINE_CALL - size - at;
		uint64_t next = pc - size - left + 7;
		int32_t value;

		if (left >= 7 && i[0] == 0x48 && i[1] == 0x8b && i[2] == 0x0d)
			return true; /* mov, from the GOT of a library */
		if (left >= 7 && i[0] == 0x48 && i[1] == 0x8d && i[2] == 0x0d) { /* lea */
			memcpy(&value, i + 3, sizeof(value));
			return next + (uint64_t)(int64_t)value == loop;
		}
		if (left >= 7 && i[0] == 0x48 && i[1] == 0xc7 && i[2] == 0xc1) { /* mov */
			memcpy(&value, i + 3, sizeof(value));
			return (uint64_t)(int64_t)value == loop;
		}
		if (left >= 5 && i[0] == 0xb9) { /* mov, or the end of another instruction */
			memcpy(&value, i + 1, sizeof(value));
			if ((uint32_t)value == loop)
				return true;
		}
	}
	return false;
}

static void set_row(struct cfi_row *row, int32_t cfa_offset, bool saves_rbp)
{
	memset(row, 0, sizeof(*row));
	row->cfa_register = CFI_RSP;
	row->cfa_offset = cfa_offset;
	row->rules[CFI_PC] = (struct cfi_rule){.kind = CFI_OFFSET, .offset = -8};
	if (saves_rbp)
		row->rules[CFI_RBP] = (struct cfi_rule){.kind = CFI_OFFSET, .offset = -16};
}

bool python_trampoline_find_row(struct python_trampolines *trampolines,
				const struct cfi_registers *registers, uint64_t callee,
				cfi_reader read, void *context, struct cfi_row *row)
{
	const struct python_loop *loop = &trampolines->loop;
	uint64_t sp = registers->value[CFI_RSP], caller;
	bool is_inside;

	if (trampolines->form == PYTHON_TRAMPOLINE_NONE ||
	    (callee ? !python_loop_holds(loop, callee) : !trampolines->is_used))
		return false;
	/*
	 * calls align the stack pointer to 16: so do instructions of the trampoline behind the
	 * first
	 */
	is_inside = sp % 16 == 0;
	if (!is_inside && (callee || sp % 16 != 8))
		return false;
	if (!read(context, is_inside ? sp + 8 : sp, &caller) || caller <= loop->module_start ||
	    caller > loop->module_end)
		return false;
	trampolines->is_used = true;
	set_row(row, is_inside ? 16 : 8,
		is_inside && trampolines->form == PYTHON_TRAMPOLINE_BY_RBP);
	return true;
}
