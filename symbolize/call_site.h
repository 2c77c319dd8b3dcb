/* SPDX-License-Identifier: MIT */
/*
 * Whether an address is one that a call returns to, by the instruction before it.
 *
 * Instructions of x86-64 cannot be read backwards for certain: data, or the end of a longer
 * instruction, may look like a call. That something is no call is certain.
 *
 * Source: Intel 64 and IA-32 Architectures Software Developer's Manual, volume 2: CALL (E8 rel32,
 * FF /2), ModR/M and SIB bytes (tables 2-2 and 2-3). Far calls (FF /3, 9A) are not for programs.
 */
#ifndef SYMBOLIZE_CALL_SITE_H
#define SYMBOLIZE_CALL_SITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CALL_SITE_BYTES 7 /* the longest call without its prefixes, which do not matter */

struct call_site {
	bool is_direct;       /* may be a call of the address + displacement */
	bool is_indirect;     /* may be a call through a register or memory */
	int32_t displacement; /* from the return address */
	/* may be a call of what the word at the return address + word_displacement says */
	bool is_by_word;
	int32_t word_displacement;
};

/*
 * `code`: the `size` bytes before the return address, CALL_SITE_BYTES where there are as many. No
 * other code is looked at. False: no call ends there.
 */
bool call_site_read(const uint8_t *code, size_t size, struct call_site *site);

/*
 * Whether the code at a function's beginning only jumps elsewhere: a stub for a function of another
 * library, or a function that does nothing but call another one.
 */
#define CALL_STUB_BYTES 12
bool call_site_is_stub(const uint8_t *code, size_t size);

/*
 * Where such code jumps to: the address behind the jump + displacement, or where the word there
 * says. False: it does something else, or jumps through a register.
 */
struct call_stub {
	size_t length;   /* of the code, with the jump */
	bool is_by_word; /* the word at that place is the address */
	int32_t displacement;
};
bool call_site_read_stub(const uint8_t *code, size_t size, struct call_stub *stub);

/* The length of the call through a register or memory that `code` begins with; 0: none does. */
size_t call_site_indirect(const uint8_t *code, size_t size);

/*
 * Returns whether a function may end with a jump to code in [to, to_end), or (`wants_outside`) with
 * one to code that is not in there: `code` is all of it, and begins at `start`. True if it jumps
 * through a register or memory.
 */
bool call_site_may_jump(const uint8_t *code, size_t size, uint64_t start, uint64_t to,
			uint64_t to_end, bool wants_outside);

/*
 * Returns whether the same function may go on in the one at [to, to_end), as compilers end
 * functions. To another file (`leaves`) it jumps by a stub in its own.
 */
static inline bool call_site_may_go_on(const uint8_t *code, size_t size, uint64_t start,
				       uint64_t to, uint64_t to_end, bool leaves)
{
	return leaves ? call_site_may_jump(code, size, start, start, start + size, true)
		      : call_site_may_jump(code, size, start, to, to_end, false);
}

#endif
