// SPDX-License-Identifier: MIT
#include "profiler/cpu/python_chain.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

_Static_assert(STACK_PYTHON_MAX_LINKS <= PYTHON_FRAMES_MAX, "a chain fits");

/* ---- the layout ---- */

/*
 * Returns the size of the part of an object that holds these 8-byte members. Members that do not
 * exist need none.
 */
static uint16_t span(const uint16_t *members, size_t count)
{
	uint16_t end = 0;

	for (size_t i = 0; i < count; i++)
		if (members[i] != PYTHON_NO_OFFSET && members[i] + 8 > end)
			end = members[i] + 8;
	return end;
}

static uint16_t at_most(uint16_t bytes, uint16_t max)
{
	return bytes < max ? bytes : max;
}

/* Lays out the parts of frames and code objects that are read at once. */
static void lay_out_chain(const struct python_offsets *o, struct stack_python *out)
{
	const uint16_t frame[] = {o->frame_previous, o->frame_code, o->frame_place, o->frame_owner};
	const uint16_t mark[] = {out->code_text, out->code_first_line, o->code_filename};
	const size_t marks = sizeof(mark) / sizeof(mark[0]);

	out->frame_bytes =
		at_most(span(frame, sizeof(frame) / sizeof(frame[0])), STACK_PYTHON_WINDOW_BYTES);
	/* up to 3.10 each frame is an object; later frames are contiguous */
	out->frame_window =
		o->frame_form == PYTHON_FRAME_EACH ? out->frame_bytes : STACK_PYTHON_WINDOW_BYTES;
	out->mark_from = mark[0];
	for (size_t i = 1; i < marks; i++)
		if (mark[i] < out->mark_from)
			out->mark_from = mark[i];
	out->mark_bytes =
		at_most((uint16_t)(span(mark, marks) - out->mark_from), STACK_PYTHON_MARK_BYTES);
}

/* Lays out the parts of code objects to send. */
static void lay_out_code(const struct python_offsets *o, struct stack_python *out)
{
	const uint16_t code[] = {o->object_type,   o->code_name,       o->code_filename,
				 o->code_qualname, o->code_first_line, o->code_lines};
	const uint16_t text[] = {o->object_type, o->text_length, o->text_length + 8};

	_Static_assert(STACK_PYTHON_NAME_CHARACTERS >= PYTHON_TEXT_MAX &&
			       STACK_PYTHON_PATH_CHARACTERS >= PYTHON_PATH_MAX,
		       "all that is shown is sent");
	out->code_bytes = span(code, sizeof(code) / sizeof(code[0]));
	out->code_name = o->code_name;
	out->code_qualname = o->code_qualname;
	out->code_filename = o->code_filename;
	out->code_lines = o->code_lines;
	out->text_head = span(text, sizeof(text) / sizeof(text[0]));
	if (out->text_head < o->text_state + sizeof(uint32_t))
		out->text_head = (uint16_t)(o->text_state + sizeof(uint32_t));
	out->text_length = o->text_length;
	out->text_state = o->text_state;
	out->text_kind_bit = o->text_kind_bit;
	out->text_ascii_data = o->text_ascii_data;
	out->text_wide_data = o->text_wide_data;
	out->bytes_length = o->bytes_length;
	out->bytes_data = o->bytes_data;
}

void python_chain_lay_out(const struct python_offsets *o, uint64_t runtime, uint32_t program,
			  struct stack_python *out)
{
	_Static_assert(STACK_PYTHON_NO_OFFSET == PYTHON_NO_OFFSET, "one value for none");
	memset(out, 0, sizeof(*out));
	out->runtime = runtime;
	out->interpreters = runtime + o->runtime_interpreters;
	out->program = program;
	out->interpreter_next = o->interpreter_next;
	out->interpreter_threads = o->interpreter_threads;
	out->thread_next = o->thread_next;
	out->thread_id = o->thread_id;
	out->thread_frame = o->thread_frame;
	out->cframe_frame = o->cframe_frame;
	out->frame_previous = o->frame_previous;
	out->frame_code = o->frame_code;
	out->frame_place = o->frame_place;
	out->frame_owner = o->frame_owner;
	out->owner_of_shim =
		o->frame_form == PYTHON_FRAME_SHIM ? o->owner_of_shim : STACK_PYTHON_NO_OFFSET;
	out->code_text = python_mark_text(o);
	out->code_first_line = o->code_first_line;
	out->thread_anchor = o->thread_anchor;
	out->anchor_previous = o->anchor_previous;
	out->owner_of_entry = o->frame_form == PYTHON_FRAME_FLAG;
	out->frame_copy = o->frame_copy;
	out->code_copies = o->code_copies;
	out->code_instructions = o->code_instructions;
	lay_out_chain(o, out);
	lay_out_code(o, out);
}

/* ---- the frames ---- */

/*
 * Drops the innermost frame of a CPython 3.10 evaluation that is returning. It gives up its anchor
 * before its frame. In between there is one more frame than anchors, so each frame has the anchor
 * of its caller.
 */
static void drop_leaving(struct python_stack *stack, uint32_t states[PYTHON_FRAMES_MAX])
{
	struct python_frame *frames = stack->frames;
	uint32_t to = 0, end;

	for (uint32_t i = 0; i < stack->count; i = end) {
		uint64_t anchor = frames[i].anchor;
		bool is_leaving;

		for (end = i + 1; end < stack->count && states[end] == states[i];)
			end++;
		is_leaving = frames[end - 1].anchor == 0;
		for (uint32_t k = i + is_leaving; k < end; k++) {
			uint64_t callers = frames[k].anchor;

			states[to] = states[k];
			frames[to] = frames[k];
			if (is_leaving)
				frames[to].anchor = anchor;
			anchor = callers;
			to++;
		}
	}
	stack->count = to;
}

/* Converts the links read by the BPF side for python_frames_read. */
static void take_links(const struct stack_python_chain *chain, const struct python_offsets *o,
		       struct python_stack *stack, uint32_t states[PYTHON_FRAMES_MAX])
{
	stack->count = 0;
	stack->is_whole = chain->is_whole;
	for (uint32_t i = 0; i < chain->count && i < STACK_PYTHON_MAX_LINKS; i++) {
		const struct stack_python_link *link = &chain->links[i];
		struct python_frame *f = &stack->frames[stack->count];

		if (o->frame_form == PYTHON_FRAME_SHIM && link->owner >= o->owner_of_shim) {
			if (stack->count && states[stack->count - 1] == link->state &&
			    link->owner == o->owner_of_shim && !f[-1].is_entry) {
				f[-1].is_entry = true;
				f[-1].anchor = link->anchor;
			}
			continue;
		}
		*f = (struct python_frame){
			.code = link->code & ~UINT64_C(7),
			.place = o->place_form == PYTHON_PLACE_POINTER ? link->place
								       : (uint32_t)link->place,
			.mark = link->mark,
			.anchor = link->anchor,
			.is_entry = o->frame_form == PYTHON_FRAME_EACH ||
				    (o->frame_form == PYTHON_FRAME_FLAG && link->owner)};
		states[stack->count++] = link->state;
	}
	if (o->frame_form == PYTHON_FRAME_EACH && o->thread_anchor != PYTHON_NO_OFFSET &&
	    chain->is_whole)
		drop_leaving(stack, states);
}

/* Frames of one evaluation, and its position on the C stack. */
struct evaluation {
	uint32_t first, count;
	uint64_t anchor;
};

/*
 * Orders frames of several states of the thread into one chain. An evaluation is inside those that
 * are further up the stack.
 */
static void join_states(struct python_stack *stack, const uint32_t *states)
{
	struct evaluation list[PYTHON_FRAMES_MAX], next;
	struct python_frame frames[PYTHON_FRAMES_MAX];
	uint32_t count = 0, to = 0, at;

	if (stack->count == 0 || states[0] == states[stack->count - 1])
		return;
	for (uint32_t i = 0; i < stack->count; i += next.count) {
		next = (struct evaluation){.first = i};
		for (at = i; at < stack->count && states[at] == states[i] && !next.anchor; at++)
			next.anchor = stack->frames[at].anchor;
		next.count = at - i;
		/* an evaluation without its entry is outside those that it called */
		if (!next.anchor && i > 0 && states[i - 1] == states[i])
			next.anchor = list[count - 1].anchor;
		list[count++] = next;
	}
	memcpy(frames, stack->frames, stack->count * sizeof(*frames));
	for (uint32_t i = 0; i < count; i++) {
		uint32_t least = 0;

		for (uint32_t k = 1; k < count; k++)
			if (list[k].count &&
			    (!list[least].count || list[k].anchor < list[least].anchor))
				least = k;
		memcpy(&stack->frames[to], &frames[list[least].first],
		       list[least].count * sizeof(*frames));
		to += list[least].count;
		list[least].count = 0;
	}
}

void python_chain_read(const struct stack_python_chain *chain, const struct python_offsets *offsets,
		       struct python_stack *stack)
{
	uint32_t states[PYTHON_FRAMES_MAX];

	take_links(chain, offsets, stack, states);
	join_states(stack, states);
}
