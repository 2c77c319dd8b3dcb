/* SPDX-License-Identifier: MIT */
/*
 * How to unwind Go's functions in programs that have no call-frame information for them (go build
 * -ldflags=-w, and strip): by the table that Go's own runtime unwinds with (go_table.h). It says at
 * each pc how far the stack pointer is from the return address, and which functions are a stack's
 * outermost (runtime.goexit, mstart, rt0_go).
 *
 * Source: the runtime's symtab.go, _func, of Go 1.18 and of 1.20 and later. Does not allocate;
 * every access is within the table.
 */
#ifndef SYMBOLIZE_GO_FRAMES_H
#define SYMBOLIZE_GO_FRAMES_H

#include <stdbool.h>
#include <stdint.h>
#include "symbolize/cfi.h"
#include "symbolize/go_table.h"

/*
 * Returns whether rows can be found in the table: it is of a known version, and all functions are
 * there.
 */
bool go_frames_are_in(const struct go_table *table);

/* The row at `pc`. 0; -ENOENT: no function of Go; -EBADMSG: the table is malformed there. */
int go_frames_find_row(const struct go_table *table, uint64_t pc, struct cfi_row *row);

struct cfi_bounds go_frames_find_bounds(const struct go_table *table, uint64_t pc);

#endif
