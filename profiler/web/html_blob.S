/* SPDX-License-Identifier: MIT */
/* The report's page up to its data, read-only inside this program; PAGE_FILE comes from the Makefile. */
	.section .rodata
	.balign 16
	.globl html_page, html_page_end
	.type html_page, @object
html_page:
	.incbin PAGE_FILE
html_page_end:
	.size html_page, . - html_page
	.section .note.GNU-stack, "", @progbits
