/* SPDX-License-Identifier: MIT */
/* The injection library, read-only inside this program; PAYLOAD_FILE comes from the Makefile. */
	.section .rodata
	.balign 16
	.globl payload_blob, payload_blob_end
	.type payload_blob, @object
payload_blob:
	.incbin PAYLOAD_FILE
payload_blob_end:
	.size payload_blob, . - payload_blob
	.section .note.GNU-stack, "", @progbits
