/* SPDX-License-Identifier: MIT */
/*
 * Implements statically defined tracepoints (USDT): places in the code that tracers find by notes
 * in the file.
 *
 * A probe is a no-op of five bytes. A tracer replaces it by a breakpoint or, in newer kernels, by a
 * call; it is aligned for a single write. A note in the section .note.stapsdt has the place, the
 * semaphore, and the locations of arguments. The semaphore is a 16-bit count of attached tracers,
 * kept by the kernel: it has to lie in the file's data, not in .bss.
 *
 * Arguments are unsigned numbers of 64 bits (pointers among them) in an array. So each probe needs
 * one register, whatever its arguments.
 *
 * Source of the format: SystemTap, "UserSpaceProbeImplementation", version 3 of the note.
 */
#ifndef CUPTI_TRACE_LAUNCH_USDT_H
#define CUPTI_TRACE_LAUNCH_USDT_H

#include <stdint.h>

/* Attributes of a function with a probe: the frame pointer is an ordinary register in it. */
#define USDT_FUNCTION __attribute__((noinline, optimize("omit-frame-pointer")))

/*
 * A probe, the only one of its name, in a USDT_FUNCTION. `semaphore` is an array of semaphores,
 * `place` the bytes before this probe's, a constant. `text` is USDT_<count>, `values` a uint64_t *.
 *
 * `frame` is the start for tracers that walk the stack by frame pointers. It is the address, above
 * the stack pointer, of a pair: the next such address and a return address. 0: they see no caller.
 */
#define USDT_PROBE(provider, name, semaphore, place, text, values, frame)                  \
	do {                                                                               \
		register uint64_t usdt_frame __asm__("rbp") = (frame);                     \
		__asm__ __volatile__(".balign 8\n"                                         \
				     "990:	.byte 0x0f, 0x1f, 0x44, 0x00, 0x00\n"           \
				     "	.pushsection .note.stapsdt, \"\", \"note\"\n"       \
				     "	.balign 4\n"                                        \
				     "	.4byte 992f - 991f, 994f - 993f, 3\n"               \
				     "991:	.asciz \"stapsdt\"\n"                           \
				     "992:	.balign 4\n"                                    \
				     "993:	.8byte 990b, _.stapsdt.base, " #semaphore  \
				     " + %c[at]\n"                                         \
				     "	.asciz \"" provider "\"\n"                         \
				     "	.asciz \"" #name "\"\n"                            \
				     "	.asciz \"" text "\"\n"                             \
				     "994:	.balign 4\n"                                    \
				     "	.popsection\n"                                      \
				     "	.ifndef _.stapsdt.base\n"                           \
				     "	.pushsection .stapsdt.base, \"aG\", \"progbits\", " \
				     ".stapsdt.base, comdat\n"                             \
				     "	.weak _.stapsdt.base\n"                             \
				     "	.hidden _.stapsdt.base\n"                           \
				     "_.stapsdt.base:	.space 1\n"                          \
				     "	.size _.stapsdt.base, 1\n"                          \
				     "	.popsection\n"                                      \
				     "	.endif\n"                                           \
				     :                                                     \
				     : [v] "r"(values), [at] "i"(place), "r"(usdt_frame)   \
				     : "memory");                                          \
	} while (0)

#define USDT_1 "8@0(%[v])"
#define USDT_2 USDT_1 " 8@8(%[v])"
#define USDT_3 USDT_2 " 8@16(%[v])"
#define USDT_4 USDT_3 " 8@24(%[v])"
#define USDT_5 USDT_4 " 8@32(%[v])"
#define USDT_6 USDT_5 " 8@40(%[v])"

#endif
