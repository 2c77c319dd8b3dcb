/* SPDX-License-Identifier: MIT */
/* Style and script of pictures, read-only inside this program; SVG_STYLE and SVG_SCRIPT come from the Makefile. */
	.section .rodata
	.globl svg_style, svg_style_end, svg_script, svg_script_end
	.type svg_style, @object
	.type svg_script, @object
svg_style:
	.incbin SVG_STYLE
svg_style_end:
	.size svg_style, . - svg_style
svg_script:
	.incbin SVG_SCRIPT
svg_script_end:
	.size svg_script, . - svg_script
	.section .note.GNU-stack, "", @progbits
