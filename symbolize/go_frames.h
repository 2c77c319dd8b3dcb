/* SPDX-License-Identifier: MIT */
/*
 * How to unwind Go's functions in programs that have no call-frame information for them (go build
 * -ldflags=-w, and strip): by the table that Go's own runtime unwinds with, which cannot be
 * stripped. It says at each pc how far the stack pointer is from the return address, and which
 * functions are a stack's outermost (runtime.goexit, mstart, rt0_go).
 *
 * Source: the runtime's symtab.go, pcHeader and _func, of Go 1.18 (magic number 0xfffffff0) and of
 * 1.20 and later (0xfffffff1). Does not allocate; every access is within the table.
 */
#ifndef SYMBOLIZE_GO_FRAMES_H
#define SYMBOLIZE_GO_FRAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "symbolize/cfi.h"

/* The section .gopclntab. */
struct go_frames {
	const uint8_t *table;
	size_t size;
	uint64_t text; /* the address that functions count from */
	/* the rest is found by go_frames_open */
	uint64_t function_count, functions, deltas; /* offsets in the table */
	uint32_t flag;                              /* the offset in a function's description */
};

/*
 * Sets up `frames`, whose first members are set, `text` to where the section with the code begins.
 * False: it is no table of a known version.
 */
bool go_frames_open(struct go_frames *frames);

/* The row at `pc`. 0; -ENOENT: no function of Go; -EBADMSG: the table is malformed there. */
int go_frames_find_row(const struct go_frames *frames, uint64_t pc, struct cfi_row *row);

struct cfi_bounds go_frames_find_bounds(const struct go_frames *frames, uint64_t pc);

#endif
