// SPDX-License-Identifier: MIT
#include "symbolize/python_frames.h"

#include <errno.h>
#include <string.h>
#include "symbolize/util/likely.h"
#include "symbolize/util/text.h"

/* Maximum size of a line table, bytes. */
#define LINES_MAX (1u << 20)

/* ---- memory ---- */

/*
 * Returns whether an address may be an object's: in the lower half, aligned, and not in the first
 * page.
 */
static bool is_object(uint64_t address)
{
	uint64_t above = address - 4096;

	/* rotated by three bits, so that unaligned addresses exceed the limit, too */
	return (above >> 3 | above << 61) < ((UINT64_C(1) << 47) - 4096) >> 3;
}

/*
 * Loads memory. Always inlined with a constant `direct`: a thread's own frames are read at every
 * launch.
 */
static inline __attribute__((always_inline)) bool
load(const struct python_memory *memory, bool direct, uint64_t address, void *out, size_t size)
{
	if (direct) {
		memcpy(out, (const void *)(uintptr_t)address, size);
		return true;
	}
	return memory->read(memory->context, address, out, size);
}

static bool read_any(const struct python_memory *memory, uint64_t address, void *out, size_t size)
{
	return load(memory, memory->read == NULL, address, out, size);
}

static bool read_pointer(const struct python_memory *memory, uint64_t address, uint64_t *out)
{
	return read_any(memory, address, out, sizeof(*out)) && is_object(*out);
}

/* ---- frames ---- */

/*
 * Removes the lowest bits of an object reference: from 3.14 on they hold the kind of reference
 * counting.
 */
static uint64_t untagged(uint64_t reference)
{
	return reference & ~UINT64_C(7);
}

/*
 * Returns the key of a str, or of bytes; its address if unreadable. A str that is not compact has
 * its characters elsewhere.
 */
static inline __attribute__((always_inline)) uint64_t load_key(const struct python_memory *memory,
							       bool direct,
							       const struct python_offsets *o,
							       bool is_text, uint64_t object)
{
	uint64_t at = is_text ? o->text_length : o->bytes_length, data = object + o->bytes_data;
	uint64_t words[PYTHON_KEY_WORDS], bytes;
	struct {
		uint64_t length, hash;
	} head;
	uint32_t state, kind = 1;

	if (!is_object(object) || !load(memory, direct, object + at, &head, sizeof(head)))
		return object;
	if (likely(head.hash != PYTHON_NO_HASH))
		return head.hash;
	if (head.length > INT32_MAX)
		return object;
	if (is_text) {
		if (!load(memory, direct, object + o->text_state, &state, sizeof(state)))
			return object;
		state >>= o->text_kind_bit;
		if (!(state >> 3 & 1)) /* compact; and then, ascii */
			return object;
		kind = state & 7;
		data = object + (state >> 4 & 1 ? o->text_ascii_data : o->text_wide_data);
	}
	bytes = head.length * kind;
	return load(memory, direct, data + bytes - sizeof(words), words, sizeof(words))
		       ? python_key(head.length, bytes, words)
		       : object;
}

/* Last file name read: usually it is the next one, too. */
struct last_file {
	uint64_t text, key;
};

static inline __attribute__((always_inline)) bool
load_mark(const struct python_memory *memory, bool direct, const struct python_offsets *o,
	  uint64_t code, struct last_file *last, uint64_t *mark)
{
	uint64_t name, file;
	uint32_t line;

	if (!is_object(code) ||
	    !load(memory, direct, code + python_mark_text(o), &name, sizeof(name)) ||
	    !load(memory, direct, code + o->code_filename, &file, sizeof(file)) ||
	    !load(memory, direct, code + o->code_first_line, &line, sizeof(line)))
		return false;
	if (file != last->text)
		*last = (struct last_file){file, load_key(memory, direct, o, true, file)};
	*mark = python_mark(load_key(memory, direct, o, true, name), last->key, line);
	return true;
}

bool python_mark_read(const struct python_memory *memory, const struct python_offsets *o,
		      uint64_t code, bool lines, uint64_t *mark)
{
	struct last_file none = {0};
	uint64_t table = 0;

	if (!load_mark(memory, false, o, code, &none, mark))
		return false;
	if (lines && !load(memory, false, code + o->code_lines, &table, sizeof(table)))
		table = 0;
	if (lines)
		*mark = python_mark_lines(*mark, load_key(memory, false, o, false, table));
	return true;
}

/*
 * Identifies a code object by its number, which lies beside data that the call has just read.
 * Without a number, or if `needs_mark`, reads its mark: its names lie elsewhere, and are cold.
 */
static inline __attribute__((always_inline)) bool
load_identity(const struct python_memory *memory, bool direct, bool is_shimmed,
	      const struct python_offsets *o, bool needs_mark, struct last_file *last,
	      struct python_frame *f)
{
	f->mark = f->number = 0;
	if ((is_shimmed || o->code_version != PYTHON_NO_OFFSET) &&
	    unlikely(!is_object(f->code) || !load(memory, direct, f->code + o->code_version,
						  &f->number, sizeof(f->number))))
		return false;
	return likely(f->number && !needs_mark) ||
	       load_mark(memory, direct, o, f->code, last, &f->mark);
}

/* Marks the frame as the first of an evaluation, whose anchor is the first one given. */
static void note_entry(struct python_frame *f, uint64_t anchor)
{
	if (!f->is_entry)
		f->anchor = anchor;
	f->is_entry = true;
}

/* Returns the anchor of the evaluation around; 0: unknown from there on. */
static inline __attribute__((always_inline)) uint64_t
next_anchor(const struct python_memory *memory, bool direct, const struct python_offsets *o,
	    uint64_t anchor)
{
	uint64_t next;

	if (!anchor || !load(memory, direct, anchor + o->anchor_previous, &next, 8))
		return 0;
	return is_object(next) ? next : 0;
}

static inline __attribute__((always_inline)) bool load_place(const struct python_memory *memory,
							     bool direct,
							     const struct python_offsets *o,
							     uint64_t frame, struct python_frame *f)
{
	uint32_t index;

	if (o->frame_copy != PYTHON_NO_OFFSET &&
	    !load(memory, direct, frame + o->frame_copy, &f->copy, 4))
		return false;
	if (o->place_form == PYTHON_PLACE_POINTER)
		return load(memory, direct, frame + o->frame_place, &f->place, 8);
	if (!load(memory, direct, frame + o->frame_place, &index, 4))
		return false;
	f->place = index;
	return true;
}

/*
 * Finds the innermost frame, where the walk begins; 0: there is none. Returns false if unreadable.
 */
static inline __attribute__((always_inline)) bool load_innermost(const struct python_memory *memory,
								 bool direct,
								 const struct python_offsets *o,
								 uint64_t thread, uint64_t *frame)
{
	uint64_t cframe;

	if (!is_object(thread) || !load(memory, direct, thread + o->thread_frame, frame, 8))
		return false;
	if (o->cframe_frame == PYTHON_NO_OFFSET)
		return true;
	/* the cframe is on the C stack; that of a thread without Python is in its state */
	cframe = *frame;
	return is_object(cframe) && load(memory, direct, cframe + o->cframe_frame, frame, 8);
}

/*
 * Finds the anchor of the innermost evaluation; 0: this version has none. Returns false if
 * unreadable.
 */
static inline __attribute__((always_inline)) bool load_anchor(const struct python_memory *memory,
							      bool direct,
							      const struct python_offsets *o,
							      uint64_t thread, uint64_t *anchor)
{
	*anchor = 0;
	return o->thread_anchor == PYTHON_NO_OFFSET ||
	       (load(memory, direct, thread + o->thread_anchor, anchor, 8) && is_object(*anchor));
}

/* Calls that a walk finds. */
struct seen_calls {
	const struct python_methods *methods;
	struct python_call *list; /* NULL: they are only hashed */
	uint32_t count, max;
};

static bool is_method(const struct python_methods *methods, uint64_t code)
{
	for (uint32_t i = 0; i < PYTHON_METHODS_MAX; i++) {
		uint64_t known = atomic_load_explicit(&methods->codes[i], memory_order_relaxed);

		if (!known)
			return false;
		if (known == code)
			return true;
	}
	return false;
}

/* Notes a frame if it is a call. Returns false after the last one that is wanted. */
static inline __attribute__((always_inline)) bool note_call(struct seen_calls *seen,
							    const struct python_offsets *o,
							    uint64_t frame, uint64_t code,
							    uint32_t index, uint64_t *hash)
{
	uint64_t object;

	if (likely(!is_method(seen->methods, code)))
		return true;
	load(NULL, true, frame + o->frame_locals, &object, sizeof(object));
	object = untagged(object);
	*hash = hash_step(*hash, object, index);
	if (seen->list)
		seen->list[seen->count++] = (struct python_call){object, index};
	return !seen->list || seen->count < seen->max;
}

/*
 * Reads the frames from `at` on into `stack`. Without `stack`, continues `hash` with as many frames
 * as a stack would have, and returns it. Always inlined; `direct`, `is_shimmed`, `needs_marks` and
 * the presence of `stack` and `seen` are constants. `is_shimmed`: the form is PYTHON_FRAME_SHIM,
 * whose frames have an owner and whose code has a version.
 */
static inline __attribute__((always_inline)) uint64_t
walk(const struct python_memory *memory, bool direct, bool is_shimmed, bool needs_marks,
     const struct python_offsets *o, uint64_t at, uint64_t anchor, uint32_t limit,
     struct python_stack *stack, struct seen_calls *seen, uint64_t hash, bool lines)
{
	struct last_file last = {0};
	struct python_frame read;
	uint32_t count = 0;

	/* counts shims and incomplete frames, too, so that a chain of these also ends */
	for (uint32_t steps = 0; steps < 2 * PYTHON_FRAMES_MAX; steps++) {
		struct python_frame *f = stack ? &stack->frames[count] : &read;
		uint64_t frame = at;
		uint8_t owner = 0;

		if (unlikely(!is_object(frame))) {
			if (stack)
				stack->is_whole = frame == 0;
			return hash;
		}
		if (!load(memory, direct, frame + o->frame_previous, &at, 8))
			return hash;
		if ((is_shimmed || o->frame_owner != PYTHON_NO_OFFSET) &&
		    !load(memory, direct, frame + o->frame_owner, &owner, 1))
			return hash;
		if ((is_shimmed || o->frame_form == PYTHON_FRAME_SHIM) &&
		    unlikely(owner >= o->owner_of_shim)) {
			if (stack && count && owner == o->owner_of_shim)
				note_entry(f - 1, frame);
			continue;
		}
		if (unlikely(count == limit) ||
		    !load(memory, direct, frame + o->frame_code, &f->code, 8))
			return hash;
		f->code = untagged(f->code);
		f->anchor = 0;
		f->copy = 0;
		f->is_entry = false;
		if ((stack || lines) && !load_place(memory, direct, o, frame, f))
			return hash;
		if (unlikely(!load_identity(memory, direct, is_shimmed, o, needs_marks, &last, f)))
			return hash;
		if (stack && (o->frame_form == PYTHON_FRAME_EACH ||
			      (o->frame_form == PYTHON_FRAME_FLAG && owner))) {
			note_entry(f, anchor);
			if (o->thread_anchor != PYTHON_NO_OFFSET)
				anchor = next_anchor(memory, direct, o, anchor);
		}
		count++;
		if (stack)
			stack->count = count;
		else
			hash = python_frame_hash_number(hash, f, lines);
		if (seen && !note_call(seen, o, frame, f->code, count - 1, &hash))
			return hash;
	}
	return hash;
}

static inline __attribute__((always_inline)) void read_stack(const struct python_memory *memory,
							     bool direct, bool needs_marks,
							     const struct python_offsets *o,
							     uint64_t thread, uint32_t limit,
							     struct python_stack *stack)
{
	uint64_t at, anchor;

	stack->count = 0;
	stack->is_whole = false;
	if (load_innermost(memory, direct, o, thread, &at) &&
	    load_anchor(memory, direct, o, thread, &anchor))
		walk(memory, direct, false, needs_marks, o, at, anchor, limit, stack, NULL, 0,
		     false);
}

void python_frames_read(const struct python_memory *memory, const struct python_offsets *offsets,
			uint64_t thread, struct python_stack *stack)
{
	if (memory->read)
		read_stack(memory, false, true, offsets, thread, PYTHON_FRAMES_MAX, stack);
	else
		read_stack(memory, true, true, offsets, thread, PYTHON_FRAMES_MAX, stack);
}

void python_frames_read_some(const struct python_memory *memory,
			     const struct python_offsets *offsets, uint64_t thread, uint32_t limit,
			     struct python_stack *stack)
{
	read_stack(memory, false, true, offsets, thread,
		   limit < PYTHON_FRAMES_MAX ? limit : PYTHON_FRAMES_MAX, stack);
}

void python_frames_read_numbers(const struct python_memory *memory,
				const struct python_offsets *offsets, uint64_t thread,
				struct python_stack *stack)
{
	read_stack(memory, false, false, offsets, thread, PYTHON_FRAMES_MAX, stack);
}

/* Runs at each launch, as does python_frames_hash. */
__attribute__((hot)) uint64_t python_frames_innermost(const struct python_offsets *offsets,
						      uint64_t thread)
{
	uint64_t frame, anchor;

	return load_innermost(NULL, true, offsets, thread, &frame) &&
			       load_anchor(NULL, true, offsets, thread, &anchor)
		       ? frame
		       : 0;
}

__attribute__((hot)) uint64_t python_frames_hash(const struct python_offsets *offsets,
						 uint64_t innermost, bool lines, uint64_t hash)
{
	if (likely(offsets->frame_form == PYTHON_FRAME_SHIM && !lines))
		return walk(NULL, true, true, false, offsets, innermost, 0, PYTHON_FRAMES_MAX, NULL,
			    NULL, hash, false);
	return walk(NULL, true, false, false, offsets, innermost, 0, PYTHON_FRAMES_MAX, NULL, NULL,
		    hash, lines);
}

__attribute__((hot)) uint64_t python_frames_hash_calls(const struct python_offsets *offsets,
						       uint64_t innermost, bool lines,
						       const struct python_methods *methods,
						       uint64_t hash)
{
	struct seen_calls seen = {.methods = methods};

	return walk(NULL, true, false, false, offsets, innermost, 0, PYTHON_FRAMES_MAX, NULL, &seen,
		    hash, lines);
}

uint32_t python_frames_calls(const struct python_offsets *offsets, uint64_t innermost,
			     const struct python_methods *methods, struct python_call *list,
			     uint32_t max)
{
	struct seen_calls seen = {.methods = methods, .list = list, .max = max};

	walk(NULL, true, false, false, offsets, innermost, 0, PYTHON_FRAMES_MAX, NULL, &seen, 0,
	     false);
	return seen.count;
}

/* ---- texts ---- */

/* Appends one character. Returns false if it does not fit. */
static bool append_utf8(char *out, size_t size, size_t *used, uint32_t c)
{
	char bytes[4];
	size_t n = put_utf8(c, bytes);

	if (*used + n >= size)
		return false;
	memcpy(out + *used, bytes, n);
	*used += n;
	return true;
}

static uint32_t character(const unsigned char *raw, size_t i, uint32_t kind)
{
	uint16_t two;
	uint32_t four;

	if (kind == 1)
		return raw[i];
	if (kind == 2) {
		memcpy(&two, raw + 2 * i, sizeof(two));
		return two;
	}
	memcpy(&four, raw + 4 * i, sizeof(four));
	return four;
}

/*
 * Reads a str as UTF-8, cut between characters; with `tail`, keeps the end of a long one. Returns 0
 * or -errno.
 */
static int read_text(const struct python_memory *memory, const struct python_offsets *o,
		     const struct python_types *types, uint64_t text, char *out, size_t size,
		     bool tail)
{
	unsigned char raw[1024];
	uint64_t length, type, data;
	uint32_t state, kind, flags;
	size_t used = 0;

	if (!read_any(memory, text + o->object_type, &type, sizeof(type)) ||
	    !read_any(memory, text + o->text_length, &length, sizeof(length)) ||
	    !read_any(memory, text + o->text_state, &state, sizeof(state)))
		return -EFAULT;
	kind = state >> o->text_kind_bit & 7;
	flags = state >> (o->text_kind_bit + 3); /* compact, ascii */
	/* names and paths are exact str objects, which are compact */
	if ((types->text && type != types->text) || !(flags & 1) || length > INT32_MAX ||
	    (kind != 1 && kind != 2 && kind != 4))
		return -EBADMSG;
	data = text + (flags & 2 ? o->text_ascii_data : o->text_wide_data);
	if (length >= size) { /* a character takes at least one byte */
		if (tail)
			data += (length - (size - 1)) * kind;
		length = size - 1;
	}
	while (length > 0) {
		size_t n = sizeof(raw) / kind;
		bool fits = true;

		n = length < n ? length : n;
		if (!read_any(memory, data, raw, n * kind))
			return -EFAULT;
		for (size_t i = 0; fits && i < n; i++)
			fits = append_utf8(out, size, &used, character(raw, i, kind));
		if (!fits)
			break;
		data += n * kind;
		length -= n;
	}
	out[used] = '\0';
	return 0;
}

int python_text_read(const struct python_memory *memory, const struct python_offsets *o,
		     const struct python_types *types, uint64_t text, char *out, size_t size)
{
	return is_object(text) ? read_text(memory, o, types, text, out, size, false) : -EBADMSG;
}

/* Returns whether two members of a code object are equal. */
static bool are_same(const struct python_memory *memory, uint64_t one, uint64_t other)
{
	uint64_t a, b;

	return read_any(memory, one, &a, sizeof(a)) && read_any(memory, other, &b, sizeof(b)) &&
	       a == b;
}

static int read_member(const struct python_memory *memory, const struct python_offsets *o,
		       const struct python_types *types, uint64_t member, char *out, size_t size,
		       bool tail)
{
	uint64_t text;

	if (!read_any(memory, member, &text, sizeof(text)))
		return -EFAULT;
	if (!is_object(text))
		return -EBADMSG;
	return read_text(memory, o, types, text, out, size, tail);
}

int python_code_read(const struct python_memory *memory, const struct python_offsets *o,
		     const struct python_types *types, uint64_t code, struct python_code *out)
{
	uint64_t type;
	int32_t line;
	int err;

	out->qualname[0] = '\0';
	if (!is_object(code))
		return -EBADMSG;
	if (!read_any(memory, code + o->object_type, &type, sizeof(type)) ||
	    !read_any(memory, code + o->code_first_line, &line, sizeof(line)))
		return -EFAULT;
	if (types->code && type != types->code)
		return -EBADMSG;
	out->first_line = line > 0 ? (uint32_t)line : 0;
	out->is_internal = o->version >= 0x030d &&
			   are_same(memory, code + o->code_name, code + o->code_filename) &&
			   are_same(memory, code + o->code_name, code + o->code_qualname);
	err = read_member(memory, o, types, code + o->code_name, out->name, sizeof(out->name),
			  false);
	if (!err)
		err = read_member(memory, o, types, code + o->code_filename, out->path,
				  sizeof(out->path), true);
	if (!err && o->code_qualname != PYTHON_NO_OFFSET)
		err = read_member(memory, o, types, code + o->code_qualname, out->qualname,
				  sizeof(out->qualname), false);
	return err;
}

/* ---- lines ---- */

/* Bytes of a bytes object, read piece by piece. */
struct table {
	const struct python_memory *memory;
	uint64_t at;
	uint64_t left; /* bytes not yet in `piece` */
	unsigned char piece[256];
	uint32_t used, have;
	bool is_cut; /* the rest is unreadable */
};

static bool open_table(struct table *t, const struct python_memory *memory,
		       const struct python_offsets *o, uint64_t code)
{
	uint64_t bytes;

	*t = (struct table){.memory = memory};
	if (!read_pointer(memory, code + o->code_lines, &bytes) ||
	    !read_any(memory, bytes + o->bytes_length, &t->left, sizeof(t->left)) ||
	    t->left > LINES_MAX)
		return false;
	t->at = bytes + o->bytes_data;
	return true;
}

/* Returns the next byte, or -1 at the end. */
static int next(struct table *t)
{
	if (t->used == t->have) {
		uint32_t n = t->left < sizeof(t->piece) ? (uint32_t)t->left : sizeof(t->piece);

		if (n == 0)
			return -1;
		if (!read_any(t->memory, t->at, t->piece, n)) {
			t->is_cut = true;
			return -1;
		}
		t->at += n;
		t->left -= n;
		t->used = 0;
		t->have = n;
	}
	return t->piece[t->used++];
}

/*
 * Finds a line in the format up to 3.9 (Objects/lnotab_notes.txt): pairs of increments in bytes and
 * in lines.
 */
static int64_t line_of_pairs(struct table *t, int64_t line, uint64_t place)
{
	uint64_t at = 0;

	for (;;) {
		int bytes = next(t), lines = next(t);

		if (bytes < 0 || lines < 0)
			return line;
		at += (uint64_t)bytes;
		if (at > place)
			return line;
		line += (int8_t)lines;
	}
}

/*
 * Finds a line in the format of 3.10 (Objects/lnotab_notes.txt): ranges in bytes, each with its
 * line increment; -128: no line.
 */
static int64_t line_of_ranges(struct table *t, int64_t line, uint64_t place)
{
	uint64_t end = 0;

	for (;;) {
		int bytes = next(t), lines = next(t);

		if (bytes < 0 || lines < 0)
			return 0;
		end += (uint64_t)bytes;
		if ((int8_t)lines != -128)
			line += (int8_t)lines;
		if (end > place)
			return (int8_t)lines == -128 ? 0 : line;
	}
}

/* Reads a number of six bits per byte, lowest first; 0x40: more follow. */
static uint32_t variable(struct table *t)
{
	uint32_t value = 0;

	for (unsigned int shift = 0; shift < 32; shift += 6) {
		int byte = next(t);

		if (byte < 0)
			return 0;
		value |= (uint32_t)(byte & 0x3f) << shift;
		if (!(byte & 0x40))
			break;
	}
	return value;
}

static int64_t signed_variable(struct table *t)
{
	uint32_t value = variable(t);

	return value & 1 ? -(int64_t)(value >> 1) : (int64_t)(value >> 1);
}

/*
 * Finds a line in the format from 3.11 on (Objects/locations.md): entries that begin with a byte of
 * 1, form:4, units - 1:3.
 */
static int64_t line_of_locations(struct table *t, int64_t line, uint64_t place)
{
	uint64_t end = 0;

	for (;;) {
		int first = next(t);
		int form = first >> 3 & 15;
		bool has_line = form != 15;

		if (first < 0 || !(first & 0x80))
			return 0;
		end += 2 * (uint64_t)((first & 7) + 1);
		if (form < 10) {
			next(t); /* columns */
		} else if (form < 13) {
			line += form - 10;
			next(t);
			next(t);
		} else if (form == 13) {
			line += signed_variable(t);
		} else if (form == 14) {
			line += signed_variable(t);
			for (int i = 0; i < 3; i++)
				variable(t); /* end line, columns */
		}
		if (end > place)
			return has_line ? line : 0;
	}
}

/*
 * Finds the start of the copy of the instructions that a frame is in. The list of copies begins
 * with its length.
 */
static bool find_copy(const struct python_memory *memory, const struct python_offsets *o,
		      const struct python_frame *frame, uint64_t *start)
{
	uint64_t list, length;

	return o->code_copies != PYTHON_NO_OFFSET &&
	       read_pointer(memory, frame->code + o->code_copies, &list) &&
	       read_any(memory, list, &length, sizeof(length)) && frame->copy < length &&
	       read_any(memory, list + 8 + 8 * (uint64_t)frame->copy, start, sizeof(*start));
}

uint32_t python_line(const struct python_memory *memory, const struct python_offsets *o,
		     const struct python_frame *frame)
{
	uint64_t place = frame->place;
	struct table t;
	int32_t first;
	int64_t line;

	if (!is_object(frame->code) ||
	    !read_any(memory, frame->code + o->code_first_line, &first, sizeof(first)) ||
	    !open_table(&t, memory, o, frame->code))
		return 0;
	if (o->place_form == PYTHON_PLACE_POINTER) {
		uint64_t start = frame->code + o->code_instructions;

		if (frame->copy && !find_copy(memory, o, frame, &start))
			return 0;
		/* a frame that has not started is before its first instruction */
		place = frame->place < start ? 0 : frame->place - start;
	} else {
		place = (int32_t)place < 0 ? 0 : place;
		place *= o->place_form == PYTHON_PLACE_UNITS ? 2 : 1;
	}
	line = o->lines_form == PYTHON_LINES_PAIRS    ? line_of_pairs(&t, first, place)
	       : o->lines_form == PYTHON_LINES_RANGES ? line_of_ranges(&t, first, place)
						      : line_of_locations(&t, first, place);
	return line > 0 && line < INT32_MAX && !t.is_cut ? (uint32_t)line : 0;
}
