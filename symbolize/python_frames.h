/* SPDX-License-Identifier: MIT */
/*
 * Reads the Python stack of a thread, and the contents of its code objects.
 *
 * Works inside the process and from outside. Memory is read through a callback, or directly without
 * one: only for a thread's own live frames. Does not allocate, and trusts nothing: pointers are
 * checked before use, chains are bounded, and a cycle ends at the bound. With a callback that
 * refuses unreadable memory, no contents can do harm; at worst frames are missing or wrong.
 */
#ifndef SYMBOLIZE_PYTHON_FRAMES_H
#define SYMBOLIZE_PYTHON_FRAMES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "symbolize/python_offsets.h"
#include "symbolize/util/hash.h"
#include "symbolize/util/likely.h"

/* The injected library has fewer: its lists are on the program's stacks. */
#ifndef PYTHON_FRAMES_MAX
#define PYTHON_FRAMES_MAX 512
#endif
#define PYTHON_TEXT_MAX 512 /* bytes of a name, with the NUL; longer ones are cut */
#define PYTHON_PATH_MAX 1024

struct python_memory {
	/*
	 * Reads memory. Returns false if not all of it is readable. NULL: plain loads from this
	 * process.
	 */
	bool (*read)(void *context, uint64_t address, void *buffer, size_t size);
	void *context;
};

struct python_frame {
	uint64_t code;  /* address of the code object */
	uint64_t place; /* current instruction, in the form of the version: for python_line() */
	uint64_t mark;  /* with `code`: identifies the names, even if the memory of a freed code
			   object is reused */
	/*
	 * Address within the C frame of the evaluation loop, for an entry; 0: unknown, or no entry.
	 * Locates this frame among the native ones, whatever code the loop has.
	 */
	uint64_t anchor;
	uint32_t copy; /* copy of the instructions that `place` is in; 0: that of the code object */
	uint32_t number; /* unique number of the code object in the interpreter; 0: it has none */
	bool is_entry;   /* a C evaluation loop was entered at this frame */
};

struct python_stack {
	uint32_t count;
	bool is_whole; /* false: truncated: too deep, or unreadable from there on */
	struct python_frame frames[PYTHON_FRAMES_MAX]; /* innermost first */
};

/* Reads the frames of the thread with the PyThreadState at `thread`. */
void python_frames_read(const struct python_memory *memory, const struct python_offsets *offsets,
			uint64_t thread, struct python_stack *stack);

/* Reads the innermost `limit` frames. The memory needs a callback. */
void python_frames_read_some(const struct python_memory *memory,
			     const struct python_offsets *offsets, uint64_t thread, uint32_t limit,
			     struct python_stack *stack);

/* Reads all frames, without the marks of numbered code. The memory needs a callback. */
void python_frames_read_numbers(const struct python_memory *memory,
				const struct python_offsets *offsets, uint64_t thread,
				struct python_stack *stack);

/*
 * Continues a hash with a frame, by its mark; `lines`: instructions count, too. A mark identifies
 * code by its names: code that is compiled again from one text (eval in a loop) keeps its hash.
 */
static inline uint64_t python_frame_hash(uint64_t hash, const struct python_frame *frame,
					 bool lines)
{
	hash = hash_step(hash, frame->code, frame->mark);
	return lines ? hash_step(hash, frame->place, 0) : hash;
}

/*
 * Continues a hash with a frame by its number. Numbers are faster to read than marks, and change
 * when code is compiled again. The mark stands for a missing number.
 */
static inline uint64_t python_frame_hash_number(uint64_t hash, const struct python_frame *frame,
						bool lines)
{
	hash = hash_step(hash, frame->code, frame->number ? frame->number : frame->mark);
	return unlikely(lines) ? hash_step(hash, frame->place, 0) : hash;
}

/* Returns the calling thread's innermost frame, without a callback; 0: there is none. */
uint64_t python_frames_innermost(const struct python_offsets *offsets, uint64_t thread);

/*
 * Continues a hash by numbers with the calling thread's frames from `innermost` on, as many as
 * python_frames_read would read. Needs no callback.
 */
uint64_t python_frames_hash(const struct python_offsets *offsets, uint64_t innermost, bool lines,
			    uint64_t hash);

/* Code objects whose first argument counts: methods whose object tells more than their code. */
#define PYTHON_METHODS_MAX 4u
struct python_methods {
	_Atomic uint64_t codes[PYTHON_METHODS_MAX]; /* 0: free, as all after it */
};

/* A call of such a method. */
struct python_call {
	uint64_t object; /* address of the first argument; it may be 0 */
	uint32_t frame;  /* index among the frames that python_frames_read reads */
};

#define PYTHON_CALLS_MAX 64u
struct python_calls {
	uint32_t count;
	struct python_call list[PYTHON_CALLS_MAX]; /* innermost first */
};

/*
 * Does as python_frames_hash, and continues the hash with the objects of calls, too. Needs no
 * callback.
 */
uint64_t python_frames_hash_calls(const struct python_offsets *offsets, uint64_t innermost,
				  bool lines, const struct python_methods *methods, uint64_t hash);

/*
 * Lists the calling thread's calls, the innermost first, up to `max`. Returns their number. Needs
 * no callback.
 */
uint32_t python_frames_calls(const struct python_offsets *offsets, uint64_t innermost,
			     const struct python_methods *methods, struct python_call *list,
			     uint32_t max);

/*
 * Key of a str, or bytes: its stored hash, after the length in all versions (PyASCIIObject and
 * PyBytesObject). If none was computed yet, a hash of its length and its last words. `bytes` of
 * these words are its own: objects have at least PYTHON_KEY_BYTES before their characters.
 */
#define PYTHON_KEY_WORDS 4
#define PYTHON_KEY_BYTES (8 * PYTHON_KEY_WORDS)
#define PYTHON_NO_HASH UINT64_MAX

static inline uint64_t python_key(uint64_t length, uint64_t bytes,
				  const uint64_t words[PYTHON_KEY_WORDS])
{
	uint64_t others = bytes < PYTHON_KEY_BYTES ? PYTHON_KEY_BYTES - bytes : 0, key = length;

	for (uint32_t i = 0; i < PYTHON_KEY_WORDS; i++) {
		uint64_t word = words[i];

		if (others > 8 * i)
			word = others - 8 * i < 8 ? word >> 8 * (others - 8 * i) : 0;
		key += word * (0x9e3779b97f4a7c15u - 2 * i);
	}
	return key ^ key >> 32;
}

/*
 * Returns the mark of a code object: of its first line, and the keys of its name and its file name.
 * python_mark_text has the offset of the name. Code compiled again from one text keeps its mark.
 * Other code in the memory of a freed code object has another mark.
 */
static inline uint64_t python_mark(uint64_t name, uint64_t file, uint32_t first_line)
{
	return ((name ^ first_line) * 0x9e3779b97f4a7c15u ^ file) * 0x9e3779b97f4a7c15u;
}

/* Returns the mark of a code object whose lines count, too, by the key of its line table. */
static inline uint64_t python_mark_lines(uint64_t mark, uint64_t lines)
{
	return (mark ^ lines) * 0x9e3779b97f4a7c15u;
}

/* Returns the offset of the most specific name of a code object. */
static inline uint16_t python_mark_text(const struct python_offsets *offsets)
{
	return offsets->code_qualname != PYTHON_NO_OFFSET ? offsets->code_qualname
							  : offsets->code_name;
}

/*
 * Reads the mark of the code object at `code`; `lines`: lines count. Returns false if unreadable.
 */
bool python_mark_read(const struct python_memory *memory, const struct python_offsets *offsets,
		      uint64_t code, bool lines, uint64_t *mark);

/* Types of the interpreter, for checking objects; 0: unknown, not checked. */
struct python_types {
	uint64_t code; /* &PyCode_Type */
	uint64_t text; /* &PyUnicode_Type */
};

struct python_code {
	uint32_t first_line;
	/*
	 * Internal code of the interpreter, which calls __init__ from 3.13 on. Python does not show
	 * it. Only such code has one object for all of its names.
	 */
	bool is_internal;
	char name[PYTHON_TEXT_MAX];     /* UTF-8 */
	char qualname[PYTHON_TEXT_MAX]; /* "" before 3.11 */
	char path[PYTHON_PATH_MAX];     /* co_filename; of a long one, the end */
};

/*
 * Reads a str into `out` of `size` bytes as UTF-8, cut between characters. Returns 0; -EFAULT:
 * unreadable; -EBADMSG: not a str.
 */
int python_text_read(const struct python_memory *memory, const struct python_offsets *offsets,
		     const struct python_types *types, uint64_t text, char *out, size_t size);

/* Reads a code object. Returns 0; -EFAULT: unreadable; -EBADMSG: not a code object. */
int python_code_read(const struct python_memory *memory, const struct python_offsets *offsets,
		     const struct python_types *types, uint64_t code, struct python_code *out);

/* Returns the source line of a frame; 0 if there is none, or it is unknown. */
uint32_t python_line(const struct python_memory *memory, const struct python_offsets *offsets,
		     const struct python_frame *frame);

#endif
