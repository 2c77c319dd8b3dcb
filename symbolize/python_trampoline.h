/* SPDX-License-Identifier: MIT */
/*
 * The trampolines of `python -X perf` (3.12 and later): for each Python function a copy of a few
 * instructions in anonymous memory, which call the evaluation loop, so that perf(1) has an address
 * to name by a perf map ("Python support for the Linux perf profiler" in its documentation).
 *
 * They have no call-frame information, and not always a frame pointer. But all of an interpreter
 * are copies of one piece of its file, in one of two forms, each perhaps behind endbr64:
 *
 *   sub $8, %rsp;  call *%rcx;  add $8, %rsp;  ret               up to early 3.13
 *   push %rbp;  mov %rsp, %rbp;  call *%rcx;  pop %rbp;  ret     later, and in distributions
 *
 * Source: Python/asm_trampoline.S, Python/perf_trampoline.c of CPython. x86-64. No I/O, no
 * allocation; also for the injected library.
 */
#ifndef SYMBOLIZE_PYTHON_TRAMPOLINE_H
#define SYMBOLIZE_PYTHON_TRAMPOLINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "symbolize/cfi.h"
#include "symbolize/python_loop.h"

enum python_trampoline_form {
	PYTHON_TRAMPOLINE_NONE = 0, /* the interpreter has none, or others */
	PYTHON_TRAMPOLINE_BY_RSP,
	PYTHON_TRAMPOLINE_BY_RBP,
};

/* The longest form: bytes of an interpreter's piece that are looked at. */
#define PYTHON_TRAMPOLINE_BYTES 15

/* The form of the piece in the file, of `size` bytes. */
enum python_trampoline_form python_trampoline_read(const uint8_t *code, size_t size);

/* What stands before and behind the call of a trampoline. */
#define PYTHON_TRAMPOLINE_BEFORE 6u
#define PYTHON_TRAMPOLINE_BEHIND 5u

/*
 * The form of the trampoline that a call returns to: `code` are PYTHON_TRAMPOLINE_BEFORE bytes
 * before the return address and PYTHON_TRAMPOLINE_BEHIND bytes from it on.
 */
enum python_trampoline_form
python_trampoline_around(const uint8_t code[PYTHON_TRAMPOLINE_BEFORE + PYTHON_TRAMPOLINE_BEHIND]);

/* Bytes before a return address in which the arguments of its call are set. */
#define PYTHON_TRAMPOLINE_CALL 32u

/*
 * Returns whether the interpreter's call that returns to `pc`, behind `code`, is that of a
 * trampoline in py_trampoline_evaluator. There each function has a frame of it, unless the compiler
 * made the call a jump, as new ones do: then a trampoline returns to whom the interpreter has
 * called the function from. The evaluator hands the loop over, at `loop`, as the fourth argument;
 * those others have three. Recognizes the call by the instruction that sets rcx, where its file is
 * stripped, too.
 */
bool python_trampoline_is_called(const uint8_t code[PYTHON_TRAMPOLINE_CALL], uint64_t pc,
				 uint64_t loop);

/* A process's trampolines, in its addresses. Zero-initialised: it has none. */
struct python_trampolines {
	enum python_trampoline_form form;
	bool is_used;            /* a stack had one */
	struct python_loop loop; /* what they call; the module is what calls them */
};

/*
 * Sets the row that leads from code of no file to its caller, if it is a trampoline: it was called
 * by the interpreter, and has called the loop (`callee`: where that frame is, as a return address).
 * `callee` 0: `registers` are those of an interrupted instruction, which counts once a trampoline
 * was seen. `read` reads the stack. False: it is none.
 */
bool python_trampoline_find_row(struct python_trampolines *trampolines,
				const struct cfi_registers *registers, uint64_t callee,
				cfi_reader read, void *context, struct cfi_row *row);

#endif
