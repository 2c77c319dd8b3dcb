/* SPDX-License-Identifier: MIT */
/* Templates of shell completion, as strings, found in the include path of the assembler. */
	.macro template shell
	.globl completion_\shell
	.type completion_\shell, @object
completion_\shell:
	.incbin "\shell\().in"
	.byte 0
	.size completion_\shell, . - completion_\shell
	.endm

	.section .rodata
	template bash
	template zsh
	template fish
	.section .note.GNU-stack, "", @progbits
