/* SPDX-License-Identifier: MIT */
/*
 * Finds call-frame rows of one ELF program or library by file offset.
 *
 * Reads .eh_frame with its search table, and .debug_frame, compressed or not, for code that
 * .eh_frame does not cover. Reads Go's own table where a Go program has no .debug_frame
 * (go_frames.h). Without a usable search table, reads the whole section to index it. Everything is
 * read at loading. The sections' sizes and the share of the quota bound memory. Format: cfi.h.
 */
#ifndef SYMBOLIZE_ELF_CFI_H
#define SYMBOLIZE_ELF_CFI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "symbolize/cfi.h"
#include "symbolize/util/table_quota.h"

struct elf_cfi;

/*
 * Loads the call-frame information of the file open as `fd`. Takes memory from `share` (may be
 * NULL); omits what does not fit. Returns 0; -ENOEXEC: not an ELF program or library; -ENOENT: no
 * call-frame information; -ENOMEM.
 */
int elf_cfi_load(int fd, struct quota_share *share, struct elf_cfi **cfi);

/* Loads that of an image in memory (the vDSO), which must outlive it. */
int elf_cfi_load_memory(const void *image, size_t size, struct elf_cfi **cfi);

void elf_cfi_free(struct elf_cfi *cfi);

/*
 * Finds the row at a file offset, which borrows from `cfi`. Returns 0, -ENOENT or -EBADMSG as
 * cfi_find_row.
 */
int elf_cfi_find_row(const struct elf_cfi *cfi, uint64_t file_offset, struct cfi_row *row);

/*
 * Returns the function at a file offset, or the gap around it that no table describes; as file
 * offsets.
 */
struct cfi_bounds elf_cfi_find_bounds(const struct elf_cfi *cfi, uint64_t file_offset);

/*
 * Finds the start of the function around a file offset by its symbol: of functions without a
 * description whose symbols have a size. Returns false if there is none.
 */
bool elf_cfi_find_symbol(const struct elf_cfi *cfi, uint64_t file_offset, uint64_t *start);

/*
 * Returns whether code without a description follows the file's entry point, where a program or its
 * dynamic loader begins. In libraries that may be any code.
 */
bool elf_cfi_is_entry(const struct elf_cfi *cfi, uint64_t file_offset);

#endif
