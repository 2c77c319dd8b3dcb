/* SPDX-License-Identifier: MIT */
/*
 * Call-frame information of code that a just-in-time compiler generated, as a jitdump's record
 * JIT_CODE_UNWINDING_INFO has it (jitdump.h): .eh_frame and .eh_frame_hdr. Format: cfi.h.
 *
 * Where .eh_frame would lie tells what its addresses mean:
 *
 *  - Behind the code, at the next multiple of 8 from where that begins, if .eh_frame comes first
 *    and .eh_frame_hdr last. So perf(1) lays it out (jit_write_elf in tools/perf/util/genelf.c of
 *    Linux), and V8 and CPython write it.
 *  - Where .eh_frame_hdr says, if that comes first and has an absolute address: LLVM's
 *    PerfSupportPlugin. One record then describes several functions, which follow it.
 *  - Behind .eh_frame_hdr, which is behind the code, if that comes first without one: the
 *    specification's order.
 *
 * .eh_frame_hdr alone describes nothing: the code has frame pointers, as V8 says it.
 *
 * The data is untrusted: it is bounded by JIT_FRAMES_MAX_RECORD and the share, and is read by cfi.h
 * alone. Units: addresses and sizes in bytes. Not thread-safe. Internal to jitdump.
 */
#ifndef SYMBOLIZE_JIT_FRAMES_H
#define SYMBOLIZE_JIT_FRAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "symbolize/cfi.h"
#include "symbolize/util/table_quota.h"

struct jit_frames;

/*
 * Reads `size` bytes, of which `header_size` are .eh_frame_hdr; copies them, and takes memory from
 * `share` (may be NULL). 0, with NULL if there is no .eh_frame; -EBADMSG: no function is described;
 * -ENOSPC: too large; -ENOMEM.
 */
int jit_frames_read(const uint8_t *data, size_t size, uint64_t header_size,
		    struct quota_share *share, struct jit_frames **frames);
void jit_frames_free(struct jit_frames *frames);

/* Returns how many bytes it took from the share. */
size_t jit_frames_bytes(const struct jit_frames *frames);

/* Returns whether its addresses do not depend on where the code is, which therefore may not move.
 */
bool jit_frames_are_placed(const struct jit_frames *frames);

/* Generated code: as it was written, or moved as a whole. */
struct jit_range {
	uint64_t start, size;
};

/* Returns whether some of the code is described, and nothing else where it lies behind the code. */
bool jit_frames_describe(const struct jit_frames *frames, const struct jit_range *code);

/* Finds the row at `pc` in the code, which borrows from `frames`. 0, -ENOENT, -EBADMSG: as
 * cfi_find_row. */
int jit_frames_find_row(const struct jit_frames *frames, const struct jit_range *code, uint64_t pc,
			struct cfi_row *row);

#endif
