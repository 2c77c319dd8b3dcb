/* SPDX-License-Identifier: MIT */
/*
 * Tells whether an address is one that a call returns to, by the instruction before it.
 *
 * Instructions of x86-64 cannot be read backwards for certain: data, or the end of a longer
 * instruction, may look like a call. The absence of a call is certain.
 *
 * Source: Intel 64 and IA-32 Architectures Software Developer's Manual, volume 2: CALL (E8 rel32,
 * FF /2), ModR/M and SIB bytes (tables 2-2 and 2-3). Far calls (FF /3, 9A) are not for programs.
 */
#ifndef SYMBOLIZE_CALL_SITE_H
#define SYMBOLIZE_CALL_SITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CALL_SITE_BYTES 7 /* bytes of the longest call, without irrelevant prefixes */

struct call_site {
	bool is_direct;       /* perhaps a call of the return address + displacement */
	bool is_indirect;     /* perhaps a call through a register or memory */
	int32_t displacement; /* bytes from the return address */
	/* perhaps a call of the address stored at the return address + word_displacement */
	bool is_by_word;
	int32_t word_displacement;
};

/*
 * Reads the call that ends with `code`, the `size` bytes before the return address:
 * CALL_SITE_BYTES, or all there are. Returns false if no call ends there.
 */
bool call_site_read(const uint8_t *code, size_t size, struct call_site *site);

/*
 * Returns whether the code at a function's beginning only jumps elsewhere: a stub for a function of
 * another library, or a function that only calls another one.
 */
#define CALL_STUB_BYTES 12
bool call_site_is_stub(const uint8_t *code, size_t size);

/* Target of such code: the address behind the jump + displacement, or the address stored there. */
struct call_stub {
	size_t length;   /* bytes of the code, with the jump */
	bool is_by_word; /* the target is stored at that address */
	int32_t displacement;
};
/* Reads such code. Returns false if the code does something else, or jumps through a register. */
bool call_site_read_stub(const uint8_t *code, size_t size, struct call_stub *stub);

/*
 * Returns the length of the call through a register or memory at the beginning of `code`; 0: there
 * is none.
 */
size_t call_site_indirect(const uint8_t *code, size_t size);

/*
 * Returns whether a function may end with a jump to code in [to, to_end), or with `wants_outside`
 * to code elsewhere. `code` is the whole function, at `start`. Returns true if the function jumps
 * through a register or memory.
 */
bool call_site_may_jump(const uint8_t *code, size_t size, uint64_t start, uint64_t to,
			uint64_t to_end, bool wants_outside);

/*
 * Returns whether a function may continue in the one at [to, to_end), as compilers end functions.
 * With `leaves`, the other function is in another file, and reached by a stub in this one.
 */
static inline bool call_site_may_go_on(const uint8_t *code, size_t size, uint64_t start,
				       uint64_t to, uint64_t to_end, bool leaves)
{
	return leaves ? call_site_may_jump(code, size, start, start, start + size, true)
		      : call_site_may_jump(code, size, start, to, to_end, false);
}

#endif
