// SPDX-License-Identifier: MIT
#include "symbolize/python_offsets.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#define RELEASE_CANDIDATE 0xc /* level in the second last digit of PY_VERSION_HEX */

/* ---- 3.8 to 3.12: the changes of each version ---- */

static const struct python_offsets of_3_8 = {
	.frame_form = PYTHON_FRAME_EACH,
	.place_form = PYTHON_PLACE_BYTES,
	.lines_form = PYTHON_LINES_PAIRS,
	.text_kind_bit = 2,
	.runtime_finalizing = 16,
	.runtime_interpreters = 32,
	.interpreter_next = 0,
	.interpreter_threads = 8,
	.interpreter_modules = 56,
	.thread_next = 8,
	.thread_id = 176,
	.thread_frame = 24,
	.cframe_frame = PYTHON_NO_OFFSET,
	.thread_anchor = PYTHON_NO_OFFSET,
	.anchor_previous = PYTHON_NO_OFFSET,
	.frame_previous = 24,
	.frame_code = 32,
	.frame_place = 104,
	.frame_owner = PYTHON_NO_OFFSET,
	.frame_locals = 360,
	.code_filename = 104,
	.code_name = 112,
	.code_qualname = PYTHON_NO_OFFSET,
	.code_first_line = 40,
	.code_version = PYTHON_NO_OFFSET,
	.code_lines = 120,
	.code_instructions = PYTHON_NO_OFFSET,
	.frame_copy = PYTHON_NO_OFFSET,
	.code_copies = PYTHON_NO_OFFSET,
	.object_bytes = 16,
	.object_type = 8,
	.type_keys = 872,
	.text_length = 16,
	.text_state = 32,
	.text_ascii_data = 48,
	.text_wide_data = 72,
	.bytes_length = 16,
	.bytes_data = 32,
};

static void change_to_3_10(struct python_offsets *o)
{
	o->place_form = PYTHON_PLACE_UNITS;
	o->lines_form = PYTHON_LINES_RANGES;
	o->thread_anchor = 48;
	o->anchor_previous = 8;
	o->frame_place = 96;
	o->frame_locals = 352;
	o->type_keys = 872;
}

static void change_to_3_11(struct python_offsets *o)
{
	o->frame_form = PYTHON_FRAME_FLAG;
	o->place_form = PYTHON_PLACE_POINTER;
	o->lines_form = PYTHON_LINES_LOCATIONS;
	o->runtime_finalizing = 24;
	o->runtime_interpreters = 40;
	o->interpreter_threads = 16;
	o->interpreter_modules = 888;
	o->thread_id = 152;
	o->thread_frame = 56;
	o->cframe_frame = 8;
	o->thread_anchor = 56;
	o->anchor_previous = 16;
	o->frame_previous = 48;
	o->frame_place = 56;
	o->frame_owner = 68;
	o->frame_locals = 72;
	o->code_filename = 112;
	o->code_name = 120;
	o->code_qualname = 128;
	o->code_first_line = 72;
	o->code_lines = 136;
	o->code_instructions = 184;
}

static void change_to_3_12(struct python_offsets *o)
{
	o->frame_form = PYTHON_FRAME_SHIM;
	o->owner_of_shim = 3;
	o->interpreter_threads = 72;
	o->interpreter_modules = 944;
	o->thread_id = 136;
	o->cframe_frame = 0;
	o->thread_anchor = PYTHON_NO_OFFSET;
	o->anchor_previous = PYTHON_NO_OFFSET;
	o->frame_previous = 8;
	o->frame_code = 0;
	o->frame_owner = 70;
	o->code_first_line = 68;
	o->code_version = 92;
	o->code_instructions = 192;
	o->type_keys = 880;
	o->text_ascii_data = 40;
	o->text_wide_data = 56;
}

static void set_known(uint16_t version, struct python_offsets *o)
{
	*o = of_3_8;
	o->version = version;
	if (version >= 0x0309) {
		o->interpreter_modules = 856;
		o->type_keys = 864;
	}
	if (version >= 0x030a)
		change_to_3_10(o);
	if (version >= 0x030b)
		change_to_3_11(o);
	if (version >= 0x030c)
		change_to_3_12(o);
}

/* ---- from 3.13 on: offsets in _PyRuntime (Include/internal/pycore_debug_offsets.h) ---- */

enum { WORD_COOKIE, WORD_VERSION, WORD_FREE_THREADED };

/* Indexes of the 64-bit words of each field; unneeded fields are omitted. */
struct word_layout {
	uint16_t version;
	uint8_t runtime_finalizing, runtime_interpreters, interpreter_next, interpreter_threads;
	uint8_t thread_next, thread_id, thread_frame;
	uint8_t frame_previous, frame_code, frame_place, frame_locals, frame_owner;
	uint8_t code_filename, code_name, code_qualname, code_lines, code_first_line;
	uint8_t code_instructions;
	uint8_t object_type;
	uint8_t bytes_length, bytes_data;
	uint8_t text_state, text_length, text_ascii_size;
	uint8_t frame_copy, code_copies; /* 0: absent */
	uint8_t interpreter_modules, object_bytes;
	uint16_t type_keys; /* not an index but the offset: only from 3.15 on there is a word; with
			       the GIL */
};

static const struct word_layout layouts[] = {
	{0x030d, 4,  5,  8,  9,  21, 24, 23, 29, 30, 31, 32, 33, 35, 36,
	 37,     38, 39, 43, 45, 65, 66, 68, 69, 70, 0,  0,  11, 44, 880},
	{0x030e, 4,  5,  8,  9,  24, 27, 26, 32, 33, 34, 35, 36, 40, 41,
	 42,     43, 44, 48, 51, 75, 76, 78, 79, 80, 38, 49, 12, 50, 880},
	{0x030f, 4,  5,  8,  9,  24, 30, 26, 40, 41, 42, 43, 44, 48, 49,
	 50,     51, 52, 56, 59, 87, 88, 90, 91, 92, 46, 57, 12, 58, 888},
};

struct words {
	const void *bytes;
	size_t size;
	bool bad;
};

static uint64_t word(struct words *w, uint32_t index)
{
	uint64_t value;

	if ((index + 1) * sizeof(value) > w->size) {
		w->bad = true;
		return 0;
	}
	memcpy(&value, (const char *)w->bytes + index * sizeof(value), sizeof(value));
	return value;
}

/* Reads an offset. None of these structures is as long as a page. */
static uint16_t offset(struct words *w, uint32_t index)
{
	uint64_t value = word(w, index);

	if (value >= 4096)
		w->bad = true;
	return (uint16_t)value;
}

/* Reads an offset into the state of an interpreter, which is long. */
static uint32_t far_offset(struct words *w, uint32_t index)
{
	uint64_t value = word(w, index);

	if (value >= 1 << 20)
		w->bad = true;
	return (uint32_t)value;
}

static bool has_cookie(struct words *w)
{
	uint64_t cookie = word(w, WORD_COOKIE);

	return memcmp(&cookie, "xdebugpy", sizeof(cookie)) == 0;
}

static int read_own_words(uint32_t hex, const struct word_layout *l, struct words *w,
			  struct python_offsets *o)
{
	bool free_threaded = word(w, WORD_FREE_THREADED) != 0;
	bool has_copies = free_threaded && l->frame_copy;

	if (!has_cookie(w) || word(w, WORD_VERSION) != hex)
		return -EBADMSG;
	*o = (struct python_offsets){
		.version = l->version,
		.frame_form = PYTHON_FRAME_SHIM,
		.place_form = PYTHON_PLACE_POINTER,
		.lines_form = PYTHON_LINES_LOCATIONS,
		.owner_of_shim = 3,
		/* without the GIL, 3.14 has a whole byte before the kind */
		.text_kind_bit = free_threaded && l->version >= 0x030e ? 8 : 2,
		.runtime_finalizing = far_offset(w, l->runtime_finalizing),
		.runtime_interpreters = far_offset(w, l->runtime_interpreters),
		.interpreter_next = far_offset(w, l->interpreter_next),
		.interpreter_threads = far_offset(w, l->interpreter_threads),
		.thread_next = offset(w, l->thread_next),
		.thread_id = offset(w, l->thread_id),
		.thread_frame = offset(w, l->thread_frame),
		.cframe_frame = PYTHON_NO_OFFSET,
		.thread_anchor = PYTHON_NO_OFFSET,
		.anchor_previous = PYTHON_NO_OFFSET,
		.frame_previous = offset(w, l->frame_previous),
		.frame_code = offset(w, l->frame_code),
		.frame_place = offset(w, l->frame_place),
		.frame_locals = offset(w, l->frame_locals),
		.frame_owner = offset(w, l->frame_owner),
		.code_filename = offset(w, l->code_filename),
		.code_name = offset(w, l->code_name),
		.code_qualname = offset(w, l->code_qualname),
		.code_first_line = offset(w, l->code_first_line),
		/* no word: in all versions so far five ints lie between the line and the version */
		.code_version = (uint16_t)(offset(w, l->code_first_line) + 24),
		.code_lines = offset(w, l->code_lines),
		.code_instructions = offset(w, l->code_instructions),
		.frame_copy = has_copies ? offset(w, l->frame_copy) : PYTHON_NO_OFFSET,
		.code_copies = has_copies ? offset(w, l->code_copies) : PYTHON_NO_OFFSET,
		.interpreter_modules = far_offset(w, l->interpreter_modules),
		.object_bytes = offset(w, l->object_bytes),
		.object_type = offset(w, l->object_type),
		/* each class begins with the head of an object */
		.type_keys = (uint16_t)(l->type_keys + offset(w, l->object_bytes) - 16),
		.text_length = offset(w, l->text_length),
		.text_state = offset(w, l->text_state),
		.text_ascii_data = offset(w, l->text_ascii_size),
		/* behind the length and a pointer to a UTF-8 copy */
		.text_wide_data = (uint16_t)(offset(w, l->text_ascii_size) + 16),
		.bytes_length = offset(w, l->bytes_length),
		.bytes_data = offset(w, l->bytes_data),
	};
	return w->bad ? -EBADMSG : 0;
}

uint32_t python_offsets_version(const void *runtime, size_t size)
{
	struct words w = {.bytes = runtime, .size = size};

	return has_cookie(&w) ? (uint32_t)word(&w, WORD_VERSION) : 0;
}

int python_offsets_read(uint32_t hex, const void *runtime, size_t size,
			struct python_offsets *offsets)
{
	uint16_t version = (uint16_t)(hex >> 16);
	struct words w = {.bytes = runtime, .size = size};

	if ((hex >> 4 & 0xf) < RELEASE_CANDIDATE)
		return -ENOTSUP;
	for (size_t i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++)
		if (layouts[i].version == version)
			return read_own_words(hex, &layouts[i], &w, offsets);
	if (version < 0x0308 || version > 0x030c)
		return -ENOTSUP;
	set_known(version, offsets);
	return 0;
}
