/* SPDX-License-Identifier: MIT */
/*
 * Artificial memory of a CPython process, for tests of its readers: a range of addresses with
 * objects and frames, laid out by given offsets. Addresses outside cannot be read.
 */
#ifndef TESTS_UNIT_PYTHON_MEMORY_H
#define TESTS_UNIT_PYTHON_MEMORY_H

#include "unit.h"
#include "symbolize/python_frames.h"

#define MEMORY_BASE UINT64_C(0x7f0000400000)
#define MEMORY_SIZE (1u << 20)
#define CODE_TYPE (MEMORY_BASE + 64)
#define TEXT_TYPE (MEMORY_BASE + 128)

struct made_memory {
	unsigned char *bytes;
	uint64_t used;
	uint64_t reads;
	uint64_t anchor; /* anchor of the innermost evaluation; 0: none yet */
};

static inline bool made_read(void *context, uint64_t address, void *out, size_t size)
{
	struct made_memory *m = context;

	m->reads++;
	if (address < MEMORY_BASE || address - MEMORY_BASE > MEMORY_SIZE ||
	    size > MEMORY_SIZE - (address - MEMORY_BASE))
		return false;
	memcpy(out, m->bytes + (address - MEMORY_BASE), size);
	return true;
}

static inline void made_init(struct made_memory *m)
{
	m->bytes = calloc(1, MEMORY_SIZE);
	assert_non_null(m->bytes);
	m->used = 256;
	m->reads = 0;
	m->anchor = 0;
}

static inline uint64_t made_space(struct made_memory *m, uint64_t size)
{
	uint64_t at = m->used;

	m->used += (size + 15) & ~UINT64_C(15);
	assert_true(m->used <= MEMORY_SIZE);
	return MEMORY_BASE + at;
}

static inline void made_put(struct made_memory *m, uint64_t address, const void *data, size_t size)
{
	assert_true(address - MEMORY_BASE + size <= MEMORY_SIZE);
	memcpy(m->bytes + (address - MEMORY_BASE), data, size);
}

static inline void made_put_64(struct made_memory *m, uint64_t address, uint64_t value)
{
	made_put(m, address, &value, 8);
}

static inline void made_put_32(struct made_memory *m, uint64_t address, uint32_t value)
{
	made_put(m, address, &value, 4);
}

static inline void made_put_8(struct made_memory *m, uint64_t address, uint8_t value)
{
	made_put(m, address, &value, 1);
}

/* Makes a str of `length` characters of `kind` bytes each. */
static inline uint64_t made_text(struct made_memory *m, const struct python_offsets *o,
				 const void *characters, uint64_t length, uint32_t kind, bool ascii)
{
	uint64_t text = made_space(m, 80 + (length + 1) * kind);

	made_put_64(m, text + o->object_type, TEXT_TYPE);
	made_put_64(m, text + o->text_length, length);
	made_put_64(m, text + o->text_length + 8, PYTHON_NO_HASH);
	made_put_32(m, text + o->text_state,
		    (kind | 1u << 3 | (uint32_t)ascii << 4) << o->text_kind_bit);
	made_put(m, text + (ascii ? o->text_ascii_data : o->text_wide_data), characters,
		 length * kind);
	return text;
}

static inline uint64_t made_ascii(struct made_memory *m, const struct python_offsets *o,
				  const char *text)
{
	return made_text(m, o, text, strlen(text), 1, true);
}

static inline uint64_t made_bytes(struct made_memory *m, const struct python_offsets *o,
				  const void *data, uint64_t size)
{
	uint64_t bytes = made_space(m, 48 + size);

	made_put_64(m, bytes + o->bytes_length, size);
	made_put_64(m, bytes + o->bytes_length + 8, PYTHON_NO_HASH);
	made_put(m, bytes + o->bytes_data, data, size);
	return bytes;
}

static inline uint64_t made_code(struct made_memory *m, const struct python_offsets *o,
				 const char *name, const char *path, uint32_t line)
{
	uint64_t code = made_space(m, 512);

	made_put_64(m, code + o->object_type, CODE_TYPE);
	made_put_64(m, code + o->code_name, made_ascii(m, o, name));
	made_put_64(m, code + o->code_filename, made_ascii(m, o, path));
	if (o->code_qualname != PYTHON_NO_OFFSET)
		made_put_64(m, code + o->code_qualname, made_ascii(m, o, name));
	made_put_32(m, code + o->code_first_line, line);
	return code;
}

/* Makes an anchor as on the C stack of an evaluation; for 3.11, also a _PyCFrame. */
static inline uint64_t made_anchor(struct made_memory *m, const struct python_offsets *o)
{
	uint64_t anchor = made_space(m, 64);

	made_put_64(m, anchor + o->anchor_previous, m->anchor);
	return m->anchor = anchor;
}

/*
 * Makes a frame. `is_entry`: a C evaluation loop was entered here. Then makes the loop's part of
 * the C stack, too, and leaves its address in m->anchor.
 */
static inline uint64_t made_frame(struct made_memory *m, const struct python_offsets *o,
				  uint64_t code, uint64_t previous, bool is_entry)
{
	uint64_t frame;

	if (is_entry && o->frame_form == PYTHON_FRAME_SHIM) {
		uint64_t shim = made_space(m, 128);

		made_put_64(m, shim + o->frame_previous, previous);
		made_put_8(m, shim + o->frame_owner, o->owner_of_shim);
		previous = m->anchor = shim;
	}
	if (o->thread_anchor != PYTHON_NO_OFFSET &&
	    (is_entry || o->frame_form == PYTHON_FRAME_EACH))
		made_anchor(m, o);
	frame = made_space(m, 128);
	made_put_64(m, frame + o->frame_previous, previous);
	made_put_64(m, frame + o->frame_code, code);
	if (o->frame_form == PYTHON_FRAME_FLAG)
		made_put_8(m, frame + o->frame_owner, is_entry);
	return frame;
}

static inline uint64_t made_thread(struct made_memory *m, const struct python_offsets *o,
				   uint64_t frame)
{
	uint64_t thread = made_space(m, 512), cframe;

	if (o->thread_anchor != PYTHON_NO_OFFSET)
		made_put_64(m, thread + o->thread_anchor,
			    m->anchor ? m->anchor : made_anchor(m, o));
	if (o->cframe_frame == PYTHON_NO_OFFSET) {
		made_put_64(m, thread + o->thread_frame, frame);
		return thread;
	}
	cframe = o->thread_anchor != PYTHON_NO_OFFSET ? m->anchor : made_space(m, 64);
	made_put_64(m, cframe + o->cframe_frame, frame);
	made_put_64(m, thread + o->thread_frame, cframe);
	return thread;
}

#endif
