/* SPDX-License-Identifier: MIT */
/*
 * Reads the Python stack of a thread, and the contents of its code objects.
 *
 * Used both inside the process and from outside: memory is read through a callback, or, without
 * one, directly, which is only for a thread's own live frames. Does not allocate, and trusts
 * nothing: pointers are checked before they are followed, chains are bounded, and a cycle ends at
 * the bound. With a callback that refuses unreadable memory, no memory contents can do harm; at
 * worst frames are missing or wrong.
 */
#ifndef SYMBOLIZE_PYTHON_FRAMES_H
#define SYMBOLIZE_PYTHON_FRAMES_H

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
	/* False: not all of it is readable. NULL: plain loads from this process. */
	bool (*read)(void *context, uint64_t address, void *buffer, size_t size);
	void *context;
};

struct python_frame {
	uint64_t code;  /* address of the code object */
	uint64_t place; /* its current instruction, in the version's form: for python_line() */
	uint64_t mark;  /* with `code`: equal for equal names, even if the memory of a freed code
			 * object is reused */
	/*
	 * Of an entry: an address within the C frame of that loop. 0: not known, or not an entry.
	 * It tells where this frame belongs among the native ones, whatever the loop's code is.
	 */
	uint64_t anchor;
	uint32_t copy;   /* of the instructions that `place` is in; 0: the code object's own */
	uint32_t number; /* which no other code object of the interpreter has; 0: it has none */
	bool is_entry;   /* a C evaluation loop was entered at this frame */
};

struct python_stack {
	uint32_t count;
	bool is_whole; /* false: truncated, because it is too deep or unreadable from there on */
	struct python_frame frames[PYTHON_FRAMES_MAX]; /* innermost first */
};

/* The frames of the thread whose PyThreadState lies at `thread`. */
void python_frames_read(const struct python_memory *memory, const struct python_offsets *offsets,
			uint64_t thread, struct python_stack *stack);

/* Does the same for the innermost `limit` frames. The memory needs a callback. */
void python_frames_read_some(const struct python_memory *memory,
			     const struct python_offsets *offsets, uint64_t thread, uint32_t limit,
			     struct python_stack *stack);

/* All frames, without the marks of code that has a number. The memory needs a callback. */
void python_frames_read_numbers(const struct python_memory *memory,
				const struct python_offsets *offsets, uint64_t thread,
				struct python_stack *stack);

/*
 * Continues a hash with a frame; `lines`: frames differ by their instructions, too. By names, code
 * that is made again from the same text (eval in a loop) is the same. By numbers, which are faster
 * to read, it is another each time; the mark tells what has none.
 */
static inline uint64_t python_frame_hash(uint64_t hash, const struct python_frame *frame,
					 bool lines)
{
	hash = hash_step(hash, frame->code, frame->mark);
	return lines ? hash_step(hash, frame->place, 0) : hash;
}

static inline uint64_t python_frame_hash_number(uint64_t hash, const struct python_frame *frame,
						bool lines)
{
	hash = hash_step(hash, frame->code, frame->number ? frame->number : frame->mark);
	return unlikely(lines) ? hash_step(hash, frame->place, 0) : hash;
}

/* The calling thread's innermost frame, without a callback; 0: it has none. */
uint64_t python_frames_innermost(const struct python_offsets *offsets, uint64_t thread);

/*
 * Continues a hash, by numbers, with all frames that python_frames_read would read, the calling
 * thread's from `innermost` on, without a callback.
 */
uint64_t python_frames_hash(const struct python_offsets *offsets, uint64_t innermost, bool lines,
			    uint64_t hash);

/*
 * What tells a str, or bytes, from others: the hash that it stores (PyASCIIObject and
 * PyBytesObject, in all versions: after the length); where none was computed yet, that of its
 * length and the words that end with it, of which `bytes` are its own: objects have as many bytes
 * before their characters.
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
 * The mark of a code object: of the keys of its name (the member given by python_mark_text) and its
 * file's name, and its first line. So code that is made again from the same text has the same, and
 * other code in the place of code that was dropped has another.
 */
static inline uint64_t python_mark(uint64_t name, uint64_t file, uint32_t first_line)
{
	return ((name ^ first_line) * 0x9e3779b97f4a7c15u ^ file) * 0x9e3779b97f4a7c15u;
}

/* The mark of a code object of which the lines count, too: from the key of its table of lines. */
static inline uint64_t python_mark_lines(uint64_t mark, uint64_t lines)
{
	return (mark ^ lines) * 0x9e3779b97f4a7c15u;
}

/* The offset of a code object's name: the one that says most. */
static inline uint16_t python_mark_text(const struct python_offsets *offsets)
{
	return offsets->code_qualname != PYTHON_NO_OFFSET ? offsets->code_qualname
							  : offsets->code_name;
}

/* The mark of the code object at `code`; `lines`: with lines. False: it is not readable. */
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
	 * The interpreter's own, which Python shows nowhere: what calls __init__, from 3.13 on. It
	 * alone has one object for all of its names.
	 */
	bool is_internal;
	char name[PYTHON_TEXT_MAX];     /* UTF-8 */
	char qualname[PYTHON_TEXT_MAX]; /* "" before 3.11 */
	char path[PYTHON_PATH_MAX];     /* co_filename; of a long one, its end */
};

/*
 * Reads a str into `out` of `size` bytes as UTF-8, cut between characters. 0; -EFAULT: unreadable;
 * -EBADMSG: not a str.
 */
int python_text_read(const struct python_memory *memory, const struct python_offsets *offsets,
		     const struct python_types *types, uint64_t text, char *out, size_t size);

/* Reads a code object. 0; -EFAULT: unreadable; -EBADMSG: not a code object. */
int python_code_read(const struct python_memory *memory, const struct python_offsets *offsets,
		     const struct python_types *types, uint64_t code, struct python_code *out);

/* The source line of a frame; 0 if it has none or it cannot be determined. */
uint32_t python_line(const struct python_memory *memory, const struct python_offsets *offsets,
		     const struct python_frame *frame);

#endif
