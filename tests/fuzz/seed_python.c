/* SPDX-License-Identifier: MIT */
/*
 * The parts of CPython that a reader of interpreters' files needs, as a small library: its state,
 * version and types, and an evaluation loop with a part elsewhere. VERSION is its PY_VERSION_HEX.
 * From 3.13 on the state begins with offsets (here all the same), in a section of its own. HIDDEN:
 * the loop has no symbol.
 */
#define WORDS 93
#define FOUR 16, 16, 16, 16
#define SIXTEEN FOUR, FOUR, FOUR, FOUR

struct {
	char cookie[8];
	unsigned long version, rest[WORDS - 2];
} _PyRuntime __attribute__((section(".PyRuntime"))) = {
	{'x', 'd', 'e', 'b', 'u', 'g', 'p', 'y'},
	VERSION,
	{0, SIXTEEN, SIXTEEN, SIXTEEN, SIXTEEN, SIXTEEN, FOUR, FOUR, 16, 16}};
const unsigned long Py_Version = VERSION;
long PyCode_Type[4], PyUnicode_Type[4];

#ifdef HIDDEN
__asm__(".hidden _PyEval_EvalFrameDefault\n");
#endif
__asm__(".text\n"
	".globl _PyEval_EvalFrameDefault\n"
	".type _PyEval_EvalFrameDefault, @function\n"
	"_PyEval_EvalFrameDefault:\n"
	".cfi_startproc\n"
	"	push %rbx\n"
	"	.cfi_def_cfa_offset 16\n"
	"	.cfi_offset rbx, -16\n"
	"	test %edi, %edi\n"
	"	.byte 0x0f, 0x84\n" /* je far: long, as to another section */
	"	.long far - . - 4\n"
	"near:\n"
	"	pop %rbx\n"
	"	.cfi_def_cfa_offset 8\n"
	"	ret\n"
	"	.fill 16, 1, 0x90\n"
	".cfi_endproc\n"
	".size _PyEval_EvalFrameDefault, . - _PyEval_EvalFrameDefault\n"
	".section .text.unlikely, \"ax\", @progbits\n"
	"far:\n"
	".cfi_startproc\n"
	"	.cfi_def_cfa_offset 16\n"
	"	.cfi_offset rbx, -16\n"
	"	.fill 16, 1, 0x90\n"
	"	jmp near\n"
	".cfi_endproc\n"
	".text\n");
