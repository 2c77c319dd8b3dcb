/* SPDX-License-Identifier: MIT */
/*
 * Finds byte offsets into CPython's structures that a stack reader needs, by version.
 *
 * From 3.13 on an interpreter has them at the start of the variable _PyRuntime; for 3.8 to 3.12
 * there are tables. tests/cli/python.bats compares both with the headers of the installed
 * interpreters. x86-64 only. Pre-releases before the release candidates are unsupported: their
 * structures still change.
 *
 * Tested with real interpreters: 3.8 to 3.15. By their headers only: builds without the GIL.
 */
#ifndef SYMBOLIZE_PYTHON_OFFSETS_H
#define SYMBOLIZE_PYTHON_OFFSETS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Marks of frames at which the C evaluation function was entered. */
enum python_frame_form {
	PYTHON_FRAME_EACH = 1, /* up to 3.10: each frame has its own evaluation */
	PYTHON_FRAME_FLAG,     /* 3.11: a flag on the first frame of an evaluation */
	PYTHON_FRAME_SHIM,     /* from 3.12 on: a frame without code precedes the first */
};

/* Forms of the position in a frame. */
enum python_place_form {
	PYTHON_PLACE_BYTES = 1, /* up to 3.9: int, bytes from the start of the code */
	PYTHON_PLACE_UNITS,     /* 3.10: int, in units of two bytes */
	PYTHON_PLACE_POINTER,   /* from 3.11 on: pointer */
};

enum python_lines_form {
	PYTHON_LINES_PAIRS = 1, /* up to 3.9: co_lnotab */
	PYTHON_LINES_RANGES,    /* 3.10: co_linetable */
	PYTHON_LINES_LOCATIONS, /* from 3.11 on: co_linetable in another format */
};

#define PYTHON_NO_OFFSET 0xffffu

struct python_offsets {
	uint16_t version; /* 0x030b is 3.11 */
	uint8_t frame_form;
	uint8_t place_form;
	uint8_t lines_form;
	uint8_t owner_of_shim;       /* `frame_owner` of a shim */
	uint8_t text_kind_bit;       /* first bit of the kind in a str's state */
	uint32_t runtime_finalizing; /* from _PyRuntime to the thread that shuts it down, or NULL */
	/*
	 * From _PyRuntime to its first interpreter, from there to the first thread, and to the next
	 * ones.
	 */
	uint32_t runtime_interpreters;
	uint32_t interpreter_next;
	uint32_t interpreter_threads;
	uint32_t interpreter_modules; /* from an interpreter to the dictionary sys.modules */
	uint16_t thread_next;
	uint16_t thread_id; /* pthread_self() of the thread */
	/* PyThreadState: to the innermost frame, or to _PyCFrame and from there to the frame */
	uint16_t thread_frame;
	uint16_t cframe_frame; /* PYTHON_NO_OFFSET: `thread_frame` is the frame itself */
	/*
	 * 3.10 and 3.11: from PyThreadState to the structure of the innermost evaluation on the C
	 * stack, and to that of the evaluation around. PYTHON_NO_OFFSET: there is none before;
	 * later, shims are on the C stack.
	 */
	uint16_t thread_anchor;
	uint16_t anchor_previous;
	/* PyFrameObject, _PyInterpreterFrame */
	uint16_t frame_previous;
	uint16_t frame_code;
	uint16_t frame_place;
	uint16_t frame_owner;  /* one byte: the owner, or 3.11's flag; PYTHON_NO_OFFSET: neither */
	uint16_t frame_locals; /* the first local variable, and argument */
	/* PyCodeObject */
	uint16_t code_filename;
	uint16_t code_name;
	uint16_t code_qualname; /* PYTHON_NO_OFFSET: before 3.11 */
	uint16_t code_first_line;
	/*
	 * unique number of the code object in the interpreter, or 0; PYTHON_NO_OFFSET: before 3.12
	 */
	uint16_t code_version;
	uint16_t code_lines;
	uint16_t code_instructions; /* PYTHON_NO_OFFSET: not in the object, before 3.11 */
	/*
	 * Threads without the GIL execute copies of the instructions, from 3.14 on. In a frame: the
	 * number of its copy, 0 for that of the object. In a code object: the list of all copies.
	 */
	uint16_t frame_copy; /* PYTHON_NO_OFFSET: no copies */
	uint16_t code_copies;
	/* PyObject, the type of a class, str, bytes */
	uint16_t object_bytes; /* size of the head of all objects */
	uint16_t object_type;
	uint16_t type_keys; /* from a type to the shared keys of its instances */
	uint16_t text_length;
	uint16_t text_state;
	uint16_t text_ascii_data; /* characters of an ASCII str */
	uint16_t text_wide_data;  /* characters of any other str */
	uint16_t bytes_length;
	uint16_t bytes_data;
};

/* Bytes of _PyRuntime that python_offsets_read() reads. */
#define PYTHON_RUNTIME_BYTES (93 * 8)

/*
 * Finds the offsets of an interpreter. `hex` is its PY_VERSION_HEX (0x030b07f0). `runtime` has the
 * first `size` bytes of its _PyRuntime, needed only from 3.13 on. Returns 0; -ENOTSUP: unknown
 * version; -EBADMSG: invalid data in _PyRuntime.
 */
int python_offsets_read(uint32_t hex, const void *runtime, size_t size,
			struct python_offsets *offsets);

/* Returns the PY_VERSION_HEX in _PyRuntime, from 3.13 on; 0: there is none. */
uint32_t python_offsets_version(const void *runtime, size_t size);

/* Returns whether frames locate their evaluation on the C stack: from 3.10 on. */
static inline bool python_offsets_have_anchors(const struct python_offsets *offsets)
{
	return offsets->frame_form == PYTHON_FRAME_SHIM ||
	       offsets->thread_anchor != PYTHON_NO_OFFSET;
}

#endif
