// SPDX-License-Identifier: MIT
#include "profiler/shape/frame_label.h"

#include <stdbool.h>
#include <string.h>
#include "profiler/shape/markup.h"

#define ELLIPSIS 0x2026u

static void append(struct frame_label *label, uint32_t character)
{
	if (label->count < FRAME_LABEL_CHARACTERS + 2)
		label->text[label->count++] = character;
}

static void read_text(struct frame_label *label, const char *text)
{
	label->count = 0;
	for (uint32_t c; (c = markup_next(&text)) != 0;) {
		if (label->count == FRAME_LABEL_CHARACTERS) {
			append(label, ELLIPSIS);
			return;
		}
		append(label, c);
	}
}

static uint32_t columns_of(const struct frame_label *label, uint32_t first)
{
	uint32_t columns = 0;

	for (uint32_t i = first; i < label->count; i++)
		columns += markup_columns(label->text[i]);
	return columns;
}

static bool begins_with(const struct frame_label *label, uint32_t at, const char *word)
{
	for (; *word; word++, at++)
		if (at >= label->count || label->text[at] != (unsigned char)*word)
			return false;
	return true;
}

static bool is_digit(uint32_t c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
}

/*
 * Returns the position of "+0x1a2b0]" in the name of a function without a symbol (place_name.h).
 * Returns 0 for other names.
 */
static uint32_t address_part(const struct frame_label *label)
{
	uint32_t at = label->count > 0 ? label->count - 1 : 0;

	if (!begins_with(label, 0, "[") || !begins_with(label, at, "]"))
		return 0;
	while (at > 0 && is_digit(label->text[at - 1]))
		at--;
	return at > 3 && at + 1 < label->count && begins_with(label, at - 3, "+0x") ? at - 3 : 0;
}

/* Returns the length of the prefix of a range or an operator; 0 for others, such as "op::run". */
static uint32_t prefix_length(const struct frame_label *label)
{
	static const char *const prefixes[] = {PSEUDO_RANGE, PSEUDO_OPERATOR};

	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++) {
		uint32_t length = (uint32_t)strlen(prefixes[i]);

		if (begins_with(label, 0, prefixes[i]) && length < label->count &&
		    label->text[length] != ':')
			return length;
	}
	return 0;
}

/* Returns the start of a layer's next part, behind `at`: "mlp]". Returns 0 if there is none. */
static uint32_t next_layer(const struct frame_label *label, uint32_t at)
{
	for (; at + 1 < label->count; at++)
		if (label->text[at] == '.')
			return at + 1;
	return 0;
}

/* Returns the start of a qualified name's next part, behind `at`. Returns 0 if there is none. */
static uint32_t next_part(const struct frame_label *label, const struct frame_info *frame,
			  uint32_t at)
{
	uint32_t address = address_part(label);

	if (frame->class == CLASS_LAYER)
		return next_layer(label, at);
	if (address > 0)
		return address > at ? address : 0;
	for (uint32_t depth = 0; at < label->count; at++) {
		uint32_t c = label->text[at];

		depth += c == '(' || c == '<' || c == '[';
		depth -= depth > 0 && (c == ')' || c == '>' || c == ']');
		if (depth > 0)
			continue;
		if (c == ':' && begins_with(label, at, "::") && at + 2 < label->count)
			return at + 2;
		if (c == '.' && frame->class == CLASS_PYTHON && at + 1 < label->count &&
		    !(at + 3 == label->count && begins_with(label, at, ".py")))
			return at + 1;
	}
	return 0;
}

static void drop_before(struct frame_label *label, uint32_t at)
{
	label->count -= at;
	memmove(label->text, label->text + at, label->count * sizeof(*label->text));
}

static bool is_letter(uint32_t c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c >= 0x80;
}

static bool is_upper(uint32_t c)
{
	return c >= 'A' && c <= 'Z';
}

/* Returns true if a word ends between two characters. */
static bool is_border(uint32_t before, uint32_t after)
{
	return !is_letter(before) || !is_letter(after) || (!is_upper(before) && is_upper(after));
}

/* Cuts to the beginning that fits, with an ellipsis; at a word's end if that leaves half of it. */
static void cut_end(struct frame_label *label, uint32_t columns)
{
	uint32_t used = 0, count = 0, border = 0;

	while (count < label->count && used + markup_columns(label->text[count]) <= columns - 1) {
		used += markup_columns(label->text[count++]);
		if (count < label->count && is_border(label->text[count - 1], label->text[count]))
			border = count;
	}
	if (border * 2 >= count)
		count = border;
	/* no space or ellipsis before the ellipsis; "_" stays, unless the rest is only that */
	while (count > 1 && (label->text[count - 1] == ' ' || label->text[count - 1] == ELLIPSIS))
		count--;
	label->count = count;
	while (count > 0 && label->text[count - 1] == '_')
		count--;
	if (count == 0) /* "__…" tells nothing */
		label->count = 0;
	else
		append(label, ELLIPSIS);
}

void frame_label_fit(struct frame_label *label, const struct frame_info *frame, uint32_t columns)
{
	uint32_t last = 0;

	read_text(label, frame->name);
	if (columns_of(label, 0) <= columns)
		return;
	label->count = 0;
	if (columns < FRAME_LABEL_COLUMNS_MIN)
		return;
	read_text(label, frame->short_name);
	if (columns_of(label, 0) <= columns)
		return;
	drop_before(label, prefix_length(label));
	if (columns_of(label, 0) <= columns)
		return;
	for (uint32_t at; (at = next_part(label, frame, last)) != 0; last = at) {
		if (columns_of(label, at) + 1 > columns)
			continue;
		drop_before(label, at - 1);
		label->text[0] = ELLIPSIS;
		return;
	}
	drop_before(label, last);
	cut_end(label, columns);
}
