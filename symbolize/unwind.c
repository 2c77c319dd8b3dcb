// SPDX-License-Identifier: MIT
#include "symbolize/unwind.h"

#include <errno.h>
#include <string.h>
#include "symbolize/address_space.h"
#include "symbolize/unwind_private.h"

bool unwind_read_stack(void *context, uint64_t address, uint64_t *value)
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

/* Switches to the interrupted stack if the walk has left the signal frame for it. */
static void follow_interrupted(struct walk *w, uint64_t sp)
{
	const struct stack_memory *to = &w->interrupted;

	if (!to->size || sp - w->memory.start < w->memory.size ||
	    sp + UNWIND_BELOW_STACK < to->start || (sp >= to->start && sp - to->start >= to->size))
		return;
	w->memory = *to;
	w->has_base = w->interrupted_has_base;
	w->interrupted.size = 0;
}

enum step unwind_by_row(struct walk *w, const struct cfi_row *row, struct frame_place *place,
			enum unwind_end *why)
{
	uint64_t sp = place->registers.value[CFI_RSP];
	bool was_signal = row->is_signal_frame;
	int err;

	w->memory.ran_out = false;
	err = cfi_apply(row, &place->registers, unwind_read_stack, &w->memory);
	if (err == -ENOENT)
		return STEP_START;
	place->is_return = !was_signal;
	place->by_row = true;
	if (err == -EFAULT)
		*why = w->memory.ran_out ? UNWIND_SHORT_COPY : UNWIND_UNREADABLE;
	else if (err)
		*why = UNWIND_BAD_INFORMATION;
	/*
	 * the stack grows down, so a caller's frame is above, unless a signal came on another stack
	 */
	else if (place->registers.value[CFI_RSP] <= sp && !was_signal)
		*why = UNWIND_LOOP;
	else {
		if (was_signal)
			follow_interrupted(w, place->registers.value[CFI_RSP]);
		return STEP_ON;
	}
	return STEP_CUT;
}

void unwind_locate_quietly(struct walk *w, struct frame_place *place)
{
	uint64_t pc = place->registers.value[CFI_PC];

	place->code = (struct code_ref){.module = MODULE_UNKNOWN};
	place->is_outside = !symbolizer_find_code(w->s, w->space, pc, &place->code);
}

static void locate(struct walk *w, struct frame_place *place)
{
	place->code = symbolizer_locate(w->s, w->space, place->registers.value[CFI_PC]);
	place->is_outside = place->code.module == MODULE_UNKNOWN;
}

/* Returns the row of a trampoline. `callee`: the frame before, or NULL. */
static const struct cfi_row *row_of_trampoline(struct walk *w, const struct frame_place *place,
					       const struct unwind_frame *callee,
					       struct cfi_row *row)
{
	uint64_t called = 0;

	if (place->code.module != MODULE_JIT)
		return NULL;
	if (place->is_return && callee)
		called = callee->address + !callee->is_return_address;
	else if (place->is_return)
		return NULL;
	return python_trampoline_find_row(&w->space->trampolines, &place->registers, called,
					  unwind_read_stack, &w->memory, row)
		       ? row
		       : NULL;
}

/* Returns whether a frame of the interpreter is that of the function that calls trampolines. */
static bool is_evaluator(struct walk *w, const struct frame_place *place)
{
	const struct python_loop *loop = &w->space->trampolines.loop;
	uint64_t pc = place->registers.value[CFI_PC];
	uint8_t code[PYTHON_TRAMPOLINE_CALL];
	struct code_ref at = place->code;

	if (!place->is_return || loop->count == 0 || pc <= loop->module_start ||
	    pc > loop->module_end || at.offset < sizeof(code))
		return false;
	at.offset -= sizeof(code);
	return symbolizer_read_code(w->s, at, code, sizeof(code)) &&
	       python_trampoline_is_called(code, pc, loop->parts[0].start);
}

/*
 * Leaves generated code by its row, if that leads to code. Jitdumps may be out of date: compilers
 * buffer records, and use addresses again.
 */
static enum step leave_generated(struct walk *w, const struct cfi_row *row,
				 struct frame_place *place, enum unwind_end *why)
{
	const struct frame_place from = *place;
	enum step step = unwind_by_row(w, row, place, why);

	if (step == STEP_START || row->is_signal_frame)
		return step;
	if (step == STEP_ON) {
		unwind_locate_quietly(w, place);
		if (!place->is_outside || place->registers.value[CFI_PC] == 0)
			return step;
	}
	*place = from;
	return unwind_without_row(w, place, why);
}

static enum unwind_end start_of(const struct walk *w)
{
	return w->is_guessed ? UNWIND_GUESSED : UNWIND_WHOLE;
}

size_t symbolizer_unwind(struct symbolizer *s, struct address_space *space,
			 const struct unwind_input *input, struct unwind_frame *frames, size_t max,
			 enum unwind_end *end)
{
	struct frame_place place = {.registers = input->registers};
	struct walk w = {
		.s = s,
		.space = space,
		.memory = {.start = input->registers.value[CFI_RSP],
			   .bytes = input->stack,
			   .size = input->stack_size},
		.interrupted = {.start = input->interrupted.start,
				.bytes = input->interrupted.stack,
				.size = input->interrupted.stack_size},
		.has_base = input->has_base,
		.interrupted_has_base = input->interrupted.has_base,
		.steps_left = UNWIND_TRIAL_STEPS,
		.words_left = UNWIND_SCAN_WORDS,
		.trial_words_left = UNWIND_SCAN_WORDS,
	};
	bool is_called = false; /* the frame before is a trampoline */
	size_t count = 0;

	symbolizer_allow_rows(s, UNWIND_ROW_COST);
	symbolizer_allow_code_reads(s, UNWIND_CODE_READS);
	for (; count < max; count++) {
		uint64_t pc = place.registers.value[CFI_PC];
		const struct cfi_row *row;
		struct cfi_row generated;
		bool is_trampoline;
		enum step step = STEP_CUT;

		*end = start_of(&w);
		if (pc == 0 && place.is_return)
			return count; /* clone and makecontext store a zero there */
		locate(&w, &place);
		row = row_of_trampoline(&w, &place, count ? &frames[count - 1] : NULL, &generated);
		is_trampoline = row != NULL;
		if (!row)
			row = symbolizer_cfi_row(s, place.code, place.is_return);
		if (!row && symbolizer_has_rows(s) && unwind_is_beginning(&w, &place))
			return count;
		frames[count] = (struct unwind_frame){
			.code = place.code,
			.address = pc,
			.sp = place.registers.value[CFI_RSP],
			.is_trampoline = is_trampoline || (is_called && is_evaluator(&w, &place)),
			.is_return_address = place.is_return,
		};
		is_called = is_trampoline;
		*end = UNWIND_NOT_CODE;
		if (row && place.code.module == MODULE_JIT && !is_trampoline)
			step = leave_generated(&w, row, &place, end);
		else if (row)
			step = unwind_by_row(&w, row, &place, end);
		else if (!symbolizer_has_rows(s))
			*end = UNWIND_BAD_INFORMATION;
		else if (unwind_is_entry(&w, &place))
			step = STEP_START;
		else if (!place.is_outside)
			step = unwind_without_row(&w, &place, end);
		if (step == STEP_START)
			*end = start_of(&w);
		if (step != STEP_ON)
			return count + 1;
	}
	*end = UNWIND_TOO_DEEP;
	return count;
}
