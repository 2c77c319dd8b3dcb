// SPDX-License-Identifier: MIT
#include "profiler/collect/stack_builder.h"

#include <string.h>
#include "profiler/base/launch_functions.h"
#include "symbolize/unwind.h"

const char stack_builder_truncated[] = "[truncated]";

void stack_builder_code(struct stack_builder *b, struct code_ref code, bool is_return)
{
	b->frames[b->count++] =
		(struct frame){.kind = is_return ? FRAME_RETURN : FRAME_CODE, .code = code};
}

static struct frame text_frame(const char *text)
{
	struct frame frame;

	memset(&frame, 0, sizeof(frame)); /* frames are compared as bytes */
	frame.kind = FRAME_TEXT;
	frame.text = text;
	return frame;
}

void stack_builder_text(struct stack_builder *b, const char *text)
{
	b->frames[b->count++] = text_frame(text);
}

void stack_builder_name(struct stack_builder *b, const char *text)
{
	b->frames[0] = text_frame(text);
	if (b->count == 0)
		b->count = 1;
}

void stack_builder_cut(struct stack_builder *b, struct collect *c)
{
	c->stats.truncated++;
	stack_builder_text(b, stack_builder_truncated);
}

void stack_builder_sample(struct stack_builder *b, struct collect *c, const struct stack_event *e,
			  const __u64 *frames)
{
	for (uint32_t i = 0; i < e->kernel_frames; i++)
		stack_builder_code(
			b, symbolizer_locate_kernel(c->symbolizer, frames[e->user_frames + i]),
			i > 0);
	for (uint32_t i = 0; i < e->user_frames; i++)
		stack_builder_code(b, symbolizer_locate(c->symbolizer, (pid_t)e->pid, frames[i]),
				   i > 0);
}

/*
 * At a probe's breakpoint the pc is already behind it, though the instruction in its place has not
 * run: call-frame information has to be asked about the instruction itself.
 */
static bool is_at_breakpoint(struct collect *c, const struct stack_snapshot *snapshot)
{
	uint32_t count = snapshot->event.kernel_frames;

	return c->has_breakpoints && count > 0 &&
	       strcmp(symbolizer_name(
			      c->symbolizer,
			      symbolizer_locate_kernel(c->symbolizer, snapshot->kernel[count - 1]),
			      count > 1),
		      "asm_exc_int3") == 0;
}

bool stack_builder_snapshot(struct stack_builder *b, struct collect *c,
			    const struct stack_snapshot *snapshot)
{
	struct unwind_frame frames[STACK_BUILDER_UNWOUND];
	struct python_sample_frame merged[STACK_BUILDER_MERGED];
	uint32_t merged_count;
	struct unwind_input input = {.stack = snapshot->stack, .stack_size = snapshot->stack_bytes};
	enum unwind_end end;
	size_t count;

	for (uint32_t i = 0; i < snapshot->event.kernel_frames; i++)
		stack_builder_code(b, symbolizer_locate_kernel(c->symbolizer, snapshot->kernel[i]),
				   i > 0);
	_Static_assert(STACK_SNAPSHOT_REGISTERS == CFI_REGISTERS, "both are DWARF's");
	for (int i = 0; i < CFI_REGISTERS; i++)
		input.registers.value[i] = snapshot->registers[i];
	input.registers.value[CFI_PC] -= is_at_breakpoint(c, snapshot);
	input.registers.known = (1u << CFI_REGISTERS) - 1;
	count = symbolizer_unwind(c->symbolizer, (pid_t)snapshot->event.pid, &input, frames,
				  STACK_BUILDER_UNWOUND, &end);
	merged_count = python_processes_merge(&c->pythons, c->symbolizer, snapshot, frames,
					      (uint32_t)count, end == UNWIND_WHOLE, merged,
					      STACK_BUILDER_MERGED);
	for (uint32_t i = 0; i < merged_count; i++) {
		const struct unwind_frame *native = &frames[merged[i].index];

		if (merged[i].text)
			stack_builder_text(b, merged[i].text);
		else
			stack_builder_code(b, native->code, native->is_return_address);
	}
	for (size_t i = 0; i < count && merged_count == 0; i++)
		stack_builder_code(b, frames[i].code, frames[i].is_return_address);
	return end == UNWIND_WHOLE;
}

void stack_builder_launch(struct stack_builder *b, struct collect *c, const struct stack_event *e,
			  const __u64 *frames)
{
	uint32_t i = e->user_frames > 0 && frames[0] == 0 ? 1 : 0;

	stack_builder_text(b, launch_function_name(e->launch_function));
	for (i++; i < e->user_frames; i++)
		stack_builder_code(b, symbolizer_locate(c->symbolizer, (pid_t)e->pid, frames[i]),
				   true);
}
