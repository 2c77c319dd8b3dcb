/* SPDX-License-Identifier: MIT */
/*
 * Reads call-frame information of generated code from a jitdump's record JIT_CODE_UNWINDING_INFO
 * (jitdump.h).
 *
 * The record has .eh_frame and .eh_frame_hdr. Format: cfi.h. The place of .eh_frame determines the
 * meaning of its addresses:
 *
 *  - If .eh_frame comes first and .eh_frame_hdr last: .eh_frame lies behind the code, at the next
 *    multiple of 8 from its start. perf(1) lays it out so (jit_write_elf in
 *    tools/perf/util/genelf.c of Linux). V8 and CPython write it.
 *  - If .eh_frame_hdr comes first and has an absolute address: there. LLVM's PerfSupportPlugin
 *    writes that. One record then describes several functions, which follow it.
 *  - If .eh_frame_hdr comes first without one: behind .eh_frame_hdr, which is behind the code. This
 *    is the order of the specification.
 *
 * .eh_frame_hdr alone describes nothing: the code has frame pointers, as V8 declares it.
 *
 * The data is untrusted: JIT_FRAMES_MAX_RECORD and the share bound it, and cfi.h alone reads it.
 * Units: addresses and sizes in bytes. Not thread-safe. Internal to jitdump.
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
 * Reads `size` bytes, of which `header_size` are .eh_frame_hdr, and copies them. Takes memory from
 * `share` (may be NULL). Returns 0, with NULL if there is no .eh_frame; -EBADMSG: no function is
 * described; -ENOSPC: too large; -ENOMEM.
 */
int jit_frames_read(const uint8_t *data, size_t size, uint64_t header_size,
		    struct quota_share *share, struct jit_frames **frames);
void jit_frames_free(struct jit_frames *frames);

/* Returns how many bytes were taken from the share. */
size_t jit_frames_bytes(const struct jit_frames *frames);

/* Returns whether addresses are absolute: such code may not move. */
bool jit_frames_are_placed(const struct jit_frames *frames);

/* Range of generated code, as written, or moved as a whole. */
struct jit_range {
	uint64_t start, size;
};

/*
 * Returns whether part of the code is described. Information behind the code must describe nothing
 * else.
 */
bool jit_frames_describe(const struct jit_frames *frames, const struct jit_range *code);

/*
 * Finds the row at `pc` in the code, which borrows from `frames`. Returns 0, -ENOENT or -EBADMSG as
 * cfi_find_row.
 */
int jit_frames_find_row(const struct jit_frames *frames, const struct jit_range *code, uint64_t pc,
			struct cfi_row *row);

#endif
