/* SPDX-License-Identifier: MIT */
/* Style and policy of differences, read-only inside this program; the files' names come from the Makefile. */
	.section .rodata
	.globl difference_style, difference_style_end, difference_policy, difference_policy_end
	.type difference_style, @object
	.type difference_policy, @object
difference_style:
	.incbin DIFFERENCE_STYLE
difference_style_end:
	.size difference_style, . - difference_style
difference_policy:
	.incbin DIFFERENCE_POLICY
difference_policy_end:
	.size difference_policy, . - difference_policy
	.section .note.GNU-stack, "", @progbits
