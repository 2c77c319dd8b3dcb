/* SPDX-License-Identifier: MIT */
/*
 * Unwinds Go's functions in programs without call-frame information (go build -ldflags=-w, and
 * strip).
 *
 * Uses the table that Go's own runtime unwinds with (go_table.h). At each pc it has the distance of
 * the stack pointer from the return address. It also marks outermost functions (runtime.goexit,
 * mstart, rt0_go).
 *
 * Source: the runtime's symtab.go, _func, of Go 1.18, and of 1.20 and later. Does not allocate;
 * every access is within the table.
 */
#ifndef SYMBOLIZE_GO_FRAMES_H
#define SYMBOLIZE_GO_FRAMES_H

#include <stdbool.h>
#include <stdint.h>
#include "symbolize/cfi.h"
#include "symbolize/go_table.h"

/* Returns whether rows can be found in the table: its version is known and it has all functions. */
bool go_frames_are_in(const struct go_table *table);

/*
 * Finds the row at `pc`. Returns 0; -ENOENT: no function of Go; -EBADMSG: the table is malformed
 * there.
 */
int go_frames_find_row(const struct go_table *table, uint64_t pc, struct cfi_row *row);

struct cfi_bounds go_frames_find_bounds(const struct go_table *table, uint64_t pc);

#endif
