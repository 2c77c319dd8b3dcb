/* SPDX-License-Identifier: MIT */
/*
 * Recognizes the trampolines of `python -X perf` (3.12 and later), and unwinds them.
 *
 * Each Python function has one: a copy of a few instructions in anonymous memory that calls the
 * evaluation loop. So perf(1) has an address to name by a perf map ("Python support for the Linux
 * perf profiler" in its documentation).
 *
 * Trampolines have no call-frame information, and not always a frame pointer. But all trampolines
 * of an interpreter are copies of one piece of its file, in one of two forms, perhaps behind
 * endbr64:
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
	PYTHON_TRAMPOLINE_NONE = 0, /* none, or an unknown form */
	PYTHON_TRAMPOLINE_BY_RSP,
	PYTHON_TRAMPOLINE_BY_RBP,
};

/* Bytes of the longest form. */
#define PYTHON_TRAMPOLINE_BYTES 15

/* Returns the form of the piece in the file, of `size` bytes. */
enum python_trampoline_form python_trampoline_read(const uint8_t *code, size_t size);

/* Bytes before and behind the call of a trampoline. */
#define PYTHON_TRAMPOLINE_BEFORE 6u
#define PYTHON_TRAMPOLINE_BEHIND 5u

/*
 * Returns the form of the trampoline that a call returns to. `code`: PYTHON_TRAMPOLINE_BEFORE bytes
 * before the return address and PYTHON_TRAMPOLINE_BEHIND bytes from the address on.
 */
enum python_trampoline_form
python_trampoline_around(const uint8_t code[PYTHON_TRAMPOLINE_BEFORE + PYTHON_TRAMPOLINE_BEHIND]);

/* Bytes before a return address that set the arguments of its call. */
#define PYTHON_TRAMPOLINE_CALL 32u

/*
 * Returns whether the interpreter's call that returns to `pc`, behind `code`, calls a trampoline in
 * py_trampoline_evaluator. That function has a frame for each trampoline, unless a new compiler
 * made its call a jump: then the trampoline returns to the caller of the function. The evaluator
 * passes the loop, at `loop`, as the fourth argument; other calls have three. Recognizes the
 * instruction that sets rcx, so also stripped files.
 */
bool python_trampoline_is_called(const uint8_t code[PYTHON_TRAMPOLINE_CALL], uint64_t pc,
				 uint64_t loop);

/* Trampolines of a process, in its addresses. Zero-initialised: there are none. */
struct python_trampolines {
	enum python_trampoline_form form;
	bool is_used;            /* a stack had a trampoline */
	struct python_loop loop; /* loop that trampolines call; its module is their caller */
};

/*
 * Finds the row of code of no file, if the code is a trampoline: the interpreter called it, and it
 * called the loop. `callee`: return address of the loop's frame; 0: `registers` are those of an
 * interrupted instruction, which counts once a trampoline was seen. `read` reads the stack. Returns
 * false if the code is no trampoline.
 */
bool python_trampoline_find_row(struct python_trampolines *trampolines,
				const struct cfi_registers *registers, uint64_t callee,
				cfi_reader read, void *context, struct cfi_row *row);

#endif
